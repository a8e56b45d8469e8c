//go:build unix

package nolink

import "syscall"

// noWait keeps the opening of a pipe from waiting for somebody who writes to it.
const noWait = syscall.O_NONBLOCK
