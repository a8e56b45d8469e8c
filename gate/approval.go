package gate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"callgate/audit"
	"callgate/gate/internal/fingerprint"
	"callgate/gate/internal/past"
	"callgate/gate/internal/provenance"
	"callgate/gate/tools"
)

// approval is one pending question. It moves through its states once, under queue.mu:
//
//	pending → decided (approve, reject, always) | timeout | withdrawn
//
// One waiting call consumes the decision. If the host cannot wait that long, the approval is handed over: it stays
// pending without a call, and the repeated call attaches to it or claims the decision.
type approval struct {
	call        Call
	verdict     Verdict
	session     *Session
	expires     time.Time
	fingerprint string          // of what was shown
	key         string          // handOverKey of the call as it came; a repeated call finds the approval by it
	shown       *Approval       // what people see; replaced, never changed
	done        chan resolution // of the call that waits; has room for one resolution, and gets at most one
	duplicates  []*approval     // repeats of the call while this one waits: not shown, asked about in turn
	edited      json.RawMessage // arguments that an approver put in place of the call's; people see these

	detached    bool        // no call waits on it
	serverEnded string      // what people are told if the server ended while the call waited; else ""
	restored    bool        // it comes from a dead process; detached until its call is repeated
	expiry      *time.Timer // ends it while it is detached
}

// resolution is how an approval ended.
type resolution struct {
	decision    string // approve, always, reject, timeout, withdrawn; pending when it was handed over
	by          string
	from        string // where a person answered from
	reason      string
	arguments   json.RawMessage // the arguments as an approver changed them; nil if unchanged
	fingerprint string          // of what was shown
	marks       []string        // codes of those that were shown
	presence    []byte          // the proof that the approver was there; nil if none was needed
	persons     int             // how many people approved, if the rule needs several
	duplicate   bool            // the answer was to the same call and holds for this one too
	serverEnded string          // why a yes does not hold: the server of the call has ended since
	outcome     *answerOutcome  // tells the waiting answer what became of it; nil if no answer waits
	approval    string          // id of the approval that ended; session is where it was shown
	session     string
}

// fingerprint identifies what an approval of the call is for.
func (v *Verdict) fingerprint() string {
	of := fingerprint.Of(v.Analysis)
	if len(v.builds) > 0 {
		of += fingerprint.Files(v.builds)
	}
	return of
}

func codes(marks []tools.Mark) (codes []string) {
	for _, m := range marks {
		codes = append(codes, m.Code)
	}
	return codes
}

// unseen returns a mark of a kind that was not shown, or nil. It passes over two kinds: how many irreversible calls there
// are by now is nothing to see in this one, and results that came while the call waited did not shape its arguments.
func unseen(marks []tools.Mark, shown []string) *tools.Mark {
	for i, m := range marks {
		if m.Code != past.MarkLosses && !provenance.OfResults(m) && !slices.Contains(shown, m.Code) {
			return &marks[i]
		}
	}
	return nil
}

