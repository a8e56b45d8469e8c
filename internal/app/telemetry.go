package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"callgate/audit"
	"callgate/internal/app/backend"
	"callgate/internal/cluster"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/metrics"
	"callgate/internal/siem"
)

// startMetrics begins to count, if that is configured. It runs before any session is open.
func (s *Sidecar) startMetrics(log *audit.Log) {
	if !s.config.Metrics {
		return
	}
	s.metrics = metrics.New(metrics.Options{
		Gate: s.Gate, Worker: s.config.Worker, Secondary: s.front != nil, Process: os.Getpid(), Version: Version, Audit: log, Hooks: s.config.HookRunner, Cluster: s.replica.metricsFunc(),
		Exports:   s.exports.progress,
		Upstreams: func() []metrics.Upstream { return upstreamsUp(s.people) }, // called once the companion listens
		Config: func() metrics.Config {
			return metrics.Config{Taken: s.reloads.Taken.Load(), Refused: s.reloads.Refused.Load(), Waiting: s.reloads.Waiting.Load()}
		},
	})
	s.closers = append(s.closers, func() error { s.metrics.Close(); return nil })
}

// exports send the audit trail to the configured destinations.
type exports []*siem.Export

// startExports begins to send. The caller MUST call stop, which waits until all sending has ended.
func startExports(c *config.Config, p *problems, log *slog.Logger) (list exports, stop func() error) {
	var sends []func(context.Context)
	for _, to := range c.Export {
		one := &siem.Export{
			Config: to, Dir: audit.Dir(c.DataDir), State: exportState(c, to), Logger: log,
			Trouble: func(text ...string) { p.set("the export "+to.Name, text...) },
		}
		list, sends = append(list, one), append(sends, one.Run)
	}
	return list, runBackground(context.Background(), sends...)
}

// exportState returns the path of the file that says how far an export is.
func exportState(c *config.Config, to siem.Config) string {
	return filepath.Join(c.Files().Exports(), to.Name+".json")
}

// exported returns how far all exports of this replica's trail are.
func (r *replica) exported() (cluster.Taken, error) {
	var states []string
	for _, to := range r.config.Export {
		states = append(states, exportState(r.config, to))
	}
	return siem.Reached(states)
}

// progress returns how far each export is.
func (e exports) progress() (list []metrics.Export) {
	for _, one := range e {
		list = append(list, metrics.Export{Name: one.Name, Sent: one.Sent.Load(), Behind: one.Behind.Load()})
	}
	return list
}

// upstreamsUp returns which servers are ready.
func upstreamsUp(people *backend.Backend) (states []metrics.Upstream) {
	for _, u := range people.Upstreams() {
		states = append(states, metrics.Upstream{Name: u.Name, Up: u.State == wire.UpstreamUp, Tools: u.Tools})
	}
	return states
}
