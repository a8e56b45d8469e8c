package permissions

import (
	"strings"
	"testing"
)

func TestParseAgent(t *testing.T) {
	const text = `---
name: reviewer
description: Reads and comments
model: some-model
permissions:
  "*": deny
  read_file:
    "*": allow
    "*.env": deny
    "~/notes/*": ask
  grep: allow
---
You review code.
`
	a, err := ParseAgent("reviewer.md", []byte(text), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range a.Rules {
		got = append(got, a.Rules[i].String())
	}
	want := []string{
		`* "*" deny (reviewer.md:6, agent)`,
		`read_file "*" allow (reviewer.md:8, agent)`,
		`read_file "*.env" deny (reviewer.md:9, agent)`,
		`read_file "/home/u/notes/*" ask (reviewer.md:10, agent)`,
		`grep "*" allow (reviewer.md:11, agent)`,
	}
	if a.Name != "reviewer" || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", a.Name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseAgentRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"no front matter":   {"# reviewer\n", "front matter"},
		"endless":           {"---\nname: x\n", "does not end"},
		"no name":           {"---\npermissions: {\"*\": ask}\n---\n", "no name"},
		"no permissions":    {"---\nname: x\n---\n", "no permissions"},
		"unknown action":    {"---\nname: x\npermissions:\n  a: maybe\n---\n", "x.md:4"},
		"a tool twice":      {"---\nname: x\npermissions:\n  a: ask\n  a: allow\n---\n", "a"},
		"a list":            {"---\nname: x\npermissions:\n  a: [allow]\n---\n", "x.md:4"},
		"bad pattern":       {"---\nname: x\npermissions:\n  a: {\"{\": allow}\n---\n", "x.md:4"},
		"reserved":          {"---\nname: x\npermissions:\n  $always: ask\n---\n", "callgate's own"},
		"not YAML":          {"---\nname: [\n---\n", "front matter"},
		"no home directory": {"---\nname: x\npermissions:\n  a: {\"~/x\": allow}\n---\n", "home"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseAgent("x.md", []byte(c.text), ""); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error = %v, want one that says %q", err, c.says)
			}
		})
	}
}

func TestBuiltinExploreOnlyLooks(t *testing.T) {
	explore := BuiltinAgents()[0]
	file, err := ParseFile("permissions.jsonc", []byte(`{"*": "allow"}`), "/home/u")
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPolicy(explore.Rules, file.Rules, []Grant{{Tool: "*", Pattern: "*", Risk: Escalation}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		kind  string
		bound bool
		want  Action
	}{
		{"read_file", true, Allow}, {"grep", true, Allow}, {"read_file", false, Deny},
		{"write_file", true, Deny}, {"shell_exec", true, Deny}, {"", false, Deny},
	} {
		f := Evaluate(p, Context{}, &Subject{Tool: "srv_tool", Kind: c.kind, KindBound: c.bound, Decides: Form{"x"}})
		if f.Action != c.want || f.Action == Deny && !f.Veto {
			t.Errorf("%q (bound %v): %s, veto %v, want %s", c.kind, c.bound, f.Action, f.Veto, c.want)
		}
	}
}

func TestTightenedAllowsNothing(t *testing.T) {
	a := BuiltinAgents()[0].Tightened()
	for _, r := range a.Rules {
		if r.Action == Allow {
			t.Errorf("%s still allows", r.String())
		}
	}
}
