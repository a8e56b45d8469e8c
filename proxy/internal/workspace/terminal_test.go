package workspace

import (
	"testing"
)

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
