package app

import (
	"context"
	"slices"

	"github.com/adrg/xdg"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/config"
	"callgate/internal/hooks"
	"callgate/internal/hosthooks"
	"callgate/proxy"
)

// Desk returns what answers hosts' hooks with this process's gate.
func (s *Sidecar) Desk() (*hosthooks.Desk, error) {
	proof, err := hosthooks.OpenProof(s.config.DataDir, s.log)
	if err != nil {
		return nil, err
	}
	o := hosthooks.Options{
		Prompted: s.Gate.Heard,
		Gate:     s.Gate, Log: s.log, Proof: proof, Agent: s.config.Agent, Home: xdg.Home, Shell: s.config.ShellSetup, Audit: audit.Dir(s.config.DataDir),
		Sanitize: proxy.Sanitize, Own: hosthooks.OwnEntries(), Alarm: func(host string, texts ...string) { s.problems.set("the host "+host, texts...) },
	}
	if s.config.HookRunner.Decides() {
		o.Before = func(ctx context.Context, session *gate.Session, call gate.Call) gate.Call {
			return askHooks(ctx, s.config, session, call)
		}
	}
	if s.keeps != nil {
		o.Keep = func(ctx context.Context, session *gate.Session, call gate.Call, v *gate.Verdict) (func(context.Context), error) {
			kept, err := s.keeps.Keep(ctx, s.Gate, session, call, v)
			if kept == nil {
				return func(context.Context) {}, err
			}
			return kept.End, err
		}
	}
	return hosthooks.NewDesk(o), nil
}

// askHooks lets the user's hooks judge a call of a host's own tool. They cannot change its arguments.
func askHooks(ctx context.Context, c *config.Config, session *gate.Session, call gate.Call) gate.Call {
	e := hooks.Event{Name: hooks.ToolRequested, SessionID: session.ID(), Agent: call.Agent, Host: session.Client().Name, CallID: call.ID, Arguments: call.Arguments}
	e.About(call.Tool)
	c.HookRunner.Decide(ctx, e, func(o hooks.Opinion) (hooks.Event, bool, error) {
		if o.Arguments != nil && !o.Deny {
			o.Deny, o.Reason = true, "It wants other arguments, and a host runs its own tools with those that it has."
		}
		if o.Deny {
			call.Before.DeniedBy, call.Before.Reason = o.Hook, o.Reason
		}
		if o.Ask {
			call.Before.Marks = append(slices.Clip(call.Before.Marks), tools.Mark{Code: "hook", Text: o.Reason})
		}
		return e, !o.Deny, nil
	})
	return call
}
