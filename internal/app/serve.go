package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/app/reload"
	"callgate/internal/config"
	"callgate/internal/endpoint"
	"callgate/proxy"
)

// Serve lets hosts connect until ctx ends, or until there was no session for IdleShutdown. Meanwhile it takes over what
// load returns whenever the configuration changes.
func (s *Sidecar) Serve(ctx context.Context, load func() (*config.Config, error)) error {
	defer runtime.KeepAlive(spareHeap())
	c := &s.config.ServeConfig
	door, err := s.hostSettings(ctx, s.config)
	if err != nil {
		return err
	}
	rooms := endpoint.One(s.Proxy, s.budget)
	registry := s.tenants.Load()
	if registry != nil {
		rooms = registry
	}
	e, err := endpoint.Listen(endpoint.Options{
		Address: c.MCPListen, Settings: door,
		Replaced: s.noteToken, Ready: s.replica.fresh(), Replicas: s.replica.endpointReplicas(), Rooms: rooms, DataDir: s.config.DataDir, Logger: s.log, IdleTimeout: c.IdleTimeout, IdleShutdown: c.IdleShutdown,
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, e.Close)
	s.replica.serveHosts(e)
	how := []any{"url", e.URL(), "auth", c.Auth}
	if c.Auth == "token" && registry == nil {
		how = append(how, "token", filepath.Join(s.config.DataDir, "credentials", "mcp"))
	}
	s.log.Info("hosts are served", how...)
	s.closers = append(s.closers, runBackground(ctx, s.tellWhoWaits, returnMemory, s.Gate.Recall, func(ctx context.Context) { s.watch(ctx, load, e) }))
	select {
	case <-ctx.Done():
		s.Gate.Leave() // hosts find callgate at its address again, and repeat the calls that wait
		if registry != nil {
			registry.Leave()
		}
	case <-e.Idle():
		s.log.Info("callgate stops: there was no session", "for", c.IdleShutdown)
	}
	return nil
}

// noteToken records that a client's token was replaced or can no longer be used.
func (s *Sidecar) noteToken(client string, gone bool) {
	what := "is another one now"
	if gone {
		what = "is gone or cannot be read"
	}
	if err := s.Gate.Controls.Note("", audit.Author{By: "callgate"}, fmt.Sprintf("The token of the client %q %s: what was open with the old one ends.", client, what)); err != nil {
		s.log.Error("a replaced token could not be recorded", "client", client, "error", err)
	}
}

// hostSettings returns whom a configuration lets in as a host.
func (s *Sidecar) hostSettings(ctx context.Context, c *config.Config) (set endpoint.Settings, err error) {
	set.Hosts, set.Origins = c.MCPHosts, c.MCPOrigins
	if set.Door, err = c.Door(ctx, s.log); err != nil {
		return set, err
	}
	set.TLS, err = c.Certificate()
	return set, err
}

// Watch takes over what load returns whenever the configuration changes, until ctx ends.
func (s *Sidecar) Watch(ctx context.Context, load func() (*config.Config, error)) {
	s.watch(ctx, load, nil)
}

// watch does what Watch does. e is the endpoint for hosts, and may be nil.
func (s *Sidecar) watch(ctx context.Context, load func() (*config.Config, error), e *endpoint.Server) {
	if s.unread != nil {
		s.log.Warn("the configuration is not watched", "error", s.unread)
		return
	}
	reload.New(reload.Options{
		Start: s.start, Prepare: takeover{s, e}.prepare, Logger: s.log, Counts: &s.reloads,
		Record: func(summary string) error {
			return s.Gate.Controls.Note("", audit.Author{By: "configuration"}, summary)
		},
		Problem: func(text ...string) { s.problems.set("the configuration", text...) },
	}).Watch(ctx, load)
}

// takeover takes a configuration over. e may be nil.
type takeover struct {
	s *Sidecar
	e *endpoint.Server
}

// prepare makes and checks all that the next configuration needs, before anything changes.
func (t takeover) prepare(ctx context.Context, next *config.Config, changed []reload.Change) (func(), error) {
	return t.take(ctx, next, slices.ContainsFunc(changed, reload.Change.Servers))
}

// take does what prepare does. byServers tells whether hosts get other servers.
func (t takeover) take(ctx context.Context, next *config.Config, byServers bool) (func(), error) {
	s := t.s
	next = next.TakenOver(s.config)
	if next.Tenants.On() != s.config.Tenants.On() {
		return nil, errors.New("tenants: to turn tenants on or off, restart callgate")
	}
	protected, err := s.companion.protected(next)
	if err != nil {
		return nil, err
	}
	each := func() {}
	if registry := s.tenants.Load(); registry != nil {
		if each, err = registry.Prepare(ctx, next, byServers); err != nil {
			return nil, err
		}
	}
	serves, err := t.servers(next, byServers)
	if err != nil {
		return nil, err
	}
	admits, err := t.door(ctx, next)
	if err != nil {
		return nil, err
	}
	return func() {
		s.Gate.Protect(protected)
		serves()
		s.Gate.Controls.Configure(gate.Settings{
			Mode: next.GateMode, Autonomy: next.AutonomyLevel, AskEscalations: next.AsksEscalations, Timeout: next.Timeout, ClaimWithin: next.ClaimWithin,
			MaxPending: next.MaxPending, MaxPendingAll: next.MaxPendingAll, Limits: next.GateLimits, Terminal: next.TerminalList, Advisors: next.PolicyEngines,
		})
		s.level.Set(next.Level)
		s.current.Store(next)
		each()
		admits()
		if people := s.companion.Load(); people != nil {
			people.Recheck()
		}
	}, nil
}

// door prepares the change of who is let in as a host.
func (t takeover) door(ctx context.Context, next *config.Config) (apply func(), err error) {
	if t.e == nil {
		return func() {}, nil
	}
	door, err := t.s.hostSettings(ctx, next)
	if err != nil {
		return nil, err
	}
	return t.e.Configure(door)
}

// servers prepares the servers that hosts get. renewed tells whether they are different from before.
func (t takeover) servers(next *config.Config, renewed bool) (apply func(), err error) {
	if t.s.Proxy == nil {
		return func() {}, nil
	}
	servers, err := next.ProxyServers()
	if err != nil {
		return nil, err
	}
	names, err := next.ServerNames()
	if err != nil {
		return nil, err
	}
	if err := proxy.CheckAliases(names); err != nil {
		return nil, err
	}
	t.s.replica.shareLogins(servers)
	config.Bound(servers, next.Limits.MaxResultBytes)
	set := proxy.Settings{Servers: append(servers, t.s.own.Configured()...), Reserved: names, HandOver: next.HandOver, Hosts: next.HostLimits}
	if apply, err = t.s.Proxy.Configure(set, renewed); err != nil {
		return nil, fmt.Errorf("servers: %w", err)
	}
	return apply, nil
}
