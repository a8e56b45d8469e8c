package proxy

import (
	"cmp"
	"context"
	"slices"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/hooks"
	"callgate/internal/upstream"
)

// hookEvents tells hooks of the requests of one host.
type hookEvents struct{ h *host }

// about begins an event about a call.
func (he *hookEvents) about(name string, call gate.Call) hooks.Event {
	e := hooks.Event{
		Name: name, SessionID: he.h.session.ID(), Agent: cmp.Or(call.Agent, he.h.session.Agent()), Host: he.h.session.Client().Name,
		CallID: call.ID, Arguments: call.Arguments,
	}
	e.About(call.Tool)
	return e
}

// requested tells hooks that the call came.
func (he *hookEvents) requested(call gate.Call) {
	if he.h.p.o.Hooks.Wants(hooks.ToolRequested) {
		he.h.p.o.Hooks.Fire(he.about(hooks.ToolRequested, call))
	}
}

// ask tells hooks that the call came, and lets those that decide say what they think of it before the gate
// does. What they say is part of the call from then on: the gate denies, marks and judges by it, and nothing of it
// can allow. r is nil for what no request of the host is about.
func (he *hookEvents) ask(ctx context.Context, r *inflight, call gate.Call) gate.Call {
	he.requested(call)
	if !he.h.p.o.Hooks.Decides() {
		return call
	}
	if r != nil {
		defer waiter{he.h}.heartbeat(r, "a hook that looks at the call")()
	}
	he.h.p.o.Hooks.Decide(ctx, he.about(hooks.ToolRequested, call), func(o hooks.Opinion) (hooks.Event, bool, error) {
		if o.Arguments != nil && !o.Deny {
			rewritten, err := call.Rewritten(o.Arguments, o.Hook)
			if err != nil {
				return hooks.Event{}, true, err
			}
			call = rewritten
		}
		if o.Deny {
			call.Before.DeniedBy, call.Before.Reason = o.Hook, o.Reason
		}
		if o.Ask {
			call.Before.Marks = append(slices.Clip(call.Before.Marks), tools.Mark{Code: "hook", Text: o.Reason})
		}
		return he.about(hooks.ToolRequested, call), !o.Deny, nil
	})
	return call
}

// refused tells hooks that the call does not run.
func (he *hookEvents) refused(call gate.Call, v gate.Verdict) {
	if he.h.p.o.Hooks.Wants(hooks.AgentError) {
		e := he.about(hooks.AgentError, call)
		e.Risk, e.Category, e.Decision, e.By, e.Error = v.Risk().String(), v.Category(), v.Decision, v.By, v.Reason
		he.h.p.o.Hooks.Fire(e)
	}
}

// executes tells hooks that the call is about to be forwarded.
func (he *hookEvents) executes(call gate.Call, v gate.Verdict) {
	for _, name := range []string{hooks.ToolExecute, hooks.ToolStarted} {
		if he.h.p.o.Hooks.Wants(name) {
			e := he.about(name, call)
			e.Risk, e.Category, e.Decision, e.By = v.Risk().String(), v.Category(), v.Decision, v.By
			he.h.p.o.Hooks.Fire(e)
		}
	}
}

// ended returns what is left to do once the host has its answer: hooks that want to know how the call went, and record.
// What webhooks post of it is in their queues before the outcome is on record. A call that no hook asks about costs
// nothing more.
func (he *hookEvents) ended(record func(), call gate.Call, v gate.Verdict, result []byte, isError bool, failure string, took time.Duration) func() {
	name := hooks.ToolCompleted
	if isError || failure != "" {
		name = hooks.ToolFailed
	}
	if !he.h.p.o.Hooks.Wants(name) {
		return record
	}
	e := he.about(name, call)
	e.Risk, e.Category, e.Decision, e.By, e.Duration, e.Ended, e.Result = v.Risk().String(), v.Category(), v.Decision, v.By, took, true, result
	return func() {
		e.Error = hooks.FailureOf(result, isError, failure)
		he.h.p.o.Hooks.Fire(e)
		record()
	}
}

// tellState tells hooks that a server came up or went down, once for each change between the two.
func (s *server) tellState(up *upstream.Upstream, state upstream.State) {
	name := hooks.UpstreamUp
	switch state {
	case upstream.Ready:
	case upstream.Down:
		name = hooks.UpstreamDown
	default:
		return
	}
	if told := s.told.Swap(&name); told != nil && *told == name || !s.host.p.o.Hooks.Wants(name) {
		return
	}
	e := hooks.Event{Name: name, SessionID: s.host.session.ID(), Agent: s.host.session.Agent(), Server: s.alias}
	if name == hooks.UpstreamDown {
		e.Error = up.Status().Reason
	}
	s.host.p.o.Hooks.Fire(e)
}
