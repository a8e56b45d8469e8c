//go:build !unix

package cluster

// private has nothing to look at: who may open a file here is told by the folder that it is in.
func private(string) error { return nil }
