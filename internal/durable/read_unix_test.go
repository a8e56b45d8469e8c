//go:build unix

package durable

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNoRegularFile checks that a named pipe or a device in place of a file neither blocks nor fills memory.
func TestNoRegularFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero"} {
		_, read := ReadFile(path, 1<<40)
		_, locked := TryLock(path)
		_, waited := Lock(t.Context(), path)
		for _, err := range []error{read, locked, waited} {
			if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}
