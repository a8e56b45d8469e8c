//go:build !unix

package rpc

import "os"

// Stdio returns the process's standard input and output for a connection.
func Stdio() (in, out *os.File) { return os.Stdin, os.Stdout }
