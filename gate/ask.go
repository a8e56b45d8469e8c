package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/permissions"
)

// ask puts the call before people and waits. The verdict it returns allows or denies. The resolution is how the
// approval ended, nil when there was none: the caller MUST tell its ending once the verdict is on record.
func (g *Gate) ask(ctx context.Context, s *Session, call Call, v Verdict) (Verdict, Call, *resolution) {
	if tired := s.refused.tired(call, time.Now()); tired != "" {
		return v.deny(DecidedLimited, "callgate", "coolDown", tired), call, nil
	}
	for {
		a, claimed, refused := g.enqueue(s, call, v)
		if claimed != nil { // the call was handed over before, and has been answered since
			v, call = g.answered(s, call, v, *claimed)
			return v, call, nil
		}
		if refused != nil {
			return *refused, call, nil
		}
		r := g.putTo(ctx, s, a, call)
		if r.stale == "" || r.decision != "approve" && r.decision != "always" {
			v, call = g.answered(s, call, v, r)
			return v, call, &r
		}
		if err := call.revive(ctx); err != nil {
			return v.deny(DecidedCancelled, "callgate", "server", fmt.Sprintf("%s It does not start again: %v.", r.stale, err)), call, &r
		}
		now := g.judge(s, call)
		if now.Action != permissions.Ask {
			return now, call, &r
		}
		v = now
		v.Reason = fmt.Sprintf("%s It runs again, so the call is asked about once more. %s", r.stale, v.Reason)
		g.notHeld(&r, errors.New(v.Reason))
	}
}

// putTo tells the host that a person is asked, and waits for the end of the approval.
func (g *Gate) putTo(ctx context.Context, s *Session, a *approval, call Call) resolution {
	if call.Asked != nil {
		defer call.Asked(g.shownOf(a))()
	}
	return g.wait(ctx, s, a, call.HandOver)
}

// shownOf returns what people see of the approval now: an approver may have changed it already.
func (g *Gate) shownOf(a *approval) *Approval {
	g.mu.Lock()
	defer g.mu.Unlock()
	return a.shown
}

// wait returns how the approval ended for the call that waits on it. The caller ends it at the latest.
func (g *Gate) wait(ctx context.Context, s *Session, a *approval, handOver time.Duration) resolution {
	expiry := time.NewTimer(time.Until(a.expires))
	defer expiry.Stop()
	var enough <-chan time.Time
	if handOver > 0 {
		timer := time.NewTimer(handOver)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case r := <-a.done:
		return r
	case <-enough:
		return g.handOver(a)
	case <-expiry.C:
		return g.giveUp(a, g.expired())
	case <-ctx.Done():
		return g.giveUp(a, resolution{decision: "withdrawn", by: "host", reason: "The host cancelled the call."})
	case <-s.closed:
		return g.giveUp(a, resolution{decision: "withdrawn", by: "host", reason: "The session ended."})
	}
}

func (g *Gate) expired() resolution {
	return resolution{decision: "timeout", by: "timeout", reason: fmt.Sprintf("Nobody answered within %s.", g.o.Timeout)}
}

// answered turns the end of an approval into the verdict on the call.
func (g *Gate) answered(s *Session, call Call, v Verdict, r resolution) (Verdict, Call) {
	v.From = r.from
	switch r.decision {
	case "approve", "always":
		s.refused.forget(call)
		return g.stillAllowed(s, call, v, r)
	case "reject":
		if !r.twin {
			r.reason += s.refused.note(call, time.Now())
		}
		return v.deny(DecidedRejected, r.by, v.Rule, r.reason), call
	case "timeout":
		return v.deny(DecidedTimeout, r.by, v.Rule, r.reason), call
	case "pending":
		return v.deny(DecidedPending, "callgate", v.Rule, r.reason), call
	default:
		return v.deny(DecidedCancelled, r.by, v.Rule, r.reason), call
	}
}

// stillAllowed runs phase 1 again on what was approved: a rule, a link or a file may have changed while
// the call waited. A person's yes holds for what was shown and nothing else.
func (g *Gate) stillAllowed(s *Session, call Call, asked Verdict, r resolution) (Verdict, Call) {
	note := ""
	if r.arguments != nil {
		edited, err := call.withArguments(r.arguments)
		if err != nil {
			return asked.deny(DecidedDenied, "callgate", "changed", fmt.Sprintf("The arguments that a person gave cannot be used: %v.", err)), call
		}
		call = edited
		note = fmt.Sprintf("A person changed the arguments before approving. The call ran with %s", call.Arguments)
	}
	now := g.judge(s, call)
	now.From = r.from
	if now.Action == permissions.Deny {
		now.Reason = "It was approved, but what decides changed while it waited. " + now.Reason
		return now, call
	}
	if now.Approvers > r.persons {
		return now.deny(DecidedDenied, "callgate", "changed", "It was approved, but the rules want more persons to approve it by now. Repeat the call to have it looked at again."), call
	}
	if reach(now.Analysis) != r.reach {
		return now.deny(DecidedDenied, "callgate", "changed", "It was approved, but what the call would touch changed while it waited. Repeat the call to have it looked at again."), call
	}
	s.manifests.lookedAt(now.Marks)
	now.Presence = r.presence
	out := now.allow(DecidedApproved, r.by, asked.Rule, r.reason)
	out.Note = note
	return out, call
}
