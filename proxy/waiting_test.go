package proxy

import (
	"testing"
	"time"

	"callgate/gate"
	"callgate/proxy/internal/limits"
)

func TestPatience(t *testing.T) {
	known := []HostLimit{{Name: "my-host", Idle: 2 * time.Minute}, {Name: "hasty", Idle: 10 * time.Second}, {Name: "cline-fork"}}
	for _, c := range []struct {
		name     string
		progress bool
		want     time.Duration
	}{
		{"claude-code", true, 0},
		{"opencode", true, 0},
		{"opencode", false, 50 * time.Second},
		{"qwen-cli-mcp-client-probe", true, 590 * time.Second},
		{"codex-mcp-client", true, 290 * time.Second},
		{"@cline/core", false, 50 * time.Second},
		{"continue-cli-client", false, 50 * time.Second},
		{"somebody else", true, 0},
		{"somebody else", false, 50 * time.Second},
		{"", false, 50 * time.Second},
		{"my-host 2", true, 110 * time.Second},
		{"my-host 2", false, 110 * time.Second},
		{"hasty", false, 5 * time.Second},
		{"cline-fork", false, 0},
	} {
		if got := limits.Patience(known, gate.Client{Name: c.name}, c.progress); got != c.want {
			t.Errorf("%q, progress %v: %s, want %s", c.name, c.progress, got, c.want)
		}
	}
}
