package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"callgate/audit"
	"callgate/gate/internal/provenance"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/permissions"
)

// Answer applies an approver's answer to the pending approval with that id. The first answer wins, and a later one gets
// ErrNotPending. An answer with a different session or different arguments than the approval shows changes nothing.
func (g *Gate) Answer(id string, answer Answer) error {
	err := answering{g}.apply(id, answer)
	if err == nil {
		g.lastPerson.note(answer.By)
	}
	return err
}

// lastPerson is when a person last used the gate, in Unix nanoseconds; 0 means never.
type lastPerson struct{ atomic.Int64 }

// note stores the time if by is a person.
func (l *lastPerson) note(by string) {
	if by != "" && !strings.HasPrefix(by, "host") {
		l.Store(time.Now().UnixNano())
	}
}

// answering applies people's answers to approvals.
type answering struct{ gate *Gate }

func (g answering) apply(id string, answer Answer) error {
	switch answer.Decision {
	case "approve":
		if len(answer.Arguments) > 0 {
			return g.approveEdited(id, answer)
		}
		return g.finish(id, answer, resolution{decision: "approve", by: answer.By, from: answer.From})
	case "reject":
		reason := "A person refused this call."
		if answer.Feedback != "" {
			reason = fmt.Sprintf("A person refused this call and says: %s", answer.Feedback)
		}
		return g.finish(id, answer, resolution{decision: "reject", by: answer.By, from: answer.From, reason: reason})
	case "always":
		return g.always(id, answer)
	default:
		return Invalid(fmt.Errorf("unknown decision %q: use approve, reject or always", answer.Decision))
	}
}

// find returns the approval that the answer is about, if it is what the approver saw. The caller holds mu, and MUST
// keep it while it uses the approval.
func (q *queue) find(id string, answer Answer) (*approval, error) {
	a, ok := q.pending[id]
	switch {
	case !ok:
		return nil, ErrNotPending
	case answer.SessionID != a.session.id:
		return nil, fmt.Errorf("%w: the approval belongs to another one", ErrSession)
	case answer.Digest != a.shown.Digest:
		return nil, ErrDigest
	case answer.Together && answer.Decision != "reject" && a.single():
		return nil, Invalid(errors.New("this call cannot be answered together with others: it is DESTRUCTIVE or marked"))
	}
	return a, nil
}

// present returns the proof that a yes to the approval needs, or nil if it needs none. runs is the digest of the
// arguments that the yes releases.
func (g answering) present(a *approval, answer Answer, runs string) ([]byte, error) {
	if !a.shown.Presence {
		return nil, nil
	}
	return g.gate.journal.o.Presence.Check(a.shown, answer, runs)
}

// needsPresence reports whether a yes to the judged call needs a proof that a person is there.
func (j *journal) needsPresence(v *Verdict) bool {
	return j.o.Presence != nil && j.o.Presence.Needs(v.Risk(), len(v.Marks) > 0)
}

// single reports whether the call must be answered by itself.
func (a *approval) single() bool {
	return len(a.verdict.Marks) > 0 || !permissions.Destructive.Exceeds(a.verdict.Risk())
}

func (g answering) finish(id string, answer Answer, r resolution) error {
	g.gate.queue.mu.Lock()
	a, err := g.gate.queue.find(id, answer)
	if err == nil && r.decision != "reject" {
		r.presence, err = g.present(a, answer, a.call.Digest)
	}
	if err == nil && r.decision != "reject" && a.shown.Approvers > 0 {
		err = g.consent(a, answer, &r)
	}
	if err == nil {
		r.outcome, err = g.answer(a, r)
	}
	g.gate.queue.mu.Unlock()
	if err != nil {
		return err
	}
	return r.outcome.wait()
}

