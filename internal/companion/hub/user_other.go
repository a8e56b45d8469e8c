//go:build !linux && !darwin

package hub

import "net"

// maxSocketPath is how long the path of a unix socket may be, in bytes. It is the same on all other systems.
const maxSocketPath = 107

// sameUser cannot ask the system here. The folder of the socket is in the user's profile, which other users
// cannot look into, and both sides prove that they hold the credentials.
func sameUser(*net.UnixConn) error { return nil }

// suspended cannot ask the system here: the silence of a stopped process is noticed later.
func suspended(*net.UnixConn) func() bool { return func() bool { return false } }

// stopped cannot ask the system here.
func stopped(int) bool { return false }
