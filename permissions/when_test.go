package permissions

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// ran returns what a session did, newest first. ago counts back from noon, a Friday, in local time.
func ran(whole time.Time, calls ...PastCall) func(func(*PastCall) bool) time.Time {
	return func(yield func(*PastCall) bool) time.Time {
		for i := range calls {
			if !yield(&calls[i]) {
				break
			}
		}
		return whole
	}
}

var localNoon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)

func shellRan(command string, ago time.Duration, change func(*PastCall)) PastCall {
	at := localNoon.Add(-ago)
	c := PastCall{At: at, Ended: at, Tool: "commands_run", Kind: "shell_exec", Bound: true, Values: Form{command}, Sure: true, Done: true}
	if change != nil {
		change(&c)
	}
	return c
}

func TestConditions(t *testing.T) {
	const tests, edit = `"after": {"tool": "shell_exec", "pattern": "npm test *"}`, `"notAfter": "edit_file"`
	edited := PastCall{At: localNoon.Add(-time.Minute), Ended: localNoon.Add(-time.Minute), Tool: "fs_edit", Kind: "edit_file", Values: Form{"a"}, Sure: true, Done: true}
	past := func(calls ...PastCall) *Circumstances { return &Circumstances{Past: ran(time.Time{}, calls...)} }
	forgot := func(calls ...PastCall) *Circumstances {
		return &Circumstances{Past: ran(localNoon.Add(-time.Second), calls...)}
	}
	// "yes" means that the condition is met, "no" that it is not, and "?" that it is unknown: then an allow does not
	// allow, and a deny denies.
	for _, c := range []struct {
		when string
		now  *Circumstances
		want string
	}{
		{tests, past(shellRan("npm test", time.Hour, nil)), "yes"},
		{tests, past(), "no"},
		{tests, past(shellRan("npm testing", 0, nil)), "no"},
		{tests, past(shellRan("npm test", time.Hour, func(c *PastCall) { c.Done = false })), "no"},
		{tests, past(shellRan("npm test", time.Hour, func(c *PastCall) { c.Sure = false })), "no"},
		{tests, past(shellRan("npm test", time.Hour, func(c *PastCall) { c.Bound = false })), "no"},
		{tests, past(shellRan("npm test", time.Hour, func(c *PastCall) { c.Values, c.Long = nil, true })), "no"},
		{tests, nil, "?"},
		{tests + `, "within": "30m"`, past(shellRan("npm test", 29*time.Minute, nil)), "yes"},
		{tests + `, "within": "30m"`, past(shellRan("npm test", 31*time.Minute, nil)), "no"},
		{tests + "," + edit, past(shellRan("npm test", time.Second, nil), edited), "yes"},
		{tests + "," + edit, past(edited, shellRan("npm test", time.Hour, nil)), "no"},
		{edit, past(), "yes"},
		{edit, past(edited), "no"},
		{edit + `, "within": "30s"`, past(edited), "yes"},
		{edit, forgot(), "?"},
		{edit, forgot(edited), "no"},
		{`"notAfter": {"tool": "shell_exec", "pattern": "rm *"}`, past(shellRan("", 0, func(c *PastCall) { c.Values, c.Long = nil, true })), "no"},
		{`"notAfter": {"tool": "shell_exec", "pattern": "rm *"}`, past(shellRan("rm x", 0, func(c *PastCall) { c.Done, c.Bound = false, false })), "no"},
		{`"count": {"tool": "commands_run", "below": 2}, "within": "1h"`, past(shellRan("a", 0, nil)), "yes"},
		{`"count": {"tool": "commands_run", "below": 2}, "within": "1h"`, past(shellRan("a", 0, nil), shellRan("b", time.Minute, nil)), "no"},
		{`"count": {"tool": "commands_run", "below": 2}, "within": "1h"`, past(shellRan("a", 0, nil), shellRan("b", 2*time.Hour, nil)), "yes"},
		{`"count": {"tool": "commands_run", "below": 2}, "within": "1h"`, forgot(), "?"},
		{`"count": {"tool": "commands_run", "atLeast": 2}, "within": "1h"`, past(shellRan("a", 0, nil)), "no"},
		{`"count": {"tool": "commands_run", "atLeast": 2}, "within": "1h"`, forgot(shellRan("a", 0, nil)), "?"},
		{`"count": {"tool": "commands_run", "atLeast": 2}, "within": "1h"`, forgot(shellRan("a", 0, nil), shellRan("a", 0, nil)), "yes"},
		{`"count": {"tool": "commands_run", "below": 2}`, past(shellRan("a", 30*time.Hour, nil)), "yes"},
		{`"count": {"tool": "commands_run", "below": 2}`, past(shellRan("a", 0, nil), shellRan("b", 30*time.Hour, nil)), "no"},
		{`"count": {"tool": "commands_run", "below": 2}`, forgot(shellRan("a", 0, nil)), "?"},
		{`"count": {"tool": "commands_run", "atLeast": 2}`, forgot(shellRan("a", 0, nil)), "?"},
		{`"time": "Mon-Fri 09:00-18:00"`, nil, "yes"},
		{`"time": "Sat,Sun"`, nil, "no"},
		{`"host": "claude-*"`, &Circumstances{Host: "claude-code"}, "yes"},
		{`"host": "claude-*"`, &Circumstances{Host: "cursor"}, "no"},
		{`"host": "claude-*"`, &Circumstances{}, "?"},
		{`"agent": "explore"`, &Circumstances{Agent: "explore"}, "yes"},
		{`"branch": "!main"`, &Circumstances{Branch: "main"}, "no"},
		{`"branch": "!main"`, &Circumstances{Branch: "x"}, "yes"},
		{`"branch": "!main"`, &Circumstances{}, "?"},
		{`"person": "present"`, &Circumstances{Known: true, Answered: localNoon.Add(-time.Minute)}, "yes"},
		{`"person": "present"`, &Circumstances{Known: true, Answered: localNoon.Add(-time.Hour)}, "no"},
		{`"person": "away"`, &Circumstances{Known: true}, "yes"},
		{`"person": "away"`, &Circumstances{}, "?"},
		{`"person": "away", "host": "a"`, &Circumstances{Host: "b"}, "no"},
	} {
		for action, want := range map[string]map[string]Action{
			"allow": {"yes": Allow, "no": Ask, "?": Ask}, "deny": {"yes": Deny, "no": Ask, "?": Deny}, "confirm": {"yes": Confirm, "no": Ask, "?": Confirm},
		} {
			f, err := ParseFile("p", fmt.Appendf(nil, `{"shell_exec": {"git push *": {"action": %q, "when": {%s}}}}`, action, c.when), "/h")
			if err != nil {
				t.Fatal(err)
			}
			p, err := NewPolicy(nil, f.Rules, nil)
			if err != nil {
				t.Fatal(err)
			}
			s := run("git push origin")
			s.Operation = len("git push")
			got := Evaluate(p, Context{Now: localNoon, Session: c.now}, &s)
			if got.Action != want[c.want] {
				t.Errorf("%s when %s: %v, want %v", action, c.when, got.Action, want[c.want])
			}
			if action == "allow" && c.want != "yes" && (got.Unmet == nil || got.Why == "") {
				t.Errorf("%s: nobody says why: %+v", c.when, got.Why)
			}
			e := Explain(p, Context{Now: localNoon, Session: c.now}, &s)
			if len(e.Matches) != 1 || (e.Matches[0].Unmet == "") != (got.Action == want["yes"]) {
				t.Errorf("%s %s: explained as %+v", action, c.when, e.Matches)
			}
			if !strings.Contains(p.File[0].String(), " when ") || !p.AsksSession() || p.AsksBranch() != strings.Contains(c.when, "branch") {
				t.Errorf("%s: %s", c.when, &p.File[0])
			}
		}
	}
}

