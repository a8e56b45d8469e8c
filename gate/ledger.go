package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"callgate/audit"
)

// Ledger shares approvals with other processes, on other machines too. Each approval is decided once, and its decision
// is taken once. A gate without a Ledger keeps approvals in its folder. Methods may be called concurrently. After an
// error the caller MUST NOT let the call run, because the change may not have happened.
type Ledger interface {
	// Ask notes an approval that waits here, before any answer to it is taken.
	Ask(Kept) error
	// Change replaces an approval that Ask noted.
	Change(Kept) error
	// Decide notes the one decision on an approval that waits here. If taken is true, a waiting call takes the decision
	// at once; otherwise it is kept until claimBy. Decide returns ErrNotPending if another process has the approval or
	// has decided it.
	Decide(id string, decision []byte, taken bool, claimBy time.Time) error
	// End notes that an approval no longer waits. It MUST NOT block.
	End(id string)
	// Claim takes the decision that is kept under the key, for one call among all processes; nil if there is none. An
	// approval under the key that waits elsewhere without a call ends there, because its call is here now.
	Claim(key, call string) (decision []byte, err error)
	// Done notes that the call that took a decision has ended. It MUST NOT block.
	Done(call string)
	// Awaits is Gate.Awaits for the approvals of all processes.
	Awaits(id string) bool
}

// Kept is an approval in a Ledger. Question is for Gate.Adopt.
type Kept struct {
	ID, Key  string
	Waits    bool // a call waits on it
	Expires  time.Time
	Question []byte
}

func (a *approval) kept() (Kept, error) {
	text, err := json.Marshal(a.question())
	return Kept{ID: a.call.ID, Key: a.key, Waits: !a.detached, Expires: a.expires, Question: text}, err
}

// enter notes a pending approval in the Ledger, if there is one. The caller holds mu.
func (q *queue) enter(a *approval) error {
	if q.journal.o.Ledger == nil {
		return nil
	}
	kept, err := a.kept()
	if err != nil {
		return err
	}
	return q.journal.o.Ledger.Ask(kept)
}

// renew stores the current state of an approval, so that it outlives the process. The caller holds mu. The error is
// logged already; most callers can ignore it.
func (q *queue) renew(a *approval) error {
	if q.journal.o.Ledger == nil {
		q.asked.keep(a)
		return nil
	}
	kept, err := a.kept()
	if err == nil {
		err = q.journal.o.Ledger.Change(kept)
	}
	if err != nil {
		q.journal.o.Logger.Warn("what became of an approval could not be noted for other replicas", "approval", a.call.ID, "error", err)
	}
	return err
}

// forget notes that an approval has ended. The caller holds mu.
func (q *queue) forget(a *approval) {
	if q.journal.o.Ledger == nil {
		q.asked.forget(a)
		return
	}
	q.journal.o.Ledger.End(a.call.ID)
}

// decideOnce stores a person's decision in the Ledger before the waiting call goes on. If that fails, it withdraws the
// approval here, and the host asks again. The caller holds mu.
func (q *queue) decideOnce(a *approval, r resolution) error {
	if q.journal.o.Ledger == nil {
		return nil
	}
	text, err := json.Marshal(q.handedOver(a, r))
	if err == nil {
		err = q.journal.o.Ledger.Decide(a.call.ID, text, true, time.Now().UTC())
	}
	if err == nil {
		return nil
	}
	why := "The answer could not be noted in the cluster. " + repeat
	if errors.Is(err, ErrNotPending) {
		why = "Another replica has the approval by now. " + repeat
	} else {
		err = fmt.Errorf("%w: it could not be noted in the cluster: %w", ErrRefused, err)
	}
	q.resolve(a, resolution{decision: "withdrawn", by: "callgate", reason: why})
	return err
}

// claimShared takes the decision that any process kept for exactly this call. refused, if not nil, denies the call.
func (g questions) claimShared(call Call, v Verdict) (claimed *resolution, refused *Verdict) {
	text, err := g.gate.journal.o.Ledger.Claim(g.gate.journal.handOverKey(call), call.ID)
	if err != nil {
		no := v.deny(DecidedDenied, "callgate", "cluster", fmt.Sprintf("A person has to look at the call, and callgate cannot ask the cluster whether somebody has: %v. %s", err, repeat))
		return nil, &no
	}
	var kept handedOver
	if text == nil || json.Unmarshal(text, &kept) != nil {
		return nil, nil
	}
	if r, ok := g.usable(kept, v); ok {
		return &r, nil
	}
	g.gate.journal.o.Ledger.Done(call.ID)
	return nil, nil
}

// Adopt shows an approval of a process that has ended; text is its Kept.Question. The caller has already assigned it to
// this gate in the Ledger.
func (g *Gate) Adopt(text []byte) error {
	var q question
	if err := json.Unmarshal(text, &q); err != nil {
		return err
	}
	if !q.whole() {
		return errors.New("the approval is damaged")
	}
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	if a := g.revive(q); a != nil {
		g.queue.put(a)
	}
	return nil
}

// Lose ends an approval that another process has taken over.
func (g *Gate) Lose(id, reason string) {
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	if a := g.queue.pending[id]; a != nil {
		g.queue.resolve(a, resolution{decision: "withdrawn", by: "callgate", reason: reason + " " + repeat})
	}
}

// Unknown records that a process approved a call and ended before it reported the outcome.
func (g *Gate) Unknown(text []byte, call string) error {
	var q question
	if err := json.Unmarshal(text, &q); err != nil || !q.whole() {
		return errors.New("the approval is damaged")
	}
	return g.journal.record(audit.Record{
		Event: audit.Outcome, CallID: call, SessionID: q.Approval.SessionID, Agent: q.CallAgent, Server: q.Server, Tool: q.Approval.Tool, Digest: q.Approval.Digest,
		IsError: true, Error: "outcome unknown: the replica that the call was approved at ended; it is not run again",
	})
}

// current returns why rules and freezes may be stale, or "" if they are not.
func (j *Judge) current() string {
	if j.Current == nil {
		return ""
	}
	if err := j.Current(); err != nil {
		return fmt.Sprintf("Nothing runs until this callgate hears from its cluster again: %v. Try again in a moment.", err)
	}
	return ""
}
