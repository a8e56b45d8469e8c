//go:build !linux

package siem

import "syscall"

// control is nil where no connection can be told how long it may stand unanswered.
var control func(network, address string, c syscall.RawConn) error
