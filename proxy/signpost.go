package proxy

import (
	"fmt"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
)

// patience is how long the call may wait for a person before this leg ends. ok is false when the errand has no
// better way than to hold the leg.
func (e *errand) patience() (wait time.Duration, ok bool) {
	switch {
	case e.task != nil:
		return 0, true
	case !e.back && e.leadsToPage():
		return time.Second, true // a decision that comes at once needs no second leg
	}
	return 0, false
}

// leadsToPage reports whether the host can lead its person to the page for approvers.
func (e *errand) leadsToPage() bool {
	h := e.f.h
	return h.capable.Load().elicitationURL && !h.p.o.HostApproves && h.p.page() != ""
}

// shown notes what a person is asked about the errand's call. A host that can wait for a task gets one.
func (e *errand) shown(a *gate.Approval) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.approval = a
	if e.waiting != nil {
		e.waiting.x.Waits()
	}
	if e.task != nil {
		e.task.says("waiting for a person's approval", taskPoll)
	}
}

// decided notes that nobody is asked about the errand's call any more.
func (e *errand) decided() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.task != nil {
		e.task.says("", taskPoll)
	}
}

// leadAway is the result of a call whose approval is pending: it leads the host's person to the page, and the
// next leg goes on with the same approval, also after a restart. Nil where the host cannot do that.
func (e *errand) leadAway(callID string) []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.f.p
	if e.approval == nil || e.back || !e.leadsToPage() {
		return nil
	}
	state, err := p.seal(e.f.key.from, handle{Approval: callID, Digest: e.digest, Until: time.Now().Add(signpostFor)})
	if err != nil {
		p.o.Logger.Error("a question to the host could not be put", "error", err)
		return nil
	}
	e.ledAway = true
	// The revision has no elicitationId any more, and some of its hosts do not understand an address without one.
	params := signpost(e.approval, p.page())
	return inputRequired([]openQuestion{{key: approvalLabel, method: "elicitation/create", params: params}}, state)
}

// signpostFor is how long the host may take to come back from the page. The gate knows how long a decision holds.
const signpostFor = 24 * time.Hour

// resume returns the id of the approval for the one request that may go on under it, and "" for all others: a handle
// that is brought again, or too late, makes a call of its own, which shares nothing with the first.
func (p *Proxy) resume(approval string) string {
	s := &p.stateless
	s.mu.Lock()
	defer s.mu.Unlock()
	if approval == "" || s.resuming[approval] || !p.o.Gate.Awaits(approval) {
		return ""
	}
	s.resuming[approval] = true
	return approval
}

// resumed notes that the request has ended that went on under the approval.
func (p *Proxy) resumed(approval string) {
	p.stateless.mu.Lock()
	defer p.stateless.mu.Unlock()
	delete(p.stateless.resuming, approval)
}

// callID is the id of the request's call: a fresh one, or that of the approval which it comes back for.
func (r *inflight) callID(fresh string) string {
	if r.errand != nil && r.errand.resumes != "" {
		return r.errand.resumes
	}
	return fresh
}

// leadAway is the result that leads the host's person to the page while an approval is pending; nil for other hosts.
func (r *inflight) leadAway(call gate.Call, v gate.Verdict) []byte {
	if r.errand == nil || v.Decision != gate.DecidedPending {
		return nil
	}
	return r.errand.leadAway(call.ID)
}

// signpost leads to the page. The address proves nothing about who opens it.
func signpost(a *gate.Approval, page string) []byte {
	return fmt.Appendf(nil, `{"mode":"url","elicitationId":%s,"url":%s,"message":%s}`, jsonx.Quote(a.ID), jsonx.Quote(page), jsonx.Quote(describe(a)))
}
