package main

import (
	"net/http"
	"os"

	"callgate/audit"
	"callgate/internal/companion"
	"callgate/internal/metrics"
)

// startMetrics begins to count, if that is configured. No session is open yet.
func (s *sidecar) startMetrics(log *audit.Log) {
	if !s.config.Metrics {
		return
	}
	s.metrics = metrics.New(metrics.Options{
		Gate: s.gate, Worker: s.config.Worker, Process: os.Getpid(), Version: version, Audit: log, Hooks: s.config.hooks, Upstreams: s.upstreamsUp,
	})
	s.closers = append(s.closers, func() error { s.metrics.Close(); return nil })
}

// metricsHandler answers scrapes; nil when nothing is counted.
func (s *sidecar) metricsHandler() http.Handler {
	if s.metrics == nil {
		return nil
	}
	return s.metrics
}

// upstreamsUp tells which servers are ready. It is asked once the side server listens, which is after the proxy
// is there.
func (s *sidecar) upstreamsUp() (states []metrics.Upstream) {
	for _, u := range (backend{s}).Upstreams() {
		states = append(states, metrics.Upstream{Name: u.Name, Up: u.State == companion.UpstreamUp, Tools: u.Tools})
	}
	return states
}
