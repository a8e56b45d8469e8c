// Package waits defines how long tests wait for what must happen.
package waits

import (
	"testing"
	"time"
)

// Limit is how long a test waits before it gives up. It is long because machines are slow: only a hang reaches it. No
// test waits for less, and none fails because something took long.
const Limit = 5 * time.Minute

// Until returns as soon as done returns true, and fails the test after Limit.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Limit); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain: %s", Limit, what)
		}
	}
}
