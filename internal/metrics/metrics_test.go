package metrics

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/hooks"
	"callgate/internal/testserver/waits"
	"callgate/permissions/store"
)

// world returns a counted gate with a webhook that nobody listens to.
func world(t *testing.T) (*gate.Gate, *Metrics) {
	t.Helper()
	dir := t.TempDir()
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	r, err := hooks.New(hooks.Options{
		StateFile: filepath.Join(dir, "hooks.json"), QueueDir: filepath.Join(dir, "webhooks"),
		Hooks: []hooks.Config{{Name: "feed", Event: []string{hooks.ToolCompleted}, Action: hooks.Action{URL: "http://127.0.0.1:1/", AllowPrivate: true}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Start(slog.New(slog.DiscardHandler))
	t.Cleanup(r.Close)
	r.Fire(hooks.Event{Name: hooks.ToolCompleted})
	g := gate.New(gate.Options{Audit: log, Store: store.Open(filepath.Join(dir, "p.jsonc"), store.Options{})})
	t.Cleanup(g.Close)
	m := New(Options{
		Gate: g, Worker: "w", Process: os.Getpid(), Version: "1", Audit: log, Hooks: r,
		Upstreams: func() []Upstream { return []Upstream{{Name: "files", Up: true, Tools: 7}, {Name: "dead"}} },
		Exports:   func() []Export { return []Export{{"siem", 5, 100}} },
		Config:    func() Config { return Config{Taken: 2, Refused: 1, Waiting: 3} },
		Cluster:   func() Cluster { return Cluster{Up: 2, Silent: 1, Fresh: true, Pending: 4, Behind: time.Second} },
	})
	t.Cleanup(m.Close)
	return g, m
}

// scrape returns what a scraper reads, parsed by the scraper's own parser.
func scrape(t *testing.T, m *Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.Code != 200 {
		t.Fatalf("%d %s: %v", answer.Code, text, err)
	}
	problems, err := promlint.New(strings.NewReader(string(text))).Lint()
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, parseErr := parser.TextToMetricFamilies(strings.NewReader(string(text)))
	if err != nil || parseErr != nil {
		t.Fatal(err, parseErr)
	}
	return families
}

// value returns the series of a family that has the labels.
func value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels map[string]string) *dto.Metric {
	t.Helper()
	for _, metric := range families[name].GetMetric() {
		has := map[string]string{}
		for _, l := range metric.Label {
			has[l.GetName()] = l.GetValue()
		}
		if has["worker"] != "w" {
			t.Errorf("%s is of worker %q", name, has["worker"])
		}
		if !slices.ContainsFunc(keys(labels), func(k string) bool { return has[k] != labels[k] }) {
			return metric
		}
	}
	t.Fatalf("%s%v is not there: %v", name, labels, families[name])
	return nil
}

func keys(m map[string]string) (list []string) {
	for k := range m {
		list = append(list, k)
	}
	return list
}

// happen causes one of each counted event.
func happen(t *testing.T, g *gate.Gate, m *Metrics) {
	t.Helper()
	s, err := g.OpenSession("", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	g.Refuse(s, gate.Call{ID: "1", SessionID: s.ID()}, "it is malformed")
	for _, e := range []gate.Event{
		gate.Recorded{Record: audit.Record{Event: audit.Outcome, Duration: 20}},
		gate.Recorded{Record: audit.Record{Event: audit.Outcome, Duration: 3000, IsError: true}},
		gate.Asked{Approval: &gate.Approval{ID: "a", CreatedAt: time.Now().Add(-4 * time.Second)}},
		gate.Resolved{ID: "a", Decision: "approve"},
		gate.Resolved{ID: "of another time", Decision: "approve"},
	} {
		m.count(e)
	}
}

func TestMetrics(t *testing.T) {
	g, m := world(t)
	m.Close() // counted by hand from here on
	happen(t, g, m)
	m.count(gate.Recorded{Record: audit.Record{Event: audit.Decision, Decision: "denied", Risk: "UNKNOWN"}})
	families := scrape(t, m)
	if got := value(t, families, "callgate_decisions_total", map[string]string{"decision": "denied", "risk": "UNKNOWN"}).Counter.GetValue(); got != 1 {
		t.Errorf("%v decisions", got)
	}
	if h := value(t, families, "callgate_call_duration_seconds", map[string]string{"outcome": "error"}).Histogram; h.GetSampleCount() != 1 || h.GetSampleSum() != 3 {
		t.Errorf("%v", h)
	}
	if h := value(t, families, "callgate_approval_wait_seconds", map[string]string{"decision": "approve"}).Histogram; h.GetSampleCount() != 1 || h.GetSampleSum() < 4 || h.GetSampleSum() > 60 {
		t.Errorf("%v", h)
	}
	for name, want := range map[string]float64{"callgate_sessions": 1, "callgate_pending_approvals": 0} {
		if got := value(t, families, name, nil).Gauge.GetValue(); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
	if up, dead := value(t, families, "callgate_upstream_up", map[string]string{"upstream": "files"}), value(t, families, "callgate_upstream_up", map[string]string{"upstream": "dead"}); up.Gauge.GetValue() != 1 || dead.Gauge.GetValue() != 0 {
		t.Errorf("%v %v", up, dead)
	}
}

// TestMetricsFollowTheGate checks that events which the gate publishes are counted.
func TestMetricsFollowTheGate(t *testing.T) {
	g, m := world(t)
	happen(t, g, m)
	for deadline := time.Now().Add(waits.Limit); ; time.Sleep(5 * time.Millisecond) {
		if scrape(t, m)["callgate_decisions_total"] != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the decision was not counted")
		}
	}
}

var metricName = regexp.MustCompile(`callgate_[a-z_]+`)

// TestDashboard checks that the dashboard uses exactly the metrics that exist.
func TestDashboard(t *testing.T) {
	g, m := world(t)
	happen(t, g, m)
	m.count(gate.Recorded{Record: audit.Record{Event: audit.Decision, Decision: "denied", Risk: "UNKNOWN"}})
	families := scrape(t, m)
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "grafana.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Query string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	look := func(where, expr string) {
		names := metricName.FindAllString(expr, -1)
		if len(names) == 0 {
			t.Errorf("%s asks for nothing: %s", where, expr)
		}
		for _, name := range names {
			family := name
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if base, ok := strings.CutSuffix(name, suffix); ok && families[base].GetType() == dto.MetricType_HISTOGRAM {
					family = base
				}
			}
			if families[family] == nil {
				t.Errorf("%s asks for %s, which does not exist", where, name)
			}
			asked[family] = true
		}
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			look(panel.Title, target.Expr)
		}
	}
	look("the list of workers", dashboard.Templating.List[1].Query)
	for name := range families {
		if strings.HasPrefix(name, "callgate_") && !asked[name] {
			t.Errorf("%s is on no panel", name)
		}
	}
}

// TestAnApprovalWhoseEndIsLostIsForgotten checks that nothing is left of an approval whose end was lost.
func TestAnApprovalWhoseEndIsLostIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan gate.Event)
		g := gate.New(gate.Options{})
		defer g.Close()
		m := &Metrics{o: Options{Gate: g}, close: make(chan struct{}), asked: map[string]time.Time{}}
		m.running.Go(func() { m.follow(gate.NewSubscription(events, func() {})) })
		events <- gate.Asked{Approval: &gate.Approval{ID: "a", CreatedAt: time.Now()}}
		close(events)
		time.Sleep(time.Minute)
		m.Close()
		if len(m.asked) != 0 {
			t.Errorf("it is kept: %v", m.asked)
		}
	})
}
