//go:build !unix

package lexical

// giveUp does nothing: the system takes back what is mapped by itself.
func giveUp([]byte) error { return nil }
