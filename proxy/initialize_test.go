package proxy

import (
	"testing"

	"callgate/proxy/internal/tasks"
)

func TestNewRefusesOptions(t *testing.T) {
	two := make([]Server, 2)
	two[0].Tools.Name, two[1].Tools.Name = "a", "a_b"
	if _, err := New(Options{Servers: two}); err == nil {
		t.Error("aliases that share names")
	}
}

func TestHostCapabilitiesForServers(t *testing.T) {
	for _, c := range []struct {
		raw, want string
		can       hostCapabilities
	}{
		{``, `{}`, hostCapabilities{}},
		{`[]`, `{}`, hostCapabilities{}},
		{`{"roots":{"listChanged":true},"x":1.0}`, `{"roots":{"listChanged":true},"x":1.0}`, hostCapabilities{roots: true}},
		{`{"sampling":{},"tasks":{"list":{}},"elicitation":{"form":{}}}`, `{"sampling":{},"elicitation":{"form":{}}}`, hostCapabilities{sampling: true, elicitation: true}},
		{`{"tasks":{}}`, `{}`, hostCapabilities{}},
		{`{"tasks":{"cancel":{},"requests":{"sampling":{"createMessage":{}}}}}`, `{}`, hostCapabilities{}},
		{`{"sampling":{},"tasks":{"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}},"x":{}},"y":1}}`,
			`{"sampling":{},"tasks":{"list":{},"requests":{"sampling":{"createMessage":{}}}}}`, hostCapabilities{sampling: true, tasks: tasks.Capabilities{Sampling: true}}},
		{`{"sampling":{},"elicitation":{},"tasks":{"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`,
			`{"sampling":{},"elicitation":{},"tasks":{"list":{},"cancel":{},"requests":{"sampling":{"createMessage":{}},"elicitation":{"create":{}}}}}`,
			hostCapabilities{sampling: true, elicitation: true, tasks: tasks.Capabilities{Sampling: true, Elicitation: true, Cancel: true}}},
		{`{"Sampling":{}}`, `{}`, hostCapabilities{}},
	} {
		var raw []byte
		if c.raw != "" {
			raw = []byte(c.raw)
		}
		if got, can := forServers(raw, true); string(got) != c.want || can != c.can {
			t.Errorf("%s: %s, %+v", c.raw, got, can)
		}
	}
}

func TestNegotiate(t *testing.T) {
	for asked, want := range map[string]string{"2024-11-05": "2024-11-05", "2025-11-25": "2025-11-25", "2026-07-28": "2025-11-25", "": "2025-11-25", "x": "2025-11-25"} {
		if got := negotiate(asked); got != want {
			t.Errorf("negotiate(%q) = %q", asked, got)
		}
	}
}

func TestAppendInstructions(t *testing.T) {
	var all []byte
	for _, server := range []struct{ alias, raw string }{{"a", `"first\nline"`}, {"b", `""`}, {"c", ``}, {"d", `7`}, {"e", `"second"`}} {
		all = appendInstructions(all, server.alias, []byte(server.raw), false)
	}
	if want := "## a\n\nfirst\nline\n\n## e\n\nsecond"; string(all) != want {
		t.Errorf("got %q, want %q", all, want)
	}
	if got := appendInstructions(nil, "a", []byte(`"as it is"`), true); string(got) != "as it is" {
		t.Errorf("plain: %q", got)
	}
}
