package gate

import (
	"context"
	"fmt"
	"slices"
	"time"

	"callgate/internal/tools"
	"callgate/permissions"
)

// approval is one pending question. It moves through its states once, under gate.mu:
//
//	pending → decided (approve, reject, always) | expired | withdrawn
//
// and the one waiting call consumes the decision.
type approval struct {
	call    Call
	verdict Verdict
	session *Session
	shown   *Approval       // what people see; replaced, never changed
	done    chan resolution // has room for one; only resolve sends, once
	twins   []*approval     // the same call again while this one waits: not shown, asked in turn
}

// resolution is how an approval ended.
type resolution struct {
	decision string // approve, always, reject, timeout, withdrawn
	by       string
	reason   string
	call     Call // to forward, when approved: the arguments may have been edited
	note     string
}

// ask puts the call before people and waits. The verdict it returns allows or denies.
func (g *Gate) ask(ctx context.Context, s *Session, call Call, v Verdict) (Verdict, Call) {
	a, refused := g.enqueue(s, call, v)
	if refused != "" {
		return v.deny(DecidedLimited, "callgate", "maxPending", refused), call
	}
	timer := time.NewTimer(g.o.Timeout)
	defer timer.Stop()
	var r resolution
	select {
	case r = <-a.done:
	case <-timer.C:
		r = g.giveUp(a, resolution{decision: "timeout", by: "timeout", reason: fmt.Sprintf("Nobody answered within %s.", g.o.Timeout)})
	case <-ctx.Done():
		r = g.giveUp(a, resolution{decision: "withdrawn", by: "host", reason: "The host cancelled the call."})
	case <-s.closed:
		r = g.giveUp(a, resolution{decision: "withdrawn", by: "host", reason: "The session ended."})
	}
	switch r.decision {
	case "approve", "always":
		return g.stillAllowed(s, r, a, v)
	case "reject":
		return v.deny(DecidedRejected, r.by, v.Rule, r.reason), call
	case "timeout":
		return v.deny(DecidedTimeout, r.by, v.Rule, r.reason), call
	default:
		return v.deny(DecidedCancelled, r.by, v.Rule, r.reason), call
	}
}

// stillAllowed runs phase 1 again on what was approved: a rule, a link or a file may have changed while
// the call waited. A person's yes holds for what was shown and nothing else.
func (g *Gate) stillAllowed(s *Session, r resolution, a *approval, asked Verdict) (Verdict, Call) {
	now := g.judge(s, r.call)
	if now.Action == permissions.Deny {
		now.Reason = "It was approved, but what decides changed while it waited. " + now.Reason
		return now, r.call
	}
	if !sameReach(a.verdict.Analysis, now.Analysis) {
		return now.deny(DecidedDenied, "callgate", "changed", "It was approved, but what the call would touch changed while it waited. Repeat the call to have it looked at again."), r.call
	}
	s.manifests.lookedAt(a.verdict.Marks)
	out := now.allow(DecidedApproved, r.by, asked.Rule, r.reason)
	out.Note = r.note
	return out, r.call
}

// sameReach reports whether two analyses of one call touch the same things at the same risk.
func sameReach(shown, now *tools.Analysis) bool {
	if shown.Risk != now.Risk || len(shown.Subjects) != len(now.Subjects) || len(shown.Marks) != len(now.Marks) {
		return false
	}
	for i := range shown.Subjects {
		x, y := &shown.Subjects[i], &now.Subjects[i]
		if x.Value != y.Value || x.Kind != y.Kind || x.Effect != y.Effect || !slices.Equal(x.Decides, y.Decides) {
			return false
		}
	}
	return true
}

// enqueue makes the approval and shows it; refused says why it may not even wait.
func (g *Gate) enqueue(s *Session, call Call, v Verdict) (a *approval, refused string) {
	a = &approval{call: call, verdict: v, session: s, done: make(chan resolution, 1)}
	a.shown = g.show(s, call, v, time.Now().UTC())
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pendingOf(s) >= g.o.MaxPending {
		return nil, fmt.Sprintf("%d calls of this session already wait for a person (maxPending). Wait until they are answered.", g.o.MaxPending)
	}
	if first := g.twinOf(a); first != nil {
		first.twins = append(first.twins, a)
		return a, ""
	}
	g.put(a)
	return a, ""
}

