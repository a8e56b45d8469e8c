//go:build !linux && !darwin

package hub

import "net"

// maxSocketPath is the longest path of a unix socket, in bytes. All other systems have the same limit.
const maxSocketPath = 107

// sameUser cannot check the peer here. But other users cannot look into the socket's folder, which is in the user's
// profile, and both sides prove that they hold the credentials.
func sameUser(*net.UnixConn) error { return nil }

// suspended cannot tell here: a stopped process is noticed later, by its silence.
func suspended(*net.UnixConn) func() bool { return func() bool { return false } }

// stopped cannot tell here.
func stopped(int) bool { return false }