// enqueue makes the approval and shows it. refused, if not nil, denies a call that may not even wait. A call that was
// handed over before attaches to its approval or claims the decision. Both happen under one lock, so that no decision
// is lost. The waiting call is on record before anybody sees it. done, which has room for one resolution, gets how the
// approval ends for this call.
func (g questions) enqueue(s *Session, call Call, v Verdict, done chan resolution) (a *approval, claimed *resolution, refused *Verdict) {
	a = &approval{key: g.gate.journal.handOverKey(call), call: call, verdict: v, session: s, done: done}
	a.shown, a.fingerprint = g.show(s, call, v, time.Now().UTC()), v.fingerprint()
	a.expires = a.shown.ExpiresAt
	if g.gate.journal.o.Ledger != nil {
		if claimed, refused = g.claimShared(call, v); claimed != nil || refused != nil {
			return nil, claimed, refused
		}
	}
	g.gate.queue.mu.Lock()
	defer g.gate.queue.mu.Unlock()
	if left := g.gate.queue.attach(a); left != nil {
		return left, nil, nil
	}
	if r, ok := g.claim(call, v); ok {
		return nil, &r, nil
	}
	if s.pending() >= g.at.set.MaxPending {
		no := v.deny(DecidedLimited, "callgate", "maxPending", fmt.Sprintf("%d calls of this session already wait for a person (maxPending). Wait until they are answered.", g.at.set.MaxPending))
		return nil, nil, &no
	}
	if most := g.at.set.MaxPendingAll; most > 0 && len(g.gate.queue.order) >= most {
		no := v.deny(DecidedLimited, "callgate", "tenants.limits.pending", fmt.Sprintf("%d calls of this tenant already wait for a person (tenants.limits.pending). Wait until some are answered.", most))
		return nil, nil, &no
	}
	first := g.gate.queue.duplicateOf(a)
	if first == nil && g.gate.queue.pending[call.ID] != nil { // a call keeps its id when it is repeated, in another session too
		return nil, &resolution{decision: "pending", reason: waitsAlready}, nil
	}
	if err := g.gate.journal.recordAsked(s, call, v); err != nil {
		no := v.deny(DecidedDenied, "callgate", "audit", fmt.Sprintf("A person would have to approve the call, but that could not be recorded, so it does not run: %v.", err))
		return nil, nil, &no
	}
	if first != nil {
		first.duplicates = append(first.duplicates, a)
		g.gate.queue.recount(s)
		return a, nil, nil
	}
	if err := g.gate.queue.ask(a); err != nil {
		no := v.deny(DecidedDenied, "callgate", "cluster", fmt.Sprintf("A person would have to approve the call, and the cluster could not be told, so it does not run: %v.", err))
		return nil, nil, &no
	}
	return a, nil, nil
}

// ask makes the approval pending, shows it and notes it in the Ledger. The caller holds mu, so no answer is taken
// before that. If the Ledger fails, ask withdraws the approval and its duplicates.
func (q *queue) ask(a *approval) error {
	q.put(a)
	err := q.enter(a)
	if err != nil {
		r := resolution{decision: "withdrawn", by: "callgate", reason: fmt.Sprintf("callgate could not tell the cluster that the call waits: %v. %s", err, repeat)}
		duplicates := a.duplicates
		a.duplicates = nil
		q.resolve(a, r)
		for _, duplicate := range duplicates {
			duplicate.done <- r
		}
	}
	return err
}

// put makes the approval pending, after the older ones, and shows it. The caller holds mu.
func (q *queue) put(a *approval) {
	at, _ := slices.BinarySearchFunc(q.order, a.shown.CreatedAt, func(id string, created time.Time) int {
		return cmp.Or(q.pending[id].shown.CreatedAt.Compare(created), -1)
	})
	q.order = slices.Insert(q.order, at, a.call.ID)
	q.pending[a.call.ID] = a
	q.recount(a.session)
	if q.journal.o.Ledger == nil { // else enter notes it
		q.asked.keep(a)
	}
	q.journal.events.publish(Asked{a.shown})
}

// duplicateOf returns the pending approval of the very same call, or nil if there is none. A flood of one call is one
// question, but each yes lets only one of them run. The caller holds mu.
func (q *queue) duplicateOf(a *approval) *approval {
	for _, other := range q.pending {
		if other.session == a.session && other.call.Tool.Qualified == a.call.Tool.Qualified && other.call.Digest == a.call.Digest {
			return other
		}
	}
	return nil
}

// show returns the approval as people see it.
func (g questions) show(s *Session, call Call, v Verdict, created time.Time) *Approval {
	offers := v.Offers(call)
	if len(v.Marks) == 0 {
		offers = g.widen(s, call, v.Analysis, offers)
		g.approvedBefore(s, call, v.Analysis, offers)
	}
	reasons := v.reasons()
	if rewrite := call.Before.Rewrite; rewrite != nil {
		reasons = append([]Reason{rewrite.reason()}, reasons...)
	}
	var undo *Undo
	if g.gate.journal.o.Undo != nil && v.Analysis != nil {
		undo = g.gate.journal.o.Undo(call, v.Analysis)
	}
	return &Approval{
		Undo: undo,
		ID:   call.ID, SessionID: s.id, Worker: g.gate.journal.o.Worker, Agent: call.Agent,
		Server: call.Tool.Server, Tool: call.Tool.Qualified, Own: call.Tool.Name, Kind: call.Tool.Kind, Says: call.Tool.Description(),
		Arguments: call.Arguments, Digest: call.Digest, Analysis: v.Analysis,
		Reason: v.Reason, Marks: v.Marks, Reasons: reasons, Offers: offers, Redefined: call.Redefined, Rewrite: call.Before.Rewrite,
		Host: s.Client(), Origin: s.Origin(),
		Presence:  g.gate.journal.needsPresence(&v),
		Approvers: v.Approvers,
		Prompt:    s.flow.LastPrompt(),
		CreatedAt: created, ExpiresAt: created.Add(g.at.set.Timeout),
	}
}

