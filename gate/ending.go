package gate

import (
	"errors"
	"fmt"

	"callgate/permissions"
)

// ending is what became of an approval that a person answered. The answer waits for it: it counts as applied when the
// decision is on record and the call does as the person said.
type ending struct {
	told chan struct{}
	err  error // set before told is closed
}

func newEnding() *ending { return &ending{told: make(chan struct{})} }

// tell ends the wait of the answer. Only the first call counts.
func (e *ending) tell(err error) {
	if e == nil {
		return
	}
	select {
	case <-e.told:
	default:
		e.err = err
		close(e.told)
	}
}

// wait returns why the answer does not hold, nil when it does.
func (e *ending) wait() error {
	<-e.told
	return e.err
}

// applied says what the answer with that decision came to. Recorded is why it is not on record, nil when it is.
func applied(decision string, v *Verdict, recorded error) error {
	switch {
	case recorded != nil:
		return fmt.Errorf("the decision could not be recorded, so the call does not run: %w", recorded)
	case decision != "reject" && v.Action != permissions.Allow:
		return errors.New(v.Reason)
	}
	return nil
}

// errUnfinished is what an answer gets whose call ended without a decision, which only a failure of callgate's own does.
var errUnfinished = fmt.Errorf("%w: callgate failed while it applied the answer", ErrRefused)

// ended tells the answer, and whoever listens, what became of the approval. It is on record.
func (g *Gate) ended(r *resolution, v *Verdict, recorded error) {
	if r == nil || r.ending == nil {
		return
	}
	if err := applied(r.decision, v, recorded); err != nil {
		g.notHeld(r, err)
		return
	}
	g.events.publish(Resolved{SessionID: r.session, ID: r.approval, Decision: r.decision, By: r.by, Reason: r.reason})
	r.ending.tell(nil)
}

// notHeld tells the answer, and whoever listens, that it was not applied.
func (g *Gate) notHeld(r *resolution, why error) {
	if r.ending == nil {
		return
	}
	g.events.publish(Resolved{SessionID: r.session, ID: r.approval, Decision: "withdrawn", By: "callgate", Reason: why.Error()})
	r.ending.tell(fmt.Errorf("%w: %w", ErrRefused, why))
}
