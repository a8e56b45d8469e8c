//go:build !unix

package cluster

// private checks nothing: here the folder decides who may open a file.
func private(string) error { return nil }
