package gate

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"callgate/audit"
	"callgate/permissions"
)

// touched takes "yes" for a proof. It needs one for every call unless it is off.
type touched struct{ off bool }

func (p *touched) Needs(permissions.Risk, bool) bool { return !p.off }

func (p *touched) Check(a *Approval, answer Answer, runs string) ([]byte, error) {
	if string(answer.Presence.Assertion) != "yes" {
		return nil, ErrPresence
	}
	return json.Marshal([]string{a.ID, a.Digest, runs})
}

func touch(a *Answer) { a.Presence.Assertion = []byte("yes") }

// proofs lists the proofs on record for decisions, oldest first.
func (b *bench) proofs() (all []string) {
	for r, err := range audit.Read(audit.Dir(filepath.Dir(filepath.Dir(filepath.Dir(b.rules)))), audit.Filter{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		if r.Event == audit.Decision && len(r.Presence) > 0 {
			all = append([]string{string(r.Presence)}, all...)
		}
	}
	return all
}

func TestAYesNeedsAProof(t *testing.T) {
	b := newBench(t, asking, func(o *Options) { o.Presence = &touched{} })
	refused := func(a *Approval, decision string, change func(*Answer)) {
		t.Helper()
		if err := b.answer(a, decision, change); !errors.Is(err, ErrPresence) {
			t.Errorf("%s without a proof: %v", decision, err)
		}
		if n := len(b.gate.Pending()); n == 0 {
			t.Fatal("it is answered")
		}
	}
	edit := func(a *Answer) { a.Arguments = json.RawMessage(`{"command":"git push origin other"}`) }

	first := b.decide(t.Context(), b.shell("1", "git push origin main"))
	a := b.waiting(1)[0]
	if !a.Presence {
		t.Error("people are not told")
	}
	refused(a, "approve", nil)
	refused(a, "approve", edit)
	refused(a, "always", nil)
	if err := b.answer(a, "reject", nil); err != nil {
		t.Errorf("a no: %v", err)
	}
	<-first

	second := b.decide(t.Context(), b.shell("2", "git push origin main"))
	if err := b.answer(b.waiting(1)[0], "approve", func(a *Answer) { edit(a); touch(a) }); err != nil {
		t.Fatal(err)
	}
	edited := <-second
	if edited.verdict.Action != permissions.Allow {
		t.Fatalf("%+v", edited.verdict)
	}
	want, err := json.Marshal([]string{"2", a.Digest, edited.call.Digest})
	if got := b.proofs(); err != nil || len(got) != 1 || got[0] != string(want) {
		t.Errorf("on record: %s, want %s", got, want)
	}

	third := b.decide(t.Context(), b.shell("3", "git push origin main"))
	always := b.waiting(1)[0]
	fourth := b.decide(t.Context(), b.shell("4", "git push origin topic"))
	b.waiting(2)
	if err := b.answer(always, "always", func(a *Answer) { a.Grants = []GrantChoice{broadest(b, always)}; touch(a) }); err != nil {
		t.Fatal(err)
	}
	<-third
	if left := b.waiting(1); left[0].ID != "4" {
		t.Errorf("the cascade left %s", left[0].ID)
	} else if err := b.answer(left[0], "approve", touch); err != nil {
		t.Error(err)
	}
	<-fourth
}

// TestKeptProof keeps the proof of a decision until its call is repeated. Once a proof is needed, a decision without
// one no longer counts.
func TestKeptProof(t *testing.T) {
	for name, before := range map[string]bool{"with a proof": false, "decided when none was needed": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &touched{off: before}
				dir := filepath.Join(t.TempDir(), "approvals")
				b := newBench(t, asking, func(o *Options) { o.Dir, o.Presence = dir, p })
				call := b.shell("1", "make")
				call.HandOver = time.Second
				<-b.decide(t.Context(), call)
				if err := b.answer(b.gate.Pending()[0], "approve", touch); err != nil {
					t.Fatal(err)
				}
				p.off = false
				call.ID = "2"
				d := <-b.decide(t.Context(), call)
				if want := map[bool]string{true: DecidedPending, false: DecidedApproved}[before]; d.verdict.Decision != want {
					t.Errorf("the repeat: %s: %s", d.verdict.Decision, d.verdict.Reason)
				}
				if got := b.proofs(); before && len(got) != 0 || !before && (len(got) != 2 || got[0] != got[1]) {
					t.Errorf("on record: %s", got)
				}
			})
		})
	}
}

// TestRestoredNeedsAProof goes by what is needed now, not by what was needed when the call was asked about.
func TestRestoredNeedsAProof(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "approvals")
		before := newBench(t, asking, func(o *Options) { o.Dir, o.Timeout = dir, time.Hour })
		call := before.shell("1", "make")
		call.HandOver = time.Second
		<-before.decide(t.Context(), call)
		before.gate.Close()
		after := newBench(t, asking, func(o *Options) { o.Dir, o.Presence = dir, &touched{} })
		a := after.waiting(1)[0]
		if err := after.answer(a, "approve", nil); !errors.Is(err, ErrPresence) || !a.Presence {
			t.Errorf("%v", err)
		}
		if err := after.answer(a, "approve", touch); err != nil {
			t.Error(err)
		}
	})
}
