package gate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"callgate/gate/internal/past"
	"callgate/gate/tools"
	"callgate/permissions"
)

// A rule that looks back sees what ran in the session, and how it ended.
func TestConditionsLookAtTheSession(t *testing.T) {
	b := newBench(t, `{"edit_file": "allow", "shell_exec": {"npm test *": "allow",
	  "git push *": {"action": "allow", "when": {"after": {"tool": "shell_exec", "pattern": "npm test *"}, "notAfter": "edit_file", "branch": "topic/*"}}}}`, nil)
	n := 0
	judged := func(command string) Verdict {
		n++
		return b.gate.judging().judge(b.session, b.shell(fmt.Sprint("call_judged_", n), command))
	}
	runs := func(call Call, isError bool) {
		t.Helper()
		v, call := b.gate.Decide(t.Context(), b.session, call)
		if v.Action != permissions.Allow {
			t.Fatalf("%s: %s", call.ID, v.Reason)
		}
		b.gate.Finish(b.session, call, []byte(`{}`), isError, "", time.Millisecond)()
	}
	call := b.shell("x", "true")
	git := filepath.Join(call.Place.Dir, ".git")
	if err := os.MkdirAll(git, 0o700); err != nil {
		t.Fatal(err)
	}
	head := func(branch string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(git, "HEAD"), []byte("ref: refs/heads/"+branch+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	head("topic/a")
	if v := judged("git push"); v.Action != permissions.Ask || !strings.Contains(v.Reason, `its condition is not met: no shell_exec "npm test *" ended well in the session`) {
		t.Errorf("before the tests: %v %q", v.Action, v.Reason)
	}
	runs(b.shell("call_1", "npm test"), true)
	if v := judged("git push"); v.Action != permissions.Ask {
		t.Error("tests that failed count")
	}
	for i, line := range []string{
		"npm test; npm test -- x", "npm test || true", "npm test || :", "npm test || exit 0", "npm test; true", "npm test; exit 0", "npm test &", "! npm test",
		"if npm test; then true; fi", "npm test | true", "exit 0 && npm test", "[ -f x ] || npm test",
	} {
		runs(b.shell(fmt.Sprint("call_list_", i), line), false)
		if v := judged("git push"); v.Action != permissions.Ask {
			t.Errorf("%s counts, in which the tests may have failed", line)
		}
	}
	runs(b.shell("call_3", "npm test"), false)
	if v := judged("git push"); v.Action != permissions.Allow {
		t.Errorf("after the tests: %s", v.Reason)
	}
	head("main")
	if v := judged("git push"); v.Action != permissions.Ask || !strings.Contains(v.Reason, "the branch is main") {
		t.Errorf("on main: %v %q", v.Action, v.Reason)
	}
	head("topic/a")
	edit := b.shell("call_4", "")
	edit.Tool = tools.KindTool(tools.KindEditFile)
	edit.Arguments = []byte(`{"path":"a.go","old_string":"a","new_string":"b"}`)
	runs(edit, false)
	if v := judged("git push"); v.Action != permissions.Ask || !strings.Contains(v.Reason, "edit_file ran at") {
		t.Errorf("after an edit: %v %q", v.Action, v.Reason)
	}
}

// Flooding the memory loosens nothing: a forgotten call is not taken for one that never was.
func TestForgottenCallsAreNotAbsent(t *testing.T) {
	var p past.Calls
	now := time.Now()
	a := &tools.Analysis{Subjects: []permissions.Subject{{Tool: "fs_edit", Kind: tools.KindEditFile, Decides: permissions.Form{"a"}}}}
	p.Begin("edit", a, now)
	if !p.Each(func(*permissions.PastCall) bool { return true }).IsZero() {
		t.Error("something was forgotten already")
	}
	other := &tools.Analysis{Subjects: []permissions.Subject{{Tool: "x", Decides: permissions.Form{strings.Repeat("a", past.MaxValue+1)}}}}
	for i := range past.MaxCalls + past.Slack {
		p.Begin(fmt.Sprint(i), other, now)
	}
	n := 0
	whole := p.Each(func(c *permissions.PastCall) bool { n++; return c.Long })
	if n != past.MaxCalls || whole.IsZero() {
		t.Errorf("%d calls, whole from %s", n, whole)
	}
	p.End(fmt.Sprint(past.MaxCalls/2), true, now.Add(time.Second))
	p.Each(func(c *permissions.PastCall) bool {
		if c.Done != (c.Ended == now.Add(time.Second)) {
			t.Errorf("%+v", c)
		}
		return true
	})
}

// Only people count as people.
func TestWhoIsThere(t *testing.T) {
	b := newBench(t, `{}`, nil)
	for by, want := range map[string]bool{"host": false, "host:elicitation": false, "": false, "web:alice": true} {
		b.gate.lastPerson.Store(0)
		b.gate.lastPerson.note(by)
		if got := b.gate.judging().circumstances(b.session, "default"); !got.Known || got.Answered.IsZero() == want {
			t.Errorf("%q: %+v", by, got)
		}
	}
}
