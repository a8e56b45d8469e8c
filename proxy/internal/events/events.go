// Package events tells lifecycle hooks what happens to the requests of a session, and lets hooks act before the gate
// decides.
package events

import (
	"cmp"
	"context"
	"slices"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/hooks"
)

// Hooks hear what happens to calls, and can tighten what the gate decides. All methods are safe for concurrent use.
type Hooks interface {
	// Wants reports whether a hook may want events of that name. If not, the event need not be made.
	Wants(event string) bool
	// Fire reports an event and waits for nobody.
	Fire(e hooks.Event)

	// Decides reports whether a hook wants to look at calls before the gate decides.
	Decides() bool
	// Decide asks such hooks one after the other, and passes each opinion to heed. e is the current event. heed applies
	// the opinion and returns the new event, or false if no other hook has to be asked. heed returns an error if the
	// hook's arguments cannot be used, which counts as a failure of the hook.
	Decide(ctx context.Context, e hooks.Event, heed func(hooks.Opinion) (hooks.Event, bool, error))
}

// None has no hooks.
var None Hooks = (*hooks.Runner)(nil)

// Events tells hooks about the requests of one session.
type Events struct {
	Hooks   Hooks
	Session *gate.Session
}

// about returns a new event about a call.
func (x *Events) about(name string, call gate.Call) hooks.Event {
	e := hooks.Event{
		Name: name, SessionID: x.Session.ID(), Agent: cmp.Or(call.Agent, x.Session.Agent()), Host: x.Session.Client().Name,
		CallID: call.ID, Arguments: call.Arguments,
	}
	e.About(call.Tool)
	return e
}

// Requested tells hooks that the call has arrived.
func (x *Events) Requested(call gate.Call) {
	if x.Hooks.Wants(hooks.ToolRequested) {
		x.Hooks.Fire(x.about(hooks.ToolRequested, call))
	}
}

// Ask lets the hooks that decide give their opinions of a call before the gate does. The opinions become part of the
// returned call. The gate denies, marks and judges by them, and none of them can allow.
func (x *Events) Ask(ctx context.Context, call gate.Call) gate.Call {
	x.Hooks.Decide(ctx, x.about(hooks.ToolRequested, call), func(o hooks.Opinion) (hooks.Event, bool, error) {
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
		return x.about(hooks.ToolRequested, call), !o.Deny, nil
	})
	return call
}

// Refused tells hooks that the call does not run.
func (x *Events) Refused(call gate.Call, v gate.Verdict) {
	if x.Hooks.Wants(hooks.AgentError) {
		e := x.about(hooks.AgentError, call)
		e.Risk, e.Category, e.Decision, e.By, e.Error = v.Risk().String(), v.Category(), v.Decision, v.By, v.Reason
		x.Hooks.Fire(e)
	}
}

// Executes tells hooks that the call is about to be forwarded.
func (x *Events) Executes(call gate.Call, v gate.Verdict) {
	for _, name := range []string{hooks.ToolExecute, hooks.ToolStarted} {
		if x.Hooks.Wants(name) {
			e := x.about(name, call)
			e.Risk, e.Category, e.Decision, e.By = v.Risk().String(), v.Category(), v.Decision, v.By
			x.Hooks.Fire(e)
		}
	}
}

// Ended returns what is left to do once the host has its answer: it fires the hooks that want to know how the call
// went, and then runs record. So webhook posts are queued before the outcome is on record. A call that no hook asks
// about costs nothing more.
func (x *Events) Ended(record func(), call gate.Call, v gate.Verdict, result []byte, isError bool, failure string, took time.Duration) func() {
	name := hooks.ToolCompleted
	if isError || failure != "" {
		name = hooks.ToolFailed
	}
	if !x.Hooks.Wants(name) {
		return record
	}
	e := x.about(name, call)
	e.Risk, e.Category, e.Decision, e.By, e.Duration, e.Ended, e.Result = v.Risk().String(), v.Category(), v.Decision, v.By, took, true, result
	return func() {
		e.Error = hooks.FailureOf(result, isError, failure)
		x.Hooks.Fire(e)
		record()
	}
}

// Server tells hooks that a server came up, or that it went down and why.
func (x *Events) Server(name, alias, reason string) {
	if x.Hooks.Wants(name) {
		x.Hooks.Fire(hooks.Event{Name: name, SessionID: x.Session.ID(), Agent: x.Session.Agent(), Server: alias, Error: reason})
	}
}
