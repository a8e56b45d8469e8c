//go:build unix

package durable

import "syscall"

// nonblocking keeps the opening of a named pipe from waiting for its other end.
const nonblocking = syscall.O_NONBLOCK
