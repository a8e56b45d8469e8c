//go:build !linux

package siem

import "syscall"

// control is nil: this system cannot limit how long a connection may go unacknowledged.
var control func(network, address string, c syscall.RawConn) error
