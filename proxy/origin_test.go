package proxy

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBranchOf(t *testing.T) {
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
		if got := branchOf(filepath.Join(dir, folder)); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
	if got := branchOf(""); got != "" {
		t.Errorf("no folder: %q", got)
	}
}

func TestTerminalOf(t *testing.T) {
	for want, env := range map[string]map[string]string{
		"":                                  {},
		"vscode":                            {"TERM_PROGRAM": "vscode"},
		"tmux %3":                           {"TERM_PROGRAM": "tmux", "TMUX": "/tmp/x,1,0", "TMUX_PANE": "%3"},
		"Windows Terminal":                  {"WT_SESSION": "x"},
		"iTerm.app, over SSH from 10.0.0.1": {"TERM_PROGRAM": "iTerm.app", "SSH_CONNECTION": "10.0.0.1 5000 10.0.0.2 22"},
	} {
		if got := terminalOf(func(name string) string { return env[name] }, -1); got != want {
			t.Errorf("%v: %q, want %q", env, got, want)
		}
	}
}
