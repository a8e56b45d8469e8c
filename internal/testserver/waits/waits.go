// Package waits says how long tests wait for what must happen.
package waits

import (
	"testing"
	"time"
)

// Limit is how long a test waits before it gives up. It is long because machines are slow: only what hangs reaches it.
// No test waits for less, and none fails because of the time that something took.
const Limit = 5 * time.Minute

// Until returns as soon as done says so, and fails the test after Limit.
func Until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Limit); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain: %s", Limit, what)
		}
	}
}
