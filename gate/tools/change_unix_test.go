//go:build unix

package tools

import (
	"path/filepath"
	"syscall"
	"testing"
)

// Changes does not wait for a pipe in the place of the file.
func TestChangesOfAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	call := Call{
		Tool:      Describe(Server{Name: "f", Packages: []string{"@modelcontextprotocol/server-filesystem"}}, "write_file", "f_write_file", nil),
		Arguments: []byte(`{"path":"pipe","content":"x"}`), Place: Place{Dir: dir},
	}
	if changes := Changes(call, Analyze(call), nothing); len(changes) != 1 || changes[0].State != ChangeUnknown {
		t.Errorf("got %+v", changes)
	}
}