// consent records that one of several required persons approves a call. It returns nil if the call needs no more.
// Otherwise it returns ErrAnother, the call keeps waiting, and people see who approved. The caller holds mu.
func (g answering) consent(a *approval, answer Answer, r *resolution) error {
	who := answer.Presence.Person
	if who == "" {
		return Invalid(fmt.Errorf("the rule needs %d people: answer with a credential of your own (callgate credentials add approve@NAME)", a.shown.Approvers))
	}
	if slices.Contains(a.shown.ApprovedBy, who) {
		return fmt.Errorf("%w: %s approved already", ErrAnother, who)
	}
	all := append(slices.Clone(a.shown.ApprovedBy), who)
	if len(all) >= a.shown.Approvers {
		r.persons, r.reason = len(all), fmt.Sprintf("Approved by %s.", strings.Join(all, " and "))
		return nil
	}
	err := g.gate.journal.control(audit.Author{By: answer.By, From: answer.From, Presence: string(r.presence)}, audit.Record{
		SessionID: a.session.id, CallID: a.call.ID, Agent: a.session.agent, Tool: a.call.Tool.Qualified, Digest: a.call.Digest,
		Summary: fmt.Sprintf("%s approves: %d of %d.", who, len(all), a.shown.Approvers),
	})
	if err != nil {
		return fmt.Errorf("%w: it could not be recorded: %w", ErrRefused, err)
	}
	shown := *a.shown
	shown.ApprovedBy = all
	shown.Reason = fmt.Sprintf("%s approved, %d more to go. %s", strings.Join(all, " and "), shown.Approvers-len(all), a.verdict.Reason)
	before := a.shown
	a.shown = &shown
	if err := g.gate.queue.renew(a); err != nil {
		a.shown = before
		return fmt.Errorf("%w: it could not be noted in the cluster: %w", ErrRefused, err)
	}
	g.gate.journal.events.publish(Asked{a.shown})
	return fmt.Errorf("%w: your yes is on record", ErrAnother)
}

// answer resolves the approval as a person said. The caller holds mu, and waits for the ending after releasing it. An
// approval that was handed over has no waiting call, so the decision is recorded and kept here. If that fails, the
// approval stays as it is.
func (g answering) answer(a *approval, r resolution) (*answerOutcome, error) {
	r.outcome = newAnswerOutcome()
	if !a.detached {
		if err := g.gate.queue.decideOnce(a, r); err != nil {
			return nil, err
		}
		g.gate.queue.resolve(a, r)
		return r.outcome, nil
	}
	if err := g.gate.queue.keepDecision(a, r); err != nil {
		return nil, fmt.Errorf("%w: it still waits for an answer: %w", ErrRefused, err)
	}
	r.outcome.settle(nil)
	ending := r.outcome
	r.outcome = nil
	g.gate.queue.resolve(a, r)
	return ending, nil
}

// approveEdited releases the call with the arguments that the approver gave. They are judged before
// anything else; if they are riskier than what was asked, the question is put again instead.
func (g answering) approveEdited(id string, answer Answer) error {
	g.gate.queue.mu.Lock()
	a, err := g.gate.queue.find(id, answer)
	if err != nil {
		g.gate.queue.mu.Unlock()
		return err
	}
	call, session, several := a.call, a.session, a.shown.Approvers > 0
	g.gate.queue.mu.Unlock()
	if several {
		return Invalid(errors.New("several people have to approve the same arguments: reject the call and say what to change"))
	}
	if call.Fixed {
		return Invalid(errors.New("the arguments of this call cannot be edited"))
	}
	edited, err := call.withArguments(answer.Arguments)
	if err != nil {
		return Invalid(fmt.Errorf("the edited arguments: %w", err))
	}
	now := g.gate.judging()
	v := now.judge(session, edited)
	if v.Action == permissions.Deny {
		return Invalid(fmt.Errorf("the edited arguments are denied: %s", v.Reason))
	}
	ending, err := g.answerEdited(id, answer, edited, v, g.gate.questions(&now))
	if err != nil {
		return err
	}
	return ending.wait()
}

// answerEdited releases the call with the edited arguments if they are no riskier than what was asked. Otherwise it
// asks about them. v is the verdict on them.
func (g answering) answerEdited(id string, answer Answer, edited Call, v Verdict, asks questions) (*answerOutcome, error) {
	fingerprint := v.fingerprint()
	g.gate.queue.mu.Lock()
	defer g.gate.queue.mu.Unlock()
	a, err := g.gate.queue.find(id, answer)
	if err != nil { // somebody else may have answered or edited meanwhile
		return nil, err
	}
	unseen := slices.ContainsFunc(v.Marks, func(m tools.Mark) bool { return !slices.Contains(a.verdict.Marks, m) })
	if worse := v.Risk().Exceeds(a.verdict.Risk()) || unseen; worse {
		a.verdict, a.fingerprint = v, fingerprint
		a.call, a.edited = edited, edited.Arguments
		a.shown = asks.show(a.session, edited, v, a.shown.CreatedAt)
		_ = g.gate.queue.renew(a) // a failure is logged; what is kept then is the milder question
		g.gate.journal.events.publish(Asked{a.shown})
		return nil, Invalid(errors.New("the edited arguments are riskier than before; look at them and approve again"))
	}
	proof, err := g.present(a, answer, edited.Digest)
	if err != nil {
		return nil, err
	}
	a.verdict, a.fingerprint = v, fingerprint
	return g.answer(a, resolution{decision: "approve", by: answer.By, from: answer.From, arguments: edited.Arguments, presence: proof})
}

