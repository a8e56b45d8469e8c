package gate

import (
	"strings"
	"testing"
	"testing/synctest"

	"callgate/gate/tools"
	"callgate/permissions"
)

const allowsAll = `{"*": "allow", "shell_exec": {"*": "allow", "rm *": "deny"}}`

// rewritten returns the call with other arguments from a hook.
func rewritten(t *testing.T, call Call, arguments string) Call {
	t.Helper()
	changed, err := call.Rewritten([]byte(arguments), "tidy")
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

// Hooks only tighten, under every setting that otherwise lets calls run.
func TestHooksOnlyTighten(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"rules":        nil,
		"auto-approve": func(o *Options) { o.Mode = ModeAutoApprove },
		"autonomy":     func(o *Options) { o.Autonomy = FullAuto },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, allowsAll, change)
				call := b.shell("1", "make")
				call.Before.DeniedBy, call.Before.Reason = "guard", "Not on a Friday."
				if d := <-b.decide(t.Context(), call); d.verdict.Action != permissions.Deny || d.verdict.By != "hook:guard" || d.verdict.Reason != "Not on a Friday." {
					t.Errorf("refused by a hook: %+v", d.verdict)
				}
				call = b.shell("2", "make")
				call.Before.Marks = []tools.Mark{{Code: "hook", Text: "Look at this."}}
				waiting := b.decide(t.Context(), call)
				shown := b.waiting(1)[0]
				if len(shown.Marks) != 1 || shown.Marks[0].Text != "Look at this." || len(shown.Offers) != 0 {
					t.Errorf("marked by a hook: %+v", shown)
				}
				if err := b.answer(shown, "approve", nil); err != nil {
					t.Fatal(err)
				}
				if d := <-waiting; d.verdict.Action != permissions.Allow {
					t.Errorf("approved: %+v", d.verdict)
				}
			})
		})
	}
}

func TestHooksRefuseWithTheGateOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, allowsAll, func(o *Options) { o.Off = true })
		call := b.shell("1", "make")
		call.Before.DeniedBy = "guard"
		if d := <-b.decide(t.Context(), call); d.verdict.Action != permissions.Deny {
			t.Errorf("%+v", d.verdict)
		}
	})
}

// A hook's arguments are judged, shown, approved and sent instead of the original ones.
func TestRewrittenArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, allowsAll, nil)
		if d := <-b.decide(t.Context(), rewritten(t, b.shell("1", "make"), `{"command":"rm -rf x"}`)); d.verdict.Action != permissions.Deny {
			t.Errorf("a hook wrote what the rules deny: %+v", d.verdict)
		}
		d := <-b.decide(t.Context(), rewritten(t, b.shell("2", "rm -rf x"), `{"command":"make"}`))
		if d.verdict.Action != permissions.Allow || string(d.call.Arguments) != `{"command":"make"}` || !strings.Contains(d.verdict.Note, "A hook of the user (tidy) changed the arguments") {
			t.Errorf("a hook wrote what the rules allow: %+v", d)
		}
		call := b.shell("3", "make")
		if _, err := call.Rewritten([]byte(`{"command":"a","Command":"b"}`), "tidy"); err == nil {
			t.Error("arguments that can be read in two ways were taken")
		}
		call.Fixed = true
		if _, err := call.Rewritten([]byte(`{}`), "tidy"); err == nil {
			t.Error("arguments that stand for more were changed")
		}
	})
}

func TestRewrittenArgumentsAreShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, asking, nil)
		call := rewritten(t, rewritten(t, b.shell("1", "make one"), `{"command":"make two"}`), `{"command":"make three"}`)
		waiting := b.decide(t.Context(), call)
		shown := b.waiting(1)[0]
		if shown.Rewrite == nil || string(shown.Rewrite.Original) != `{"command":"make one"}` || shown.Rewrite.By != "tidy, tidy" ||
			string(shown.Arguments) != `{"command":"make three"}` || shown.Digest != call.Digest || !strings.Contains(shown.Reasons[0].Rule, "make one") {
			t.Errorf("%+v", shown)
		}
		if err := b.answer(shown, "approve", nil); err != nil {
			t.Fatal(err)
		}
		if d := <-waiting; string(d.call.Arguments) != `{"command":"make three"}` {
			t.Errorf("%+v", d)
		}
	})
}

// A decision on a rewritten call is claimed only by the same call, rewritten in the same way.
func TestRewrittenAndHandedOver(t *testing.T) {
	inSynctest(t, func(t *testing.T, b *bench, call Call) {
		came := call
		call = rewritten(t, came, `{"command":"make all"}`)
		if first := <-b.decide(t.Context(), call); first.verdict.Decision != DecidedPending {
			t.Fatalf("%+v", first.verdict)
		}
		if err := b.answer(b.gate.Pending()[0], "approve", nil); err != nil {
			t.Fatal(err)
		}
		other := rewritten(t, came, `{"command":"make all -B"}`)
		other.ID = "2"
		if d := <-b.decide(t.Context(), other); d.verdict.Decision != DecidedPending {
			t.Errorf("rewritten in another way it is %s", d.verdict.Decision)
		}
		plain := came
		plain.ID, plain.Arguments, plain.Digest = "3", call.Arguments, call.Digest
		if d := <-b.decide(t.Context(), plain); d.verdict.Decision != DecidedPending {
			t.Errorf("a call that came with the approved arguments is %s", d.verdict.Decision)
		}
		call.ID = "4"
		if d := <-b.decide(t.Context(), call); d.verdict.Decision != DecidedApproved {
			t.Errorf("the same call is %s: %s", d.verdict.Decision, d.verdict.Reason)
		}
	})
}
