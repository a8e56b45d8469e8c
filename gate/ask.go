package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/permissions"
)

// questions puts calls before people.
type questions struct {
	gate *Gate
	at   *judging // the settings that apply to the call; replaced after a wait
}

func (g *Gate) questions(at *judging) questions { return questions{g, at} }

// ask puts the call before people and waits. The verdict it returns allows or denies. The resolution says how the
// approval ended; it is nil if there was none. The caller MUST tell its ending once the verdict is on record.
func (g questions) ask(ctx context.Context, s *Session, call Call, v Verdict) (Verdict, Call, *resolution) {
	if wait := s.refused.CoolingDown(call.Tool.Qualified, call.Digest, time.Now()); wait != "" {
		return v.deny(DecidedLimited, "callgate", "coolDown", wait), call, nil
	}
	for {
		done := make(chan resolution, 1)
		a, claimed, refused := g.enqueue(s, call, v, done)
		if claimed != nil { // the call was handed over before, and has been answered since
			v, call = g.answered(s, call, v, *claimed)
			return v, call, nil
		}
		if refused != nil {
			return *refused, call, nil
		}
		if always := g.gate.queue.given.Load(); always != g.at.always {
			answering{g.gate}.cascade(always) // it may have come between the judgement and the question
		}
		r := g.putTo(ctx, s, a, done, call)
		if r.serverEnded == "" || r.decision != "approve" && r.decision != "always" {
			v, call = g.answered(s, call, v, r)
			return v, call, &r
		}
		if err := call.revive(ctx); err != nil {
			return v.deny(DecidedCancelled, "callgate", "server", fmt.Sprintf("%s It does not start again: %v.", r.serverEnded, err)), call, &r
		}
		*g.at, call = g.gate.judging(), call.now()
		now := g.at.judge(s, call)
		if now.Action != permissions.Ask {
			return now, call, &r
		}
		v = now
		v.Reason = fmt.Sprintf("%s It runs again, so the call is asked about once more. %s", r.serverEnded, v.Reason)
		g.gate.queue.notHeld(&r, errors.New(v.Reason))
	}
}

// putTo tells the host that a person is asked, and waits for the end of the approval.
func (g questions) putTo(ctx context.Context, s *Session, a *approval, done chan resolution, call Call) resolution {
	if call.Asked != nil {
		defer call.Asked(g.gate.queue.shownOf(a))()
	}
	return g.wait(ctx, s, a, done, call.HandOver)
}

// shownOf returns what people see of the approval now: an approver may have changed it already.
func (q *queue) shownOf(a *approval) *Approval {
	q.mu.Lock()
	defer q.mu.Unlock()
	return a.shown
}

// wait returns how the approval ended for its waiting call: answered, handed over, expired, cancelled by the host, or
// withdrawn because the session ended or callgate was stopped.
func (g questions) wait(ctx context.Context, s *Session, a *approval, done chan resolution, handOver time.Duration) resolution {
	expiry := time.NewTimer(time.Until(a.expires))
	defer expiry.Stop()
	var enough <-chan time.Time
	if handOver > 0 {
		timer := time.NewTimer(handOver)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case r := <-done:
		return r
	case <-enough:
		return g.gate.queue.handOver(a, done)
	case <-expiry.C:
		return g.gate.queue.giveUp(a, done, a.expired())
	case <-ctx.Done():
		return g.gate.queue.giveUp(a, done, g.gate.journal.withdrawnBecause(context.Cause(ctx)))
	case <-s.closed:
		return g.gate.queue.giveUp(a, done, g.gate.journal.withdrawnBecause(ErrSessionEnded))
	}
}

// ErrSessionEnded is the cause with which a call's context ends if the session ends. Any other cause means that the
// host cancelled the call.
var ErrSessionEnded = errors.New("the session ended")

// ErrStopped is why a call ended if somebody stopped callgate.
var ErrStopped = errors.New("callgate was stopped")

// Stopped returns ErrStopped once somebody has stopped callgate (see Options.Stop). Everything that ends from then on
// ends because of that.
func (c Controls) Stopped() error { return c.gate.journal.stopped() }

func (j *journal) stopped() error {
	select {
	case <-j.o.Stop:
		return ErrStopped
	default:
		return nil
	}
}

// withdrawnBecause returns the resolution for an approval whose call nobody waits for any more. why is the cause.
func (j *journal) withdrawnBecause(why error) resolution {
	r := resolution{decision: "withdrawn", by: "host", reason: "The host cancelled the call."}
	switch {
	case j.stopped() != nil:
		r.by, r.reason = "callgate", "callgate was stopped."
	case errors.Is(why, ErrSessionEnded):
		r.reason = "The session ended."
	}
	return r
}

func (a *approval) expired() resolution {
	return resolution{decision: "timeout", by: "timeout", reason: fmt.Sprintf("Nobody answered within %s.", a.shown.ExpiresAt.Sub(a.shown.CreatedAt))}
}

