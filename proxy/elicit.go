package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/proxy/internal/stateless"
)

// elicit asks in the host too while an approval waits, if the host can do that. It never holds anything up:
// hosts that declare elicitation and never show it are known. done takes the question back.
//
// The authority is the gate's own record. An answer from the host counts only where the configuration makes
// the host an approver, because some hosts answer by themselves; elsewhere the question is a signpost to the
// page, if the host can show an address.
func (h waiter) elicit(r *inflight, a *gate.Approval) (done func()) {
	h.line.Waits(r.about())
	if r.stateless != nil {
		r.stateless.Shown(signpost(a, h.p.page()))
		defer func() {
			asked := done
			done = func() { r.stateless.Decided(); asked() }
		}()
	}
	if r.deferred != nil {
		h.tasks.announce(r.deferred, "waiting for a person's approval")
	}
	can := h.capable.Load()
	params, counts := []byte(nil), h.p.o.HostApproves && !a.Presence // a host has no passkey
	switch page := h.p.page(); {
	case can == nil || !can.elicitation:
	case counts:
		params = question(a)
	case can.elicitationURL && page != "" && r.stateless == nil: // an errand ends its leg with the signpost
		params = signpost(a, page)
	}
	if params == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(h.ctx)
	h.work.Go(func() {
		pending, err := h.ask(r, stateless.ApprovalLabel, func(id []byte) []byte { return rpc.Request(id, "elicitation/create", params) })
		if err != nil {
			return
		}
		answer, err := pending.Wait(ctx)
		if err != nil {
			h.notify(r, rpc.Request(nil, "notifications/cancelled", fmt.Appendf(nil, `{"requestId":%s,"reason":"decided elsewhere"}`, pending.ID)))
			return
		}
		if counts {
			h.take(a, answer)
		}
	})
	return func() {
		cancel()
		if !counts {
			h.notify(r, rpc.Request(nil, "notifications/elicitation/complete", fmt.Appendf(nil, `{"elicitationId":%s}`, jsonx.Quote(a.ID))))
		}
	}
}

// question is a form with the one field that has to be filled in: an empty answer decides nothing.
func question(a *gate.Approval) []byte {
	return fmt.Appendf(nil, `{"message":%s,"requestedSchema":{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["approve","deny"]}},"required":["decision"]}}`, jsonx.Quote(describe(a)))
}

func describe(a *gate.Approval) string {
	var b strings.Builder
	fmt.Fprintf(&b, "callgate: %s wants to run. %s Risk: %s (%s).", a.Tool, a.Analysis.Summary, a.Analysis.Risk.Label(), a.Analysis.Risk)
	for _, m := range a.Marks {
		b.WriteString(" " + m.Text)
	}
	return tools.Visible(b.String())
}

// take applies what the host's person answered. A form that was dismissed decides nothing.
func (h waiter) take(a *gate.Approval, answer rpc.Message) {
	decision := decisionOf(answer.Result)
	if decision == "" {
		return
	}
	err := h.p.o.Gate.Answer(a.ID, gate.Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: decision, By: "host:" + h.session.Client().Name, From: "elicitation"})
	if err != nil && !errors.Is(err, gate.ErrNotPending) {
		h.log.Warn("an answer of the host was not applied", "error", err)
	}
}

// decisionOf reads the answer to question: "approve", "reject", or "" when it decides nothing.
func decisionOf(result []byte) string {
	var m [2]jsonx.Member
	if result == nil || jsonx.Members(result, []string{"action", "content"}, m[:]) != nil {
		return ""
	}
	switch action, _ := jsonx.String(m[0].Value); action {
	case "decline":
		return "reject"
	case "accept":
		var field [1]jsonx.Member
		if m[1].Value == nil || jsonx.Members(m[1].Value, []string{"decision"}, field[:]) != nil {
			return ""
		}
		switch decision, _ := jsonx.String(field[0].Value); decision {
		case "approve":
			return "approve"
		case "deny":
			return "reject"
		}
	}
	return ""
}

// signpost leads to the page. The address proves nothing about who opens it. Revisions without elicitationId get one too:
// some of their hosts do not understand an address without it.
func signpost(a *gate.Approval, page string) []byte {
	return fmt.Appendf(nil, `{"mode":"url","elicitationId":%s,"url":%s,"message":%s}`, jsonx.Quote(a.ID), jsonx.Quote(page), jsonx.Quote(describe(a)))
}
