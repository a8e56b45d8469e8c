package gate

import (
	"context"
	"fmt"
	"testing"
	"time"

	"callgate/permissions"
)

// An offer says how many calls that people approved in the project it would have answered.
func TestOffersCountEarlierApprovals(t *testing.T) {
	before := func(value string, change func(*Answered)) Answered {
		a := Answered{At: time.Now().Add(-time.Hour), Project: "/src/app", Server: "", Tool: "shell_exec", Kind: "shell_exec", Value: value, Risk: permissions.Network}
		if change != nil {
			change(&a)
		}
		return a
	}
	list := []Answered{
		before("git push origin a", nil), before("git push origin b", nil),
		before("git push origin c", func(a *Answered) { a.Project = "/src/other" }),
		before("git push origin d", func(a *Answered) { a.Several = true }),
		before("npm publish", func(a *Answered) { a.Rejected = true }), before("npm publish --dry-run", nil),
	}
	b := newBench(t, `{}`, func(o *Options) { o.Answered = func(context.Context, time.Time) []Answered { return list } })
	b.session.SetOrigin(Origin{Folder: "/src/app"})
	counts := func(id, command string, want map[string]int, decision string) {
		t.Helper()
		end := b.decide(t.Context(), b.shell(id, command))
		a := b.waiting(1)[0]
		got := map[string]int{}
		for _, o := range a.Offers {
			got[o.Pattern] = o.Approved
		}
		for pattern, n := range want {
			if got[pattern] != n {
				t.Errorf("%s: %v; want %s %d", command, got, pattern, n)
			}
		}
		if err := b.answer(a, decision, nil); err != nil {
			t.Fatal(err)
		}
		<-end
	}
	for i := range 3 { // each answer counts for the next question
		counts(fmt.Sprint("call_", i), "git push origin main", map[string]int{"git push origin main": i, "git push *": 2 + i}, "approve")
	}
	counts("call_r", "git push origin x", map[string]int{"git push *": 5}, "reject")
	counts("call_after", "git push origin main", map[string]int{"git push *": 0, "git push origin main": 3}, "approve")
	counts("call_npm", "npm publish --tag x", map[string]int{"npm publish *": 0}, "approve")
}

// Earlier questions and answers are read once, and no question waits for that after Recall.
func TestRecall(t *testing.T) {
	var reads []string
	b := newBench(t, `{}`, func(o *Options) {
		o.Answered = func(context.Context, time.Time) []Answered { reads = append(reads, "answers"); return nil }
		o.History = func(context.Context) []string {
			reads = append(reads, "commands")
			return []string{"git push origin a"}
		}
	})
	b.gate.Recall(t.Context())
	reads = append(reads, "a question")
	end := b.decide(t.Context(), b.shell("call_1", "git push origin main"))
	if err := b.answer(b.waiting(1)[0], "approve", nil); err != nil {
		t.Fatal(err)
	}
	<-end
	if got := fmt.Sprint(reads); got != "[commands answers a question]" {
		t.Error(got)
	}
}

// A failure to read them ends no process, and questions go on.
func TestRecallOfDamage(t *testing.T) {
	b := newBench(t, `{}`, func(o *Options) { o.History = func(context.Context) []string { panic("damage") } })
	b.gate.Recall(t.Context())
	end := b.decide(t.Context(), b.shell("call_1", "git push origin main"))
	if err := b.answer(b.waiting(1)[0], "approve", nil); err != nil {
		t.Fatal(err)
	}
	if v := (<-end).verdict; v.Action != permissions.Allow {
		t.Error(v.Reason)
	}
}

// Nobody looked at a call that was released with another one, or refused for its risk.
func TestByPerson(t *testing.T) {
	for _, c := range []struct {
		decision, by string
		want         bool
	}{
		{DecidedApproved, "web:alice", true}, {DecidedRejected, "custom:channels/bob", true}, {DecidedApproved, cascaded + "web:alice", false},
		{DecidedRejected, "risk", false}, {DecidedTimeout, "", false}, {DecidedTrusted, "rule", false}, {DecidedAutoApproved, "rules", false},
	} {
		if got := ByPerson(c.decision, c.by); got != c.want {
			t.Errorf("%s by %q: %v", c.decision, c.by, got)
		}
	}
}
