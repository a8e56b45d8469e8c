// Package metrics counts what happens at the gate, for Prometheus.
//
// No label holds anything that a model or server says. Labels are decisions, risk classes, and the names of servers and
// hooks in the configuration, so their number is bounded.
package metrics

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/exposition"
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
	o       Options
	close   chan struct{}
	closing sync.Once
	running sync.WaitGroup
	asked   map[string]time.Time // approvals that wait, by id; only follow touches it

	mu        sync.Mutex // guards what is below
	decisions map[decision]int
	waits     sized
	calls     sized
}

type decision struct{ decision, risk string }

// sized are histograms by the label that tells them apart.
type sized struct {
	bounds []float64
	by     map[string]*exposition.Histogram
}

func (s sized) observe(label string, value float64) {
	if s.by[label] == nil {
		s.by[label] = exposition.NewHistogram(s.bounds)
	}
	s.by[label].Observe(value)
}

// waitBuckets reach from a machine's answer to a person's, in seconds.
var waitBuckets = []float64{0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 900, 3600}

// callBuckets reach from a look at a file to a long build, in seconds.
var callBuckets = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300}

// New begins to count. No session may be open yet, or its past is missing.
func New(o Options) *Metrics {
	m := &Metrics{
		o: o, close: make(chan struct{}), asked: map[string]time.Time{}, decisions: map[decision]int{},
		waits: sized{waitBuckets, map[string]*exposition.Histogram{}}, calls: sized{callBuckets, map[string]*exposition.Histogram{}},
	}
	subscription := o.Gate.Subscribe()
	m.running.Go(func() { m.follow(subscription) })
	return m
}

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.Page().Answer(w, r)
}

// With answers scrapes with what others in this process count too.
func (m *Metrics) With(more func() exposition.Page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := m.Page()
		page.Merge(more())
		page.Answer(w, r)
	})
}

// Page is what is counted.
func (m *Metrics) Page() exposition.Page {
	page := exposition.Page{}
	w := page.With("worker", m.o.Worker, "process", strconv.Itoa(m.o.Process))
	m.counted(w)
	m.moment(w)
	if !m.o.Part {
		goRuntime(w)
		process(w)
	}
	return page
}

// counted writes what events add up to.
func (m *Metrics) counted(w exposition.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	order := func(a, b decision) int {
		return cmp.Or(cmp.Compare(a.decision, b.decision), cmp.Compare(a.risk, b.risk))
	}
	for _, d := range slices.SortedFunc(maps.Keys(m.decisions), order) {
		w.Counter("callgate_decisions_total", "Decisions about calls, as the audit trail words them, by class of risk.",
			float64(m.decisions[d]), "decision", d.decision, "risk", d.risk)
	}
	for _, decision := range slices.Sorted(maps.Keys(m.waits.by)) {
		w.Histogram("callgate_approval_wait_seconds", "How long approvals waited, by how they ended.", m.waits.by[decision], "decision", decision)
	}
	for _, outcome := range slices.Sorted(maps.Keys(m.calls.by)) {
		w.Histogram("callgate_call_duration_seconds", "How long forwarded calls ran, by how they ended.", m.calls.by[outcome], "outcome", outcome)
	}
}

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
			s = m.o.Gate.Subscribe()
		}
	}
}

func (m *Metrics) count(e gate.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e := e.(type) {
	case gate.Recorded:
		switch r := &e.Record; r.Event {
		case audit.Decision:
			m.decisions[decision{r.Decision, r.Risk}]++
		case audit.Outcome:
			outcome := "ok"
			if r.IsError || r.Error != "" {
				outcome = "error"
			}
			m.calls.observe(outcome, r.Duration/1000)
		}
	case gate.Asked:
		m.asked[e.Approval.ID] = e.Approval.CreatedAt
	case gate.Resolved:
		if since, ok := m.asked[e.ID]; ok {
			delete(m.asked, e.ID)
			m.waits.observe(e.Decision, time.Since(since).Seconds())
		}
	}
}
