package permissions

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplainTellsWinnersFromLosers(t *testing.T) {
	p := mustPolicy(t, `{"*": "ask"}`, `{
		"*": "ask",
		"read_file": {"*": "allow", "*.env": "deny", "*.env.*": "deny", "*.md": "deny", "*.env.example": "allow"}
	}`)
	s := read("/w/.env", Form{".env.example", "/w/.env.example"})
	e := Explain(p, Context{}, &s)

	type match struct {
		Rule, Value  string
		Decides, Won bool
	}
	var got []match
	for _, m := range e.Matches {
		got = append(got, match{m.Rule.String(), m.Value, m.Decides, m.Won})
	}
	want := []match{
		{`* "*" ask (agent.md:1, agent)`, "/w/.env", true, false},
		{`* "*" ask (permissions.jsonc:2, file)`, "/w/.env", true, false},
		{`read_file "*" allow (permissions.jsonc:3, file)`, "/w/.env", true, false},
		{`read_file "*.env" deny (permissions.jsonc:3, file)`, "/w/.env", true, true},
		{`read_file "*.env.*" deny (permissions.jsonc:3, file)`, ".env.example", false, false},
		{`read_file "*.env.example" allow (permissions.jsonc:3, file)`, ".env.example", false, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if e.Finding.Action != Deny {
		t.Errorf("the finding is %v", e.Finding.Action)
	}
}

func TestExplainSaysWhyAGrantDoesNotCover(t *testing.T) {
	p := mustPolicy(t, "", grantFile(`
		{"tool": "shell_exec", "pattern": "git push *", "risk": "WRITE"},
		{"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK", "server": "other"},
		{"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK", "workspace": "/elsewhere"},
		{"tool": "shell_exec", "pattern": "git push *", "risk": "NETWORK", "expires": "2026-11-20T11:00:00Z"},
		{"tool": "shell_exec", "pattern": "git pull *", "risk": "NETWORK"},
		{"tool": "read_file", "pattern": "*", "risk": "NETWORK"},
		{"tool": "shell_exec", "pattern": "git *", "risk": "NETWORK"}
	`))
	s := run("git push")
	var got []string
	for _, g := range Explain(p, Context{Server: "commands", Workspace: "/w", Now: noon}, &s).Grants {
		got = append(got, g.Grant.String()+": "+g.Obstacle)
	}
	want := []string{
		`shell_exec "git push *" up to WRITE (permissions.jsonc:2, always): the risk is NETWORK, above the grant's WRITE`,
		`shell_exec "git push *" up to NETWORK (permissions.jsonc:3, always): the grant is for server other`,
		`shell_exec "git push *" up to NETWORK (permissions.jsonc:4, always): the grant is for /elsewhere`,
		`shell_exec "git push *" up to NETWORK (permissions.jsonc:5, always): the grant expired at 2026-11-20T11:00:00Z`,
		`shell_exec "git pull *" up to NETWORK (permissions.jsonc:6, always): the pattern does not match`,
		`shell_exec "git *" up to NETWORK (permissions.jsonc:8, always): `,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestExplainOfAPolicyThatDecidesNothing(t *testing.T) {
	s := run("ls")
	if e := Explain(nil, Context{}, &s); e.Finding.Action != Deny || e.Matches != nil || e.Grants != nil {
		t.Errorf("got %+v", e)
	}
}

func TestSessionLayersHaveNoSource(t *testing.T) {
	g := Grant{Tool: "t", Pattern: `a "b"`, Risk: Write, Layer: LayerSession}
	if got, want := g.String(), `t "a \"b\"" up to WRITE (session)`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
