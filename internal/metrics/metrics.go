// Package metrics counts what happens at the gate, for Prometheus.
//
// No label contains text from a model or server. Labels are decisions, risk classes, and the names of servers and hooks
// in the configuration, so their number is bounded.
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

// Options configures Metrics. Gate is required. A nil function reports nothing.
type Options struct {
	Gate      *gate.Gate
	Worker    string
	Secondary bool // another Metrics in this process counts what belongs to the whole process
	Process   int  // the ID of this process
	Version   string
	Audit     *audit.Log
	Hooks     *hooks.Runner
	Upstreams func() []Upstream
	Cluster   func() Cluster // nil without a cluster
	Config    func() Config
	Exports   func() []Export
}

// Cluster is the state of a cluster as one replica sees it.
type Cluster struct {
	Up, Silent int // replicas
	Pending    int // approvals in the whole cluster
	Fresh      bool
	Behind     time.Duration // of the cluster's audit trail
}

// Export is how much of the audit trail this process has sent to one receiver.
type Export struct {
	Name         string
	Sent, Behind int64 // records, and bytes
}

// Config counts the results of configuration changes.
type Config struct{ Taken, Refused, Waiting int64 }

// Upstream is the state of one configured server.
type Upstream struct {
	Name  string
	Up    bool
	Tools int
}

// Metrics counts events since New. The caller MUST call Close.
type Metrics struct {
	o        Options
	registry *prometheus.Registry
	close    chan struct{}
	closing  sync.Once
	running  sync.WaitGroup
	asked    map[string]time.Time // pending approvals by ID; only follow uses it

	decisions *prometheus.CounterVec
	waits     *prometheus.HistogramVec
	calls     *prometheus.HistogramVec
}

// waitBuckets range from a machine's answer to a person's, in seconds.
var waitBuckets = []float64{0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3600}

// callBuckets range from a look at a file to a long build, in seconds.
var callBuckets = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// New starts to count. Call it before any session is open, or earlier events are missing.
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
	if !o.Secondary {
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

// With returns a handler that answers scrapes with these metrics and those of more, which may be nil.
func (m *Metrics) With(more prometheus.GathererFunc) http.Handler {
	all := prometheus.Gatherers{m.registry}
	if more != nil {
		all = append(all, more)
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Gather implements prometheus.Gatherer.
func (m *Metrics) Gather() ([]*dto.MetricFamily, error) { return m.registry.Gather() }

// Close stops the counting and waits for its end.
func (m *Metrics) Close() {
	m.closing.Do(func() { close(m.close) })
	m.running.Wait()
}

// follow counts events. Events lost because counting is too slow stay uncounted.
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
			clear(m.asked) // pending ones come again, and ended ones do not
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