// TestAsksInDoubt checks that an ask with an unknown condition counts: an allow before it does not run, a deny stays.
func TestAsksInDoubt(t *testing.T) {
	for _, c := range []struct {
		before string
		branch string
		want   Action
	}{
		{"allow", "", Ask}, {"allow", "main", Ask}, {"allow", "x", Allow},
		{"deny", "", Deny}, {"deny", "main", Ask}, {"deny", "x", Deny},
		{"confirm", "", Confirm},
	} {
		f, err := ParseFile("p", fmt.Appendf(nil, `{"shell_exec": {"git *": %q, "git push *": {"action": "ask", "when": {"branch": "main"}}}}`, c.before), "/h")
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPolicy(nil, f.Rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := run("git push origin")
		s.Operation, s.Harmless = len("git push"), true
		if got := Evaluate(p, Context{Now: localNoon, Session: &Circumstances{Branch: c.branch}}, &s); got.Action != c.want {
			t.Errorf("%s, branch %q: %v, want %v", c.before, c.branch, got.Action, c.want)
		}
	}
}

// TestMostApprovers checks that the rule with the most approvers wins, whichever reading or name it matches.
func TestMostApprovers(t *testing.T) {
	for _, c := range []struct {
		rules string
		s     Subject
	}{
		{`{"read_file": {"/w/*": "confirm", "/prod/*": {"action": "confirm", "approvers": 2}}}`,
			Subject{Tool: "fs_read", Kind: "read_file", KindBound: true, Decides: Form{"/w/link"}, Also: []Form{{"/prod/x"}}}},
		{`{"fs_put": {"*": "confirm"}, "write_file": {"*": {"action": "confirm", "approvers": 2}}}`,
			Subject{Tool: "fs_put", Kind: "write_file", Decides: Form{"/w/a"}}},
	} {
		f, err := ParseFile("p", []byte(c.rules), "/h")
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPolicy(nil, f.Rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := Evaluate(p, Context{}, &c.s); got.Action != Confirm || got.Rule.Approvers != 2 {
			t.Errorf("%s: %v by %v", c.rules, got.Action, got.Rule)
		}
	}
}

func TestConditionsThatAreRefused(t *testing.T) {
	for when, want := range map[string]string{
		`{}`:            "empty",
		`{"afer": "x"}`: "unknown key",
		`{"after": ""}`: "is an object",
		`{"after": {}}`: `needs a "tool"`,
		`{"after": {"tool": "shell_exec", "pattern": "a=b*"}}`:               "not at arguments",
		`{"after": "x", "notAfter": "x"}`:                                    "the same calls",
		`{"within": "30m", "host": "a"}`:                                     "needs",
		`{"after": "x", "within": "25h"}`:                                    "at most 24h",
		`{"after": "x", "within": "-1m"}`:                                    "duration",
		`{"count": {"tool": "x"}, "within": "1m"}`:                           `needs "below"`,
		`{"count": {"tool": "x", "below": 0}, "within": "1m"}`:               "1 or more",
		`{"count": {"tool": "x", "below": 101}, "within": "1m"}`:             "between 1 and 100",
		`{"count": {"tool": "x", "below": 2, "atLeast": 2}, "within": "1m"}`: "never true",
		`{"host": "*"}`:           "always true",
		`{"branch": "**"}`:        "always true",
		`{"time": "00:00-24:00"}`: "covers the whole week",
		`{"time": "Mon-Sun"}`:     "covers the whole week",
		`{"time": "9-18"}`:        "part of the week",
		`{"time": "Mon 09:00"}`:   "part of the week",
		`{"time": "Mo-Fr"}`:       "part of the week",
		`{"person": "there"}`:     "present",
		`{"host": 1}`:             "is a string",
	} {
		_, err := ParseFile("p", []byte(`{"shell_exec": {"x": {"action": "allow", "when": `+when+`}}}`), "/h")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "p:1:") {
			t.Errorf("%s: %v; want %q", when, err, want)
		}
	}
	file, err := ParseFile("p", []byte(`{"outside": {"*@a.b": {"action": "allow", "when": {"host": "a"}}}}`), "/h")
	if err == nil {
		_, err = NewPolicy(nil, file.Rules, nil)
	}
	if err == nil || !strings.Contains(err.Error(), "takes no condition") {
		t.Errorf("a destination with a condition: %v", err)
	}
}

func TestHours(t *testing.T) {
	for text, holds := range map[string]map[string]bool{
		"Mon-Fri 09:00-18:00": {"Fri 09:00": true, "Fri 17:59": true, "Fri 18:00": false, "Sat 12:00": false},
		"Fri 22:00-06:00":     {"Fri 22:00": true, "Sat 05:59": true, "Sat 06:00": false, "Fri 05:00": false, "Sat 23:00": false},
		"sat,sun":             {"Sat 00:00": true, "Mon 00:00": false},
		"Sat-Mon":             {"Sun 10:00": true, "Mon 10:00": true, "Tue 10:00": false},
		"18:00-24:00":         {"Tue 23:59": true, "Tue 17:59": false, "Tue 00:00": false},
	} {
		h, err := ParseHours(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseHours(h.String()); err != nil || again != h {
			t.Errorf("%s is written %s: %v, %v", text, h, again, err)
		}
		for at, want := range holds {
			clock, err := time.Parse("15:04", at[4:])
			if err != nil {
				t.Fatal(err)
			}
			day := time.Date(2026, 11, 15, clock.Hour(), clock.Minute(), 0, 0, time.Local) // a Sunday
			for day.Format("Mon") != at[:3] {
				day = day.AddDate(0, 0, 1)
			}
			if h.Hold(day) != want {
				t.Errorf("%s at %s: %v", text, at, !want)
			}
		}
	}
}

func BenchmarkCondition(b *testing.B) {
	f, err := ParseFile("p", []byte(`{"shell_exec": {"git push *": {"action": "allow", "when": {"after": {"tool": "shell_exec", "pattern": "npm test *"}, "notAfter": "edit_file", "within": "30m"}}}}`), "/h")
	if err != nil {
		b.Fatal(err)
	}
	p, err := NewPolicy(nil, f.Rules, nil)
	if err != nil {
		b.Fatal(err)
	}
	var calls []PastCall
	for i := range 512 {
		calls = append(calls, shellRan(fmt.Sprintf("go vet ./pkg%d", i), time.Second, nil))
	}
	calls[511] = shellRan("npm test", time.Minute, nil)
	c := Context{Now: localNoon, Session: &Circumstances{Past: ran(time.Time{}, calls...)}}
	s := run("git push origin")
	s.Operation = len("git push")
	b.ReportAllocs()
	for b.Loop() {
		if Evaluate(p, c, &s).Action != Allow {
			b.Fatal("it does not hold")
		}
	}
}