// withArguments returns the call with other arguments. They pass the same check as the host's.
func (c Call) withArguments(arguments []byte) (Call, error) {
	if err := jsonx.Check(arguments); err != nil {
		return Call{}, err
	}
	if arguments[0] != '{' {
		return Call{}, fmt.Errorf("they are not a JSON object")
	}
	digest, err := jsonx.Digest(arguments, c.Agent)
	if err != nil {
		return Call{}, err
	}
	c.Arguments, c.Digest, c.read = arguments, digest, nil
	return c, nil
}

// always releases the call, keeps the chosen grants, and releases the other calls that they cover (the cascade).
func (g answering) always(id string, answer Answer) error {
	if answer.Scope != "session" && answer.Scope != "worker" && answer.Scope != "" {
		return Invalid(fmt.Errorf("unknown scope %q: use session or worker", answer.Scope))
	}
	a, grants, ending, err := g.grant(id, answer)
	if err != nil {
		return err
	}
	if err := ending.wait(); err != nil {
		return err // nothing of the answer holds
	}
	for _, grant := range grants {
		if err := g.gate.journal.record(audit.Record{
			Event: audit.Control, SessionID: a.session.id, Agent: a.session.agent, Tool: a.call.Tool.Qualified, By: answer.By, From: answer.From,
			Summary: fmt.Sprintf("Grant: %s %q up to %s, scope %s.", grant.Tool, grant.Covers(), grant.Risk, scopeName(answer.Scope)),
		}); err != nil {
			return fmt.Errorf("%w in full: the call was approved once, but the grant could not be recorded, so there is none: %w", ErrRefused, err)
		}
	}
	g.storeGrants(a.session, grants, answer.Scope)
	always := &given{approval: a.shown.ID, session: a.session, scope: answer.Scope, by: answer.By, from: answer.From}
	g.gate.queue.given.Store(always)
	g.cascade(always)
	return nil
}

// storeGrants stores the grants by their scope. A grant that cannot be written to the file holds in the session
// instead, if the session has only one host. So the decision is not lost, and not wider than the person meant.
func (g answering) storeGrants(s *Session, grants []permissions.Grant, scope string) {
	switch {
	case scope == "session":
		s.granted.add(grants)
	case g.gate.journal.o.InMemory:
		g.gate.granted.add(grants)
	default:
		switch err := g.gate.journal.o.Store.AddGrants(grants); {
		case err == nil:
		case s.ungranted.Load():
			g.gate.journal.o.Logger.Error("an \"always\" could not be written to the rules file; the call was approved, and the next is asked about again", "error", err)
		default:
			s.granted.add(grants)
			g.gate.journal.o.Logger.Error("an \"always\" could not be written to the rules file; it lasts until the session ends", "error", err)
		}
	}
}

// grant resolves the approval as "always" and returns what to grant. The caller keeps the grants afterwards, so that a
// late answer leaves nothing behind.
func (g answering) grant(id string, answer Answer) (*approval, []permissions.Grant, *answerOutcome, error) {
	g.gate.queue.mu.Lock()
	defer g.gate.queue.mu.Unlock()
	a, err := g.gate.queue.find(id, answer)
	if err != nil {
		return nil, nil, nil, err
	}
	if answer.Scope == "session" && a.restored {
		return nil, nil, nil, Invalid(errors.New("the session of this call has ended: approve it once, or always for the worker"))
	}
	if answer.Scope == "session" && a.session.ungranted.Load() {
		return nil, nil, nil, Invalid(errors.New("this host has no session of its own, because it sends no Callgate-Session header: approve the call once, or always for the worker"))
	}
	if a.shown.Approvers > 0 {
		return nil, nil, nil, Invalid(errors.New("the rule needs several people, so nobody can answer \"always\": approve the call once"))
	}
	grants, err := a.choose(answer)
	if err != nil {
		return nil, nil, nil, err
	}
	proof, err := g.present(a, answer, a.call.Digest)
	if err != nil {
		return nil, nil, nil, err
	}
	ending, err := g.answer(a, resolution{decision: "always", by: answer.By, from: answer.From, presence: proof})
	return a, grants, ending, err
}

func scopeName(scope string) string {
	if scope == "" {
		return "worker"
	}
	return scope
}