// answered turns the end of an approval into the verdict on the call.
func (g questions) answered(s *Session, call Call, v Verdict, r resolution) (Verdict, Call) {
	v.From = r.from
	if r.approval != call.ID {
		v.Approval = r.approval
	}
	switch r.decision {
	case "approve", "always":
		s.refused.Forget(call.Tool.Qualified, call.Digest)
		return g.stillAllowed(s, call, v, r)
	case "reject":
		if !r.duplicate {
			r.reason += s.refused.Note(call.Tool.Qualified, call.Digest, time.Now())
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

// stillAllowed runs phase 1 again on the approved call, because a rule, a link or a file may have changed while the
// call waited. A person's yes holds only for what was shown.
func (g questions) stillAllowed(s *Session, call Call, asked Verdict, r resolution) (Verdict, Call) {
	if err := call.changed(); err != nil {
		return asked.deny(DecidedDenied, "callgate", "changed", fmt.Sprintf("It was approved, but %v.", err)), call
	}
	note := ""
	call = call.now()
	if r.arguments != nil {
		edited, err := call.withArguments(r.arguments)
		if err != nil {
			return asked.deny(DecidedDenied, "callgate", "changed", fmt.Sprintf("The arguments that a person gave cannot be used: %v.", err)), call
		}
		call = edited
		note = fmt.Sprintf("A person changed the arguments before approving. The call ran with %s", call.Arguments)
	}
	*g.at = g.gate.judging()
	now := g.at.judge(s, call)
	now.From, now.Approval = r.from, asked.Approval
	if now.Action == permissions.Deny {
		now.Reason = "It was approved, but what decides changed while it waited. " + now.Reason
		return now, call
	}
	if now.Approvers > r.persons {
		return now.deny(DecidedDenied, "callgate", "changed", "It was approved, but the rules want more persons to approve it by now. Repeat the call to have it looked at again."), call
	}
	if news := unseen(now.Marks, r.marks); news != nil {
		return now.deny(DecidedDenied, "callgate", "changed", fmt.Sprintf("It was approved, but there is more to look at by now. %s Repeat the call to have it looked at again.", news.Text)), call
	}
	if now.fingerprint() != r.fingerprint {
		return now.deny(DecidedDenied, "callgate", "changed", "It was approved, but what the call would touch changed while it waited. Repeat the call to have it looked at again."), call
	}
	s.manifests.LookedAt(now.Marks)
	now.Presence = r.presence
	out := now.allow(DecidedApproved, r.by, asked.Rule, r.reason)
	out.Note = note
	return out, call
}

// answerOutcome tells a waiting answer whether it was applied: the decision is on record, and the call does as it says.
type answerOutcome struct {
	settled chan struct{}
	err     error // set before settled is closed
}

func newAnswerOutcome() *answerOutcome { return &answerOutcome{settled: make(chan struct{})} }

// settle ends the wait of the answer. Only the first call counts.
func (e *answerOutcome) settle(err error) {
	if e == nil {
		return
	}
	select {
	case <-e.settled:
	default:
		e.err = err
		close(e.settled)
	}
}

// wait waits for settle and returns why the answer was not applied, or nil.
func (e *answerOutcome) wait() error {
	<-e.settled
	return e.err
}

// applied returns the outcome of an answer with that decision. recorded says why it is not on record; nil if it is.
func applied(decision string, v *Verdict, recorded error) error {
	switch {
	case recorded != nil:
		return fmt.Errorf("the decision could not be recorded, so the call does not run: %w", recorded)
	case decision != "reject" && v.Action != permissions.Allow:
		return errors.New(v.Reason)
	}
	return nil
}

// errUnfinished is for an answer whose call ended without a decision. Only a failure of callgate causes that.
var errUnfinished = fmt.Errorf("%w: callgate failed while it applied the answer", ErrRefused)

// ended tells the answer and the listeners how the approval ended. recorded is the error of recording it, or nil.
func (q *queue) ended(r *resolution, v *Verdict, recorded error) {
	if r == nil || r.outcome == nil {
		return
	}
	if err := applied(r.decision, v, recorded); err != nil {
		q.notHeld(r, err)
		return
	}
	q.journal.events.publish(Resolved{SessionID: r.session, ID: r.approval, Decision: r.decision, By: r.by, Reason: r.reason})
	r.outcome.settle(nil)
}

// notHeld tells the answer and the listeners that the answer was not applied.
func (q *queue) notHeld(r *resolution, why error) {
	if r.outcome == nil {
		return
	}
	q.journal.events.publish(Resolved{SessionID: r.session, ID: r.approval, Decision: "withdrawn", By: "callgate", Reason: why.Error()})
	r.outcome.settle(fmt.Errorf("%w: %w", ErrRefused, why))
}
