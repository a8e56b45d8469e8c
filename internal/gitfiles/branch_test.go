package gitfiles

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBranch(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("app/.git/HEAD", "ref: refs/heads/feature/x\n")
	write("app/src/main.go", "")
	write("loose/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n")
	write("app/.git/worktrees/w/HEAD", "ref: refs/heads/w\n")
	write("w/.git", "gitdir: "+filepath.Join(dir, "app/.git/worktrees/w")+"\n")
	write("relative/.git", "gitdir: ../app/.git/worktrees/w\n")
	write("odd/.git", "something else")
	write("plain/file", "")
	if err := os.MkdirAll(filepath.Join(dir, "headless/.git/HEAD"), 0o700); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		"app": "feature/x", "app/src": "feature/x", "loose": "01234567", "w": "w", "relative": "w", "odd": "", "headless": "", "plain": "",
	} {
		if got := Branch(filepath.Join(dir, folder)); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
	if got := Branch(""); got != "" {
		t.Errorf("no folder: %q", got)
	}
	write("bare/HEAD", "ref: refs/heads/x\n")
	write("bare/objects/info/packs", "")
	write("bare/refs/heads/x", "")
	write("bare/src/main.go", "")
	for folder, want := range map[string]string{"bare": "bare", "bare/src": "bare", "app": "", "app/.git": "", "app/.git/worktrees/w": "", "w": ""} {
		if got := Bare(filepath.Join(dir, folder)); got != want && got != filepath.Join(dir, want) {
			t.Errorf("%s: repository %q, want %q", folder, got, want)
		}
	}
}
