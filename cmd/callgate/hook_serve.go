package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"

	"github.com/adrg/xdg"
	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
	"callgate/internal/hooks"
	"callgate/internal/hosthooks"
	"callgate/internal/hosthooks/door"
	"callgate/proxy"
)

// serveHooks is the process that judges for hooks: a callgate without servers, which joins the hub as every other.
func serveHooks(s *config.Settings, cmd *cobra.Command) error {
	config, _ := s.Common.GetString("config") // they are declared
	worker, _ := s.Common.GetString("worker")
	c, err := s.Load()
	if err != nil {
		return err
	}
	stale := hosthooks.Stale(c.File)
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return err
	}
	held, err := credentials.Open(c.DataDir)
	if err != nil {
		return err
	}
	token := func() (string, error) { return held.Token(credentials.Hook) }
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	server, err := hosthooks.Listen(door.Socket(c.DataDir, worker, config), token, log)
	if errors.Is(err, hosthooks.ErrTaken) {
		return nil
	}
	if err != nil {
		return err
	}
	sidecar, err := app.Start(c, nil)
	defer func() {
		sidecar.Close()
		if err := server.Close(); err != nil {
			log.Error("shutdown", "error", err)
		}
	}()
	if err != nil {
		return err
	}
	desk, err := openDesk(sidecar)
	if err != nil {
		return err
	}
	defer desk.Close()
	server.Run(cmd.Context(), desk, stale)
	return nil
}

// desk is where hosts' hooks are answered by this process' gate.
func openDesk(s *app.Sidecar) (*hosthooks.Desk, error) {
	proof, err := hosthooks.OpenProof(s.Config.DataDir, s.Log)
	if err != nil {
		return nil, err
	}
	o := hosthooks.Options{
		Prompted: s.Gate.Heard,
		Gate:     s.Gate, Log: s.Log, Proof: proof, Agent: s.Config.Agent, Home: xdg.Home, Shell: s.Config.ShellSetup, Audit: audit.Dir(s.Config.DataDir),
		Sanitize: proxy.Sanitize, Own: hosthooks.OwnEntries(), Alarm: func(host string, texts ...string) { s.Problems.Set("the host "+host, texts...) },
	}
	if s.Config.HookRunner.Decides() {
		o.Before = func(ctx context.Context, session *gate.Session, call gate.Call) gate.Call {
			return askHooks(ctx, s.Config, session, call)
		}
	}
	if s.Keeps != nil {
		o.Keep = func(ctx context.Context, session *gate.Session, call gate.Call, v *gate.Verdict) (func(context.Context), error) {
			return s.Keeps.Take(ctx, s.Gate, session, s.Log, call, v)
		}
	}
	return hosthooks.NewDesk(o), nil
}

// askHooks lets the user's hooks look at a call of a host's own tool.
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