// put makes the approval pending and shows it; the caller holds mu.
func (g *Gate) put(a *approval) {
	g.pending[a.call.ID] = a
	g.order = append(g.order, a.call.ID)
	g.events.publish(Asked{a.shown})
}

// twinOf returns the pending approval of the very same call, nil when there is none. A flood of one call is
// one question; each yes still lets only one of them run. The caller holds mu.
func (g *Gate) twinOf(a *approval) *approval {
	for _, other := range g.pending {
		if other.session == a.session && other.call.Tool.Qualified == a.call.Tool.Qualified && other.call.Digest == a.call.Digest {
			return other
		}
	}
	return nil
}

// show renders the approval for people.
func (g *Gate) show(s *Session, call Call, v Verdict, created time.Time) *Approval {
	var offers []tools.Offer
	if len(v.Marks) == 0 {
		offers = tools.Offers(tools.Call{Tool: call.Tool, Arguments: call.Arguments, Place: call.Place}, v.Analysis)
	}
	return &Approval{
		ID: call.ID, SessionID: s.id, Worker: g.o.Worker, Agent: call.Agent,
		Server: call.Tool.Server, Tool: call.Tool.Qualified, Kind: call.Tool.Kind,
		Arguments: call.Arguments, Digest: call.Digest, Analysis: v.Analysis,
		Reason: v.Reason, Marks: v.Marks, Reasons: v.reasons(), Offers: offers,
		CreatedAt: created, ExpiresAt: created.Add(g.o.Timeout),
	}
}

// giveUp resolves an approval nobody answered. When somebody did at the same moment, their answer wins.
func (g *Gate) giveUp(a *approval, r resolution) resolution {
	g.mu.Lock()
	if !g.resolve(a, r) {
		for _, first := range g.pending {
			if i := slices.Index(first.twins, a); i >= 0 {
				first.twins = slices.Delete(first.twins, i, i+1)
				a.done <- r
			}
		}
	}
	g.mu.Unlock()
	return <-a.done
}

// resolve is the one way an approval ends. The first caller wins; later ones change nothing and get false.
// The caller holds mu. The send cannot block: the channel has room for the one resolution that an
// approval ever gets, because it is removed from pending under the same lock.
func (g *Gate) resolve(a *approval, r resolution) bool {
	if g.pending[a.call.ID] != a {
		return false
	}
	delete(g.pending, a.call.ID)
	g.order = slices.DeleteFunc(g.order, func(id string) bool { return id == a.call.ID })
	if r.call.Tool == nil {
		r.call = a.call
	}
	a.done <- r
	g.events.publish(Resolved{SessionID: a.session.id, ID: a.call.ID, Decision: r.decision, By: r.by, Reason: r.reason})
	g.resolveTwins(a, r)
	return true
}

// resolveTwins hands a refusal on to the calls that are the same, and asks about the next of them
// otherwise. The caller holds mu.
func (g *Gate) resolveTwins(a *approval, r resolution) {
	if len(a.twins) == 0 {
		return
	}
	if r.decision == "reject" {
		for _, twin := range a.twins {
			twin.done <- r
		}
		return
	}
	next := a.twins[0]
	next.twins = a.twins[1:]
	g.put(next)
}

// withdraw resolves everything that waits in the session.
func (g *Gate) withdraw(s *Session, by, reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := 0; i < len(g.order); { // a twin may take the place of what is withdrawn
		if a := g.pending[g.order[i]]; a.session == s {
			g.resolve(a, resolution{decision: "withdrawn", by: by, reason: reason})
		} else {
			i++
		}
	}
}

// Pending lists the approvals that wait, oldest first.
func (g *Gate) Pending() []*Approval {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.pendingShown()
}

// pendingShown is Pending for callers that hold mu.
func (g *Gate) pendingShown() []*Approval {
	shown := make([]*Approval, len(g.order))
	for i, id := range g.order {
		shown[i] = g.pending[id].shown
	}
	return shown
}
