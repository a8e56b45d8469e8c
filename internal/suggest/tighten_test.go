package suggest_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/suggest"
)

const wideRules = `{
  "*": "ask",
  "shell_exec": {
    "*": "ask",
    "make *": "allow",
    "git fetch *": "allow",
    "git fetch origin *": "allow",
    "go test *": "allow",
    "git push *": "deny"
  },
  "read_file": { "*.pem": "deny" },
  "$always": [
    { "tool": "shell_exec", "pattern": "go test *", "risk": "BUILD_TEST", "at": "2020-01-01T00:00:00Z" },
    { "tool": "shell_exec", "pattern": "npm ci", "risk": "NETWORK", "at": "2020-01-01T00:00:00Z" },
    { "tool": "shell_exec", "pattern": "npm outdated", "risk": "NETWORK", "at": "2020-01-01T00:00:00Z" },
    { "tool": "shell_exec", "pattern": "npm view x", "risk": "NETWORK", "at": "2020-01-01T00:00:00Z" }
  ]
}`

func (w *workplace) append(r audit.Record) {
	w.t.Helper()
	r.Worker = "default"
	if _, err := w.log.Append(r); err != nil {
		w.t.Fatal(err)
	}
}

func ran(command, decision, by, rule string) audit.Record {
	return audit.Record{Event: audit.Decision, SessionID: "s", Tool: "shell_exec", Kind: "shell_exec", Decision: decision, By: by, Rule: rule, Risk: "BUILD_TEST", Summary: "Run " + command,
		Subjects: []audit.Subject{{Tool: "shell_exec", Kind: "shell_exec", Value: command, Action: "allow", Rule: rule, Risk: "BUILD_TEST"}}}
}

func (w *workplace) tighten(since time.Time) *suggest.Tightening {
	w.t.Helper()
	found, err := suggest.Tighten(w.Checker, since)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

func findings(t *suggest.Tightening) (list []string) {
	for _, f := range t.Findings {
		what, _, _ := strings.Cut(f.What, " (")
		list = append(list, f.Check+": "+what)
	}
	slices.Sort(list)
	return list
}

func TestTighten(t *testing.T) {
	w := newWorkplace(t)
	if err := os.WriteFile(w.Store.Path(), []byte(wideRules), 0o600); err != nil {
		t.Fatal(err)
	}
	w.append(ran("ls", gate.DecidedAutoApproved, "rule", "x"))
	begin := time.Now()
	w.append(audit.Record{Event: audit.Control, Summary: "hello"})
	young := w.tighten(begin.Add(-time.Hour))
	if len(young.Notes) != 1 || slices.ContainsFunc(young.Findings, func(f suggest.Finding) bool { return strings.HasPrefix(f.Check, "unused") }) {
		t.Errorf("of a young trail: %+v", young)
	}

	w.append(ran("go test ./...", gate.DecidedAutoApproved, "rule", `shell_exec "go test *" allow (permissions.jsonc:99, file)`))
	w.append(ran("npm ci", gate.DecidedTrusted, "grant", `shell_exec "npm ci" up to NETWORK (permissions.jsonc:98, always)`))
	w.append(ran("npm outdated", gate.DecidedTrusted, "grant", "another one"))
	w.append(audit.Record{Event: audit.Decision, SessionID: "s", Tool: "read_file", Kind: "read_file", Decision: gate.DecidedDenied, By: "rule", Rule: `read_file "*.pem" deny (permissions.jsonc:9, file)`,
		Subjects: []audit.Subject{{Tool: "read_file", Kind: "read_file", Value: "/src/app/server.pem", Action: "deny", Risk: "READ_ONLY"}}})
	w.append(ran("openssl x509 -in ./server.pem", gate.DecidedApproved, "web:alice", "no rule matches"))

	found := w.tighten(begin)
	want := []string{
		`covered-grant: shell_exec "go test *" up to BUILD_TEST`,
		`denied: read_file "*.pem" deny`,
		`unused-allow: shell_exec "git fetch *" allow`,
		`unused-allow: shell_exec "git fetch origin *" allow`,
		`unused-allow: shell_exec "make *" allow`,
		`unused-grant: shell_exec "npm view x" up to NETWORK`,
	}
	if got := findings(found); !slices.Equal(got, want) {
		t.Errorf("found\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, f := range found.Findings {
		if f.Check == "denied" && !strings.Contains(f.Why, "It applied 1 time. Later in the session, 1 call that ran") {
			t.Errorf("the denial: %s", f.Why)
		}
	}
	if err := found.Apply(w.Store); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(w.Store.Path())
	if err != nil {
		t.Fatal(err)
	}
	for rule, stays := range map[string]bool{`"make *"`: false, `"git fetch`: false, `"npm view x"`: false, `"go test *": "allow"`: true, `"go test *", "risk"`: false, `"git push *"`: true, `"*.pem"`: true, `"npm ci"`: true, `"npm outdated"`: true} {
		if strings.Contains(string(text), rule) != stays {
			t.Errorf("%s stays: want %t:\n%s", rule, stays, text)
		}
	}
	if again := w.tighten(begin); again.Summary() != "" {
		t.Errorf("once more: %s", again.Summary())
	}
}

// TestTightenLeavesWhatIsNew checks that tightening keeps a rule added in the period, which had no time to be used;
// shipped rules, which are not the user's; and every deny.
func TestTightenLeavesWhatIsNew(t *testing.T) {
	w := newWorkplace(t)
	w.append(ran("ls", gate.DecidedAutoApproved, "rule", "x"))
	begin := time.Now()
	if got := w.tighten(begin); got.Summary() != "" {
		t.Errorf("the shipped rules: %s", got.Summary())
	}
	if err := os.WriteFile(w.Store.Path(), []byte(`{ "*": "ask", "shell_exec": { "git push *": "deny", "make *": "allow", "make *x": "deny", "*x": "deny" } }`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.append(audit.Record{Event: audit.Control, Summary: `Added the rule shell_exec "make *" allow (permissions.jsonc:1, file).`})
	if got := w.tighten(begin); got.Summary() != "" {
		t.Errorf("of rules that were just added: %s", got.Summary())
	}
}

// TestTightenTellsOfALevel checks that a level counts as too wide if a narrower level would have run the same calls.
func TestTightenTellsOfALevel(t *testing.T) {
	for worst, want := range map[string]string{"READ_ONLY": "CAUTIOUS", "WRITE": "SUPERVISED", "DESTRUCTIVE": ""} {
		w := newWorkplace(t)
		w.Judge.Autonomy = gate.FullAuto
		r := ran("x", gate.DecidedAutoApproved, "autonomy:FULL_AUTO", "no rule matches")
		r.Risk = worst
		w.append(r)
		got := ""
		for _, f := range w.tighten(time.Now().Add(-time.Hour)).Findings {
			if f.Check == "level" {
				got = f.Why
			}
		}
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", worst, got, want)
		}
	}
}