// giveUp resolves an approval that nobody answered. If the waiting call is told how it ended at the same moment, that
// counts.
func (q *queue) giveUp(a *approval, done chan resolution, r resolution) resolution {
	q.mu.Lock()
	if len(done) == 0 && !q.resolve(a, r) && q.removeDuplicate(a) {
		done <- r
	}
	q.mu.Unlock()
	return <-done
}

// removeDuplicate removes a duplicate from behind the approval that is shown, if it is there. The caller holds mu.
func (q *queue) removeDuplicate(duplicate *approval) bool {
	for _, first := range q.pending {
		if i := slices.Index(first.duplicates, duplicate); i >= 0 {
			first.duplicates = slices.Delete(first.duplicates, i, i+1)
			q.recount(first.session)
			return true
		}
	}
	return false
}

// resolve ends an approval; nothing else does. The first caller wins; later ones change nothing and get false. The
// caller holds mu. The send cannot block: the channel has room for one resolution, and an approval gets only one
// because it is removed from pending under the same lock.
func (q *queue) resolve(a *approval, r resolution) bool {
	if q.pending[a.call.ID] != a {
		return false
	}
	delete(q.pending, a.call.ID)
	q.order = slices.DeleteFunc(q.order, func(id string) bool { return id == a.call.ID })
	q.recount(a.session)
	q.forget(a)
	r.fingerprint, r.marks, r.approval, r.session, r.serverEnded = a.fingerprint, codes(a.verdict.Marks), a.call.ID, a.session.id, a.serverEnded
	if r.arguments == nil {
		r.arguments = a.edited
	}
	if a.detached {
		a.expiry.Stop()
	} else {
		a.done <- r
	}
	if r.outcome == nil { // else the waiting call publishes how it ended
		q.journal.events.publish(Resolved{SessionID: a.session.id, ID: a.call.ID, Decision: r.decision, By: r.by, Reason: r.reason})
	}
	q.resolveDuplicates(a, r)
	return true
}

// resolveDuplicates passes a refusal on to the duplicates of the approval. After any other ending it asks about the
// next duplicate. The caller holds mu.
func (q *queue) resolveDuplicates(a *approval, r resolution) {
	if len(a.duplicates) == 0 {
		return
	}
	if r.decision == "reject" {
		r.duplicate, r.outcome = true, nil
		for _, duplicate := range a.duplicates {
			duplicate.done <- r
		}
		return
	}
	next := a.duplicates[0]
	next.duplicates = a.duplicates[1:]
	_ = q.ask(next) // on failure it tells the waiting calls
}

// withdraw withdraws every approval that which selects. The caller does not hold mu.
func (q *queue) withdraw(who audit.Author, reason string, which func(*approval) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := 0; i < len(q.order); { // a duplicate may take the place of what is withdrawn
		if a := q.pending[q.order[i]]; which(a) {
			q.resolve(a, resolution{decision: "withdrawn", by: who.By, from: who.From, reason: reason})
		} else {
			i++
		}
	}
}

// waitsIn returns a filter for the approvals that wait in the session, for one server unless that is "". It leaves out
// handed-over approvals, which outlive the session.
func waitsIn(s *Session, server string) func(*approval) bool {
	return func(a *approval) bool {
		return a.session == s && !a.detached && (server == "" || a.call.Tool.Server == server)
	}
}

// Pending lists the approvals that wait, oldest first.
func (g *Gate) Pending() []*Approval {
	g.queue.mu.Lock()
	defer g.queue.mu.Unlock()
	return g.queue.pendingShown()
}

// pendingShown is Pending for callers that hold mu.
func (q *queue) pendingShown() []*Approval {
	shown := make([]*Approval, len(q.order))
	for i, id := range q.order {
		shown[i] = q.pending[id].shown
	}
	return shown
}
