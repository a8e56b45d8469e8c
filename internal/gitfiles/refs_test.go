package gitfiles

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHasRef(t *testing.T) {
	git := filepath.Join(t.TempDir(), ".git")
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main", "config": "x", "refs/heads/docs": "0", "refs/heads/feature/x": "0", "refs/remotes/origin/main": "0",
		"packed-refs": "# pack-refs with: peeled\n0123 refs/heads/packed\n0123 refs/tags/v1\n^4567\n", "worktrees/w/commondir": "../..",
	} {
		path := filepath.Join(git, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{
		"HEAD": true, "docs": true, "feature/x": true, "origin/main": true, "packed": true, "v1": true, "refs/heads/docs": true, "heads/docs": true,
		"feature": false, "config": false, "src": false, "": false, "../config": false, "heads/../../config": false,
	} {
		if got := HasRef(git, name); got != want {
			t.Errorf("%q: %v", name, got)
		}
		if got := HasRef(filepath.Join(git, "worktrees/w"), name); got != want && name != "HEAD" {
			t.Errorf("%q in a linked work tree: %v", name, got)
		}
	}
}
