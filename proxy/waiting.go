package proxy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/proxy/internal/elicitation"
	"callgate/proxy/internal/limits"
	"callgate/proxy/internal/stateless"
)

// waiter keeps a host waiting while a person is asked.
type waiter struct{ host *host }

// handOver returns how long a call may wait for a person before the host must get an answer; 0 means as long as it
// takes.
func (h waiter) handOver(r *inflight) time.Duration {
	if r.stateless != nil {
		if wait, ok := r.stateless.Patience(); ok {
			return wait
		}
	}
	if r.deferred != nil {
		return 0
	}
	set := h.host.p.set.Load()
	if set.HandOver != 0 {
		return max(set.HandOver, 0)
	}
	return limits.Patience(set.Hosts, h.host.session.Client(), r.token != nil)
}

// beat is how often a host hears that its call still waits. It is below every host's limit, even if one message is
// lost.
const beat = 12 * time.Second

// heartbeat keeps telling the host that its call waits for something. The caller MUST call stop; nothing is sent after
// stop returns.
func (h waiter) heartbeat(r *inflight, forWhat string) (stop func()) {
	if r == nil || r.token == nil {
		return func() {}
	}
	var timer *time.Timer
	stopped, waited := false, time.Duration(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	timer = time.AfterFunc(beat, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ended || stopped {
			return
		}
		waited += beat
		h.progress(r, fmt.Sprintf("waiting for %s, %s so far", forWhat, waited))
		timer.Reset(beat)
	})
	return func() {
		timer.Stop()
		r.mu.Lock()
		stopped = true
		r.mu.Unlock()
	}
}

// progress sends progress of our own. The values rise from 0, or from the server's last value. The caller holds r.mu,
// and r has a token and has not ended.
func (h waiter) progress(r *inflight, text string) {
	r.reached += progressStep
	r.ours = true
	h.host.notify(r, rpc.Request(nil, "notifications/progress", fmt.Appendf(nil, `{"progressToken":%s,"progress":%.4f,"message":%s}`,
		r.token, r.reached, jsonx.Quote(text))))
}

// elicit also asks in the host while an approval waits, if the host can do that. It never blocks, because some hosts
// declare elicitation and never show it. done withdraws the question.
//
// The authority is the gate's own record. The host's answer counts only if the configuration makes the host an
// approver, because some hosts answer by themselves. Otherwise the question only leads to the page, if the host can
// show an address.
func (h waiter) elicit(r *inflight, a *gate.Approval) (done func()) {
	r.waits()
	h.host.line.Waits(r.about())
	if r.stateless != nil {
		r.stateless.ApprovalShown(elicitation.Signpost(a, h.host.p.page()))
		defer func() {
			asked := done
			done = func() { r.stateless.ApprovalDecided(); asked() }
		}()
	}
	if r.deferred != nil {
		taskCalls(h).announce(r.deferred, "waiting for a person's approval")
	}
	can := h.host.capable.Load()
	params, counts := []byte(nil), h.host.p.o.HostApproves && !a.Presence // a host has no passkey
	switch page := h.host.p.page(); {
	case can == nil || !can.elicitation:
	case counts:
		params = elicitation.Question(a)
	case can.elicitationURL && page != "" && r.stateless == nil: // a stateless request ends with the address instead
		params = elicitation.Signpost(a, page)
	}
	if params == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(h.host.ctx)
	h.host.work.Go(func() {
		pending, err := h.host.ask(r, stateless.ApprovalLabel, func(id []byte) []byte { return rpc.Request(id, "elicitation/create", params) })
		if err != nil {
			return
		}
		answer, err := pending.Wait(ctx)
		if err != nil {
			h.host.notify(r, rpc.Request(nil, "notifications/cancelled", fmt.Appendf(nil, `{"requestId":%s,"reason":"decided elsewhere"}`, pending.ID)))
			return
		}
		if counts {
			h.take(a, answer)
		}
	})
	return func() {
		cancel()
		if !counts {
			h.host.notify(r, rpc.Request(nil, "notifications/elicitation/complete", fmt.Appendf(nil, `{"elicitationId":%s}`, jsonx.Quote(a.ID))))
		}
	}
}

// take applies the answer of the host's person. A dismissed form decides nothing.
func (h waiter) take(a *gate.Approval, answer rpc.Message) {
	decision := elicitation.Decision(answer.Result)
	if decision == "" {
		return
	}
	err := h.host.p.o.Gate.Answer(a.ID, gate.Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: decision, By: "host:" + h.host.session.Client().Name, From: "elicitation"})
	if err != nil && !errors.Is(err, gate.ErrNotPending) {
		h.host.log.Warn("an answer of the host was not applied", "error", err)
	}
}

// askHooks asks hooks about a call and keeps its host waiting. r is nil if the call does not come from a request of the
// host.
func (h waiter) askHooks(ctx context.Context, r *inflight, call gate.Call) gate.Call {
	h.host.events.Requested(call)
	if !h.host.p.o.Hooks.Decides() {
		return call
	}
	r.waits()
	defer h.heartbeat(r, "a hook that looks at the call")()
	return h.host.events.Ask(ctx, call)
}

// Record implements verification.Request.
func (t *toolCall) Record() {
	if t.r.afterwards != nil {
		t.r.afterwards()
		t.r.afterwards = nil
	}
}

// Beat implements verification.Request. The host hears at once that the checks run, and then at every beat.
func (t *toolCall) Beat() (stop func()) {
	if t.r.token == nil {
		return func() {}
	}
	t.r.mu.Lock()
	if !t.r.ended {
		waiter{t.host}.progress(t.r, "verifying what changed")
	}
	t.r.mu.Unlock()
	return waiter{t.host}.heartbeat(t.r, "the verification of what changed")
}

// Patience implements verification.Request.
func (t *toolCall) Patience() time.Duration { return waiter{t.host}.handOver(t.r) }
