package gate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"callgate/internal/testserver/unraced"
	"callgate/permissions"
)

// TestCascadeIsJudgingAgain: besides its own call, an "always" releases exactly the calls that would be allowed if they
// were made now, except destructive ones: these are asked about one by one.
func TestCascadeIsJudgingAgain(t *testing.T) {
	if unraced.Elsewhere(t) {
		return
	}
	verbs := []string{"git push", "git push --force", "npm run", "npm install", "make", "cargo build", "rm", "ls", "kubectl get", "bash -c", "sudo make", "git push; make"}
	rules := []string{
		asking,
		`{"*": "ask", "shell_exec": {"*": "ask", "git push --force*": "deny"}}`,
		`{"*": "ask", "shell_exec": {"*": "ask", "make secret": "confirm", "rm *": "deny"}}`,
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	releases := 0
	for range 40 {
		b := newBench(t, rules[random.IntN(len(rules))], nil)
		calls := map[string]Call{}
		ends := map[string]<-chan decided{}
		for len(calls) < 8 {
			id := fmt.Sprint(len(calls))
			call := b.shell(id, verbs[random.IntN(len(verbs))]+" "+[]string{"one", "two", "secret"}[random.IntN(3)]+id)
			if b.gate.judging().judge(b.session, call).Action != permissions.Ask {
				continue
			}
			calls[id], ends[id] = call, b.decide(t.Context(), call)
		}
		pending := b.waiting(len(calls))
		chosen := pending[random.IntN(len(pending))]
		var grants []GrantChoice
		for _, o := range chosen.Offers {
			if len(grants) == 0 || random.IntN(2) == 0 {
				grants = append(grants, GrantChoice{Tool: o.Tool, Pattern: o.Pattern})
			}
		}
		if len(grants) == 0 {
			b.session.Close()
			continue
		}
		scope := []string{"session", "worker"}[random.IntN(2)]
		if err := b.answer(chosen, "always", func(a *Answer) { a.Grants, a.Scope = grants, scope }); err != nil {
			t.Fatalf("%s, %+v: %v", calls[chosen.ID].Arguments, grants, err)
		}
		still := map[string]bool{}
		for _, a := range b.gate.Pending() {
			still[a.ID] = true
		}
		for id, call := range calls {
			if id == chosen.ID {
				continue
			}
			again := b.gate.judging().judge(b.session, call)
			released := again.Action == permissions.Allow && permissions.Destructive.Exceeds(again.Risk())
			if released {
				releases++
			}
			if released == still[id] {
				t.Errorf("%s: judged now it is %s; still waiting: %t; granted %+v for %s",
					call.Arguments, again.Action, still[id], grants, calls[chosen.ID].Arguments)
			}
		}
		b.session.Close()
		for _, end := range ends {
			<-end
		}
	}
	if releases == 0 {
		t.Error("nothing was ever released: the property was not tried")
	}
}
