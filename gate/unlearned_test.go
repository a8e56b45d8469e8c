package gate

import (
	"slices"
	"testing"
	"time"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/permissions"
)

// A failure to learn a result ends nothing and holds nobody up. From then on a person looks at all calls of the
// session.
func TestAResultThatCannotBeLearned(t *testing.T) {
	b := newBench(t, `{"*": "allow"}`, nil)
	read := tools.Describe(tools.Server{Name: "gmail", Packages: []string{"@gongrzhe/server-gmail-autoauth-mcp"}}, "read_email", "gmail_read_email", nil)
	call := func(s *Session, id string) Call {
		return Call{ID: id, SessionID: s.ID(), Digest: id, Tool: read, Arguments: []byte(`{"messageId":"1"}`), Place: tools.Place{Dir: b.dir}}
	}
	first := call(b.session, "first")
	if d, why := b.settle(first, true); d.verdict.Action != permissions.Allow || why != "" {
		t.Fatalf("the first call: %v, asked because %q", d.verdict.Action, why)
	}
	first.read = facts.Of(tools.Call{}) // without a tool: what learns from it panics
	record := b.gate.Finish(b.session, first, []byte(`{"content":[{"type":"text","text":"Dear all"}]}`), false, "", time.Millisecond)

	judged := make(chan Verdict)
	go func() { judged <- b.gate.judging().judge(b.session, call(b.session, "meanwhile")) }()
	record()
	for _, v := range []Verdict{<-judged, b.gate.judging().judge(b.session, call(b.session, "later"))} {
		if v.Action != permissions.Ask || !slices.ContainsFunc(v.Marks, func(m tools.Mark) bool { return m.Code == "unlearned" }) {
			t.Errorf("%v with the marks %v", v.Action, v.Marks)
		}
	}

	other, err := b.gate.OpenSession("", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if v := b.gate.judging().judge(other, call(other, "other")); v.Action != permissions.Allow {
		t.Errorf("another session: %v, %s", v.Action, v.Reason)
	}
}
