package app

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"callgate/audit"
	"callgate/internal/companion/wire"
	"callgate/internal/metrics"
	"callgate/internal/siem"
	"callgate/internal/traces"
)

// startMetrics begins to count, if that is configured. No session is open yet.
func (s *Sidecar) startMetrics(log *audit.Log) {
	if !s.config.Metrics {
		return
	}
	s.metrics = metrics.New(metrics.Options{
		Gate: s.Gate, Worker: s.config.Worker, Process: os.Getpid(), Version: Version, Audit: log, Hooks: s.config.HookRunner, Upstreams: s.upstreamsUp, Cluster: s.replica.forMetrics(),
		Exports: s.exported,
		Config: func() metrics.Config {
			return metrics.Config{Taken: s.reloads.Taken.Load(), Refused: s.reloads.Refused.Load(), Waiting: s.reloads.Waiting.Load()}
		},
	})
	s.closers = append(s.closers, func() error { s.metrics.Close(); return nil })
}

// startExports begins to send the audit trail to where the configuration says.
func (s *Sidecar) startExports() {
	ctx, stop := context.WithCancel(context.Background())
	var sending sync.WaitGroup
	for _, c := range s.config.Export {
		one := &siem.Export{
			Config: c, Dir: audit.Dir(s.config.DataDir), State: filepath.Join(s.config.Files().Exports(), c.Name+".json"), Logger: s.log,
			Trouble: func(text ...string) { s.problems.set("the export "+c.Name, text...) },
		}
		s.exports = append(s.exports, one)
		sending.Go(func() { one.Run(ctx) })
	}
	s.closers = append(s.closers, func() error { stop(); sending.Wait(); return nil })
}

// exported is how far the exports of this process are.
func (s *Sidecar) exported() (list []metrics.Export) {
	for _, one := range s.exports {
		list = append(list, metrics.Export{Name: one.Name, Sent: one.Sent.Load(), Behind: one.Behind.Load()})
	}
	return list
}

// openTracer begins to tell of calls, if that is configured. The variables of OpenTelemetry alone do not turn it on:
// a host that has them for itself hands them down.
func (s *Sidecar) openTracer() (*traces.Tracer, error) {
	if !s.config.Traces {
		return nil, nil
	}
	tracer, err := traces.New(context.Background(), traces.Options{Version: Version, Worker: s.config.Worker, Logger: s.log})
	if err == nil {
		s.closers = append(s.closers, tracer.Close)
	}
	return tracer, err
}

// metricsHandler answers scrapes; nil when nothing is counted.
func (s *Sidecar) metricsHandler() http.Handler {
	if s.metrics == nil {
		return nil
	}
	return s.metrics
}

// upstreamsUp tells which servers are ready. It is asked once the side server listens, which is after the proxy
// is there.
func (s *Sidecar) upstreamsUp() (states []metrics.Upstream) {
	for _, u := range s.people.Upstreams() {
		states = append(states, metrics.Upstream{Name: u.Name, Up: u.State == wire.UpstreamUp, Tools: u.Tools})
	}
	return states
}