// choose turns the answer's choices into grants. Only what was offered can be granted. If several subjects offer the
// same grant and it was chosen once, it covers the mildest of their risks.
func (a *approval) choose(answer Answer) ([]permissions.Grant, error) {
	offers := slices.SortedStableFunc(slices.Values(a.shown.Offers), milder)
	var chosen []tools.Offer
	known := true
	for _, c := range answer.Grants {
		offered := func(o tools.Offer) bool { return c.Tool == o.Tool && c.Pattern == o.Pattern }
		at := slices.IndexFunc(offers, offered)
		if at >= 0 {
			chosen = append(chosen, offers[at])
			offers = slices.Delete(offers, at, at+1)
		}
		known = known && slices.ContainsFunc(chosen, offered)
	}
	if len(answer.Grants) == 0 {
		chosen = slices.DeleteFunc(slices.Clone(a.shown.Offers), func(o tools.Offer) bool { return !o.Default })
	}
	if len(chosen) == 0 || !known {
		return nil, Invalid(fmt.Errorf("\"always\" needs grants that the call offers, and it offers %d: choose among them, or approve it once", len(a.shown.Offers)))
	}
	now := time.Now().UTC().Truncate(time.Second)
	var grants []permissions.Grant
	for _, offer := range chosen {
		grant := permissions.Grant{
			Tool: offer.Tool, Pattern: offer.Pattern, Risk: offer.Risk,
			Server: a.call.Tool.Server, Workspace: a.call.Place.Dir, By: answer.By, At: now,
			Content: contentOf(&a.verdict, offer),
		}
		if offer.Folder != "" {
			grant.Pattern, grant.Folder, grant.Denied = offer.Glob, offer.Folder, offer.Denied
		}
		if answer.ExpiresIn > 0 {
			grant.Expires = now.Add(answer.ExpiresIn)
		}
		if !slices.Contains(grants, grant) {
			grants = append(grants, grant)
		}
	}
	return grants, nil
}

// milder orders offers by risk, the mildest first.
func milder(x, y tools.Offer) int {
	switch {
	case x.Risk.Exceeds(y.Risk):
		return 1
	case y.Risk.Exceeds(x.Risk):
		return -1
	}
	return 0
}

// contentOf returns the fingerprint of the scripts that the grant is about. A flow grant is about no script.
func contentOf(v *Verdict, offer tools.Offer) string {
	if slices.Contains([]string{provenance.GrantDestination, provenance.GrantSource, provenance.GrantResult}, offer.Tool) {
		return ""
	}
	return v.Analysis.Subjects[offer.Subject].Content
}

// cascaded is the prefix of "by" for a call that the cascade released.
const cascaded = "cascade:"

// given is an "always" whose grants hold.
type given struct {
	approval string // id of the approval that was answered
	session  *Session
	scope    string
	by, from string
}

// cascade judges the other pending approvals in the scope of the grants again and releases those that a grant now
// allows. It never releases a call that is DESTRUCTIVE or marked, that needs a passkey, or that comes from a dead
// process.
//
// Judging reads files, so it happens without the lock. A call is then resolved only if it still waits unchanged. A call
// that was judged before the grants held may be queued too late for the cascade, so its asker MUST call cascade again.
func (g answering) cascade(always *given) {
	for g.release(always) { // a duplicate takes the place of a call that was released
	}
}

// release runs one round of cascade and reports whether it released a call.
func (g answering) release(always *given) (some bool) {
	for _, c := range g.gate.queue.waitingCalls() {
		if always.scope == "session" && c.session != always.session || c.approval.restored || c.presence {
			continue
		}
		v := g.gate.judging().judge(c.session, c.call)
		if v.Action != permissions.Allow || v.Decision != DecidedTrusted || !permissions.Destructive.Exceeds(v.Risk()) {
			continue
		}
		g.gate.queue.mu.Lock()
		if g.gate.queue.pending[c.call.ID] == c.approval && c.approval.call.Digest == c.call.Digest {
			r := resolution{decision: "approve", by: cascaded + always.by, from: always.from, reason: fmt.Sprintf("Covered by the always given for %s.", always.approval)}
			_, err := g.answer(c.approval, r)
			if err != nil {
				g.gate.journal.o.Logger.Error("a call that an always covers still waits for an answer", "approval", c.call.ID, "error", err)
			}
			some = some || err == nil
		}
		g.gate.queue.mu.Unlock()
	}
	return some
}

// waitingCall is a pending approval as it was at one moment.
type waitingCall struct {
	approval *approval
	session  *Session
	call     Call
	presence bool // a yes needs a passkey
}

// waitingCalls lists what waits, oldest first.
func (q *queue) waitingCalls() []waitingCall {
	q.mu.Lock()
	defer q.mu.Unlock()
	calls := make([]waitingCall, len(q.order))
	for i, id := range q.order {
		a := q.pending[id]
		calls[i] = waitingCall{a, a.session, a.call, a.shown.Presence}
	}
	return calls
}
