//go:build !linux

package lab

import "testing"

// Main does nothing here.
func Main() {}

// New skips the test: there are no namespaces.
func New(t testing.TB, _ map[string]string, _ ...[]string) *Lab {
	t.Skip("no namespaces on this system")
	return nil
}
