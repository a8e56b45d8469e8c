package output

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestRulesFitTheTerminal checks that a long pattern neither pads other rows nor exceeds the terminal.
func TestRulesFitTheTerminal(t *testing.T) {
	long := strings.Repeat("x", 1359)
	rules := []Rule{{Source: "/data/permissions.jsonc:2", Layer: "file", Tool: "*", Pattern: "*", Action: "ask"}, {Source: "/data/permissions.jsonc:3", Layer: "file", Tool: "shell_exec", Pattern: long, Action: "deny"}}
	grants := []Grant{{Index: 1, Source: "/data/permissions.jsonc:9", Tool: "shell_exec", Pattern: long, Risk: "NETWORK"}}
	var whole, narrow strings.Builder
	if err := tables(&whole, rules, grants, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(whole.String(), "ask     permissions.jsonc:2  file   *           \"*\"\n") || strings.Count(whole.String(), long) != 2 {
		t.Errorf("without a terminal:\n%s", whole.String())
	}
	if err := tables(&narrow, rules, nil, 80); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(narrow.String()) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("%d characters: %s", utf8.RuneCountInString(line), line)
		}
	}
	if !strings.Contains(narrow.String(), "deny    permissions.jsonc:3  file   shell_exec  \"xxx") {
		t.Errorf("in a terminal:\n%s", narrow.String())
	}
}
