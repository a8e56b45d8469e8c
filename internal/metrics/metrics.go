// Package metrics counts what happens at the gate, for Prometheus.
//
// No label holds anything that a model or server says. Labels are decisions, risk classes, and the names of servers and
// hooks in the configuration, so their number is bounded.
package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/hooks"
)

// Options assemble Metrics. Gate is required; a nil function tells nothing.
type Options struct {
	Gate      *gate.Gate
	Worker    string
	Part      bool // another one in this process counts what is the process'
	Process   int  // the id of this process
	Version   string
	Audit     *audit.Log
	Hooks     *hooks.Runner
	Upstreams func() []Upstream
	Cluster   func() Cluster // nil without one
	Config    func() Config
	Exports   func() []Export
}

// Cluster is how a cluster looks from one replica.
type Cluster struct {
	Up, Silent int // replicas
	Pending    int // approvals, of all
	Fresh      bool
	Behind     time.Duration // of the cluster's audit trail
}

// Export is how far the audit trail was sent to one receiver by this process.
type Export struct {
	Name         string
	Sent, Behind int64 // records, and bytes
}

// Config says what became of changed configurations.
type Config struct{ Taken, Refused, Waiting int64 }

// Upstream is the state of one configured server.
type Upstream struct {
	Name  string
	Up    bool
	Tools int
}

// Metrics counts from New on. Close ends it.
type Metrics struct {
	o        Options
	registry *prometheus.Registry
	close    chan struct{}
	closing  sync.Once
	running  sync.WaitGroup
	asked    map[string]time.Time // approvals that wait, by id; only follow touches it

	decisions *prometheus.CounterVec
	waits     *prometheus.HistogramVec
	calls     *prometheus.HistogramVec
}

// waitBuckets reach from a machine's answer to a person's, in seconds.
var waitBuckets = []float64{0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3600}

// callBuckets reach from a look at a file to a long build, in seconds.
var callBuckets = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// New begins to count. No session may be open yet, or its past is missing.
func New(o Options) *Metrics {
	m := &Metrics{
		o: o, close: make(chan struct{}), asked: map[string]time.Time{},
		decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "callgate_decisions_total", Help: "Decisions about calls, as the audit trail words them, by class of risk.",
		}, []string{"decision", "risk"}),
		waits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "callgate_approval_wait_seconds", Help: "How long approvals waited, by how they ended.", Buckets: waitBuckets,
		}, []string{"decision"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "callgate_call_duration_seconds", Help: "How long forwarded calls ran, by how they ended.", Buckets: callBuckets,
		}, []string{"outcome"}),
	}
	registry := prometheus.NewRegistry()
	here := prometheus.WrapRegistererWith(prometheus.Labels{"worker": o.Worker, "process": strconv.Itoa(o.Process)}, registry)
	here.MustRegister(m.decisions, m.waits, m.calls, moment{m})
	if !o.Part {
		here.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{PidFn: func() (int, error) { return o.Process, nil }}))
	}
	m.registry = registry

	subscription := o.Gate.Subscribe()
	m.running.Go(func() { m.follow(subscription) })
	return m
}

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.With(nil).ServeHTTP(w, r)
}

// With answers scrapes with what others in this process count too. more may be nil.
func (m *Metrics) With(more prometheus.GathererFunc) http.Handler {
	all := prometheus.Gatherers{m.registry}
	if more != nil {
		all = append(all, more)
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Gather implements prometheus.Gatherer.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) { return m.registry.Gather() }

// Close ends the counting and waits for it.
func (m *Metrics) Close() {
	m.closing.Do(func() { close(m.close) })
	m.running.Wait()
}

// follow counts events. Events that are lost because counting is too slow stay uncounted.
func (m *Metrics) follow(s gate.Subscription) {
	for {
		select {
		case <-m.close:
			s.Close()
			return
		case e, ok := <-s.Events:
			if ok {
				m.count(e)
				continue
			}
		}
		select {
		case <-m.close:
			return
		case <-time.After(time.Second):
			clear(m.asked) // what still waits comes again, and what ended meanwhile does not
			s = m.o.Gate.Subscribe()
		}
	}
}

func (m *Metrics) count(e gate.Event) {
	switch e := e.(type) {
	case gate.Recorded:
		switch r := &e.Record; r.Event {
		case audit.Decision:
			m.decisions.WithLabelValues(r.Decision, r.Risk).Inc()
		case audit.Outcome:
			outcome := "ok"
			if r.IsError || r.Error != "" {
				outcome = "error"
			}
			m.calls.WithLabelValues(outcome).Observe(r.Duration / 1000)
		}
	case gate.Asked:
		m.asked[e.Approval.ID] = e.Approval.CreatedAt
	case gate.Resolved:
		if since, ok := m.asked[e.ID]; ok {
			delete(m.asked, e.ID)
			m.waits.WithLabelValues(e.Decision).Observe(time.Since(since).Seconds())
		}
	}
}
