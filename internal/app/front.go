package app

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	dto "github.com/prometheus/client_model/go"

	"callgate/audit"
	"callgate/internal/app/tenancy"
	"callgate/internal/companion"
	"callgate/internal/config"
	"callgate/internal/endpoint"
)

// startFront opens what serves tenants: what the people and hosts of all of them connect to. It has no proxy itself.
func startFront(ctx context.Context, c *config.Config, join func(*Sidecar) error) (*Sidecar, error) {
	s := &Sidecar{config: c, budget: c.Limits.Budget(), stop: ctx.Done(), join: join, onlooker: true}
	if _, err := s.open(nil); err != nil {
		return nil, err
	}
	registry := tenancy.Open(tenancy.Options{
		Config: c, Version: Version, Logger: s.log, Front: s.companion.Load(),
		Start:  func(c *config.Config, bytes int64) (*tenancy.Worker, error) { return s.startTenant(ctx, c, bytes) },
		Record: func(summary string) error { return s.Gate.Controls.Note("", audit.Author{By: "callgate"}, summary) },
	})
	s.tenants.Store(registry)
	s.closers = append(s.closers, registry.Close)
	s.replica.meetTenants(registry)
	return s, nil
}

// joinsWithin is how long a tenant may take to hear from its replicas. Meanwhile other tenants wait to be opened.
const joinsWithin = 15 * time.Second

// startTenant opens a tenant's worker.
func (s *Sidecar) startTenant(ctx context.Context, c *config.Config, bytes int64) (*tenancy.Worker, error) {
	servers, err := c.ProxyServers()
	if err != nil {
		return nil, err
	}
	one := &Sidecar{config: c, budget: s.budget.Part(bytes), stop: s.stop, front: s}
	if s.replica != nil {
		if err := s.replica.cluster.Fresh(); err != nil {
			return nil, err
		}
		one.join = func(one *Sidecar) error {
			ctx, cancel := context.WithTimeout(ctx, joinsWithin)
			defer cancel()
			return one.joinCluster(ctx)
		}
	}
	if _, err := one.open(servers); err != nil {
		return nil, err
	}
	if err := one.announcePorts(); err != nil {
		one.Close()
		return nil, err
	}
	one.closers = append(one.closers, runBackground(ctx, one.tellWhoWaits))
	w := &tenancy.Worker{
		Gate: one.Gate, Proxy: one.Proxy, Budget: one.budget, People: one.companion.Load(), Close: one.Close,
		Prepare: func(ctx context.Context, next *config.Config, servers bool) (func(), error) {
			return takeover{one, nil}.take(ctx, next, servers)
		},
	}
	if one.metrics != nil {
		w.Metrics = one.metrics
	}
	return w, nil
}

// announcePorts keeps all tenants' tools away from the address where this tenant's approvers connect.
func (s *Sidecar) announcePorts() error {
	for _, text := range s.companion.ports {
		port, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		withdraw, err := endpoint.Announce(s.front.config.DataDir, port)
		if err != nil {
			return err
		}
		s.closers = append(s.closers, withdraw)
	}
	return nil
}

// tenants holds the tenants that a front serves. It is empty until they are open, and in every other sidecar.
type tenants struct {
	atomic.Pointer[tenancy.Registry]
}

// companionTenants returns what leads approvers to their tenants, or nil if there are none yet.
func (t *tenants) companionTenants() companion.Tenants {
	if registry := t.Load(); registry != nil {
		return registry
	}
	return nil
}

// gather returns the metrics of the open tenants.
func (t *tenants) gather() ([]*dto.MetricFamily, error) {
	if registry := t.Load(); registry != nil {
		return registry.Gather()
	}
	return nil, nil
}
