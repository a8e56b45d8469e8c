package rag

import (
	"os"
	"path/filepath"
	"testing"
)

// TestGlobOfAShare checks that a glob naming a network share is not looked up: Windows would sign in there.
func TestGlobOfAShare(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip(err)
	}
	for _, glob := range []string{"/" + filepath.ToSlash(link) + "/*.go", "//evil.example/share/**"} {
		if got := resolveGlob(glob); got != glob {
			t.Errorf("%s is looked up: %s", glob, got)
		}
	}
	if got := resolveGlob(link + "/*.go"); got == filepath.ToSlash(link)+"/*.go" {
		t.Errorf("%s names a link", got)
	}
}
