package metrics

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/exposition"
	"callgate/internal/hooks"
	"callgate/internal/testserver/waits"
	"callgate/permissions"
)

// world is a gate that counts, with a webhook that nobody listens to.
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
	g := gate.New(gate.Options{Audit: log, Store: permissions.OpenStore(filepath.Join(dir, "p.jsonc"), permissions.StoreOptions{})})
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

// scrape returns what a scraper gets: families, and the value of each series by its text.
func scrape(t *testing.T, m *Metrics) (exposition.Page, map[string]float64) {
	t.Helper()
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	text := answer.Body.String()
	page, err := exposition.Parse([]byte(text))
	if err != nil || answer.Code != 200 {
		t.Fatalf("%d %s: %v", answer.Code, text, err)
	}
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !strings.Contains(series, `worker="w"`) {
			t.Errorf("%s is of another worker", line)
		}
		if values[series+"}"], err = strconv.ParseFloat(value, 64); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	return page, values
}

// happen lets one of everything happen that is counted.
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
	_, values := scrape(t, m)
	is := func(want float64, name string, labels ...string) {
		t.Helper()
		labels = append(labels, fmt.Sprintf("process=%q", strconv.Itoa(os.Getpid())), `worker="w"`)
		slices.Sort(labels)
		if series := name + "{" + strings.Join(labels, ",") + "}"; values[series] != want {
			t.Errorf("%s is %v", series, values[series])
		}
	}
	is(1, "callgate_decisions_total", `decision="denied"`, `risk="UNKNOWN"`)
	is(1, "callgate_call_duration_seconds_count", `outcome="error"`)
	is(3, "callgate_call_duration_seconds_sum", `outcome="error"`)
	is(1, "callgate_approval_wait_seconds_count", `decision="approve"`)
	is(1, "callgate_sessions")
	is(0, "callgate_pending_approvals")
	is(1, "callgate_upstream_up", `upstream="files"`)
	is(0, "callgate_upstream_up", `upstream="dead"`)
	is(7, "callgate_upstream_tools", `upstream="files"`)
	for _, name := range []string{"process_cpu_seconds_total", "process_start_time_seconds", "go_memstats_sys_bytes", "process_open_fds", "process_max_fds"} {
		if runtime.GOOS != "linux" && runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
			break
		}
		if series := fmt.Sprintf(`%s{process="%d",worker="w"}`, name, os.Getpid()); values[series] <= 0 {
			t.Errorf("%s is %v", series, values[series])
		}
	}
}

// What the gate really publishes is counted too.
func TestMetricsFollowTheGate(t *testing.T) {
	g, m := world(t)
	happen(t, g, m)
	for deadline := time.Now().Add(waits.Limit); ; time.Sleep(5 * time.Millisecond) {
		if families, _ := scrape(t, m); families["callgate_decisions_total"] != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the decision was not counted")
		}
	}
}

var metricName = regexp.MustCompile(`callgate_[a-z_]+`)

// Every metric that the dashboard asks for exists, and every one that exists is on it.
func TestDashboard(t *testing.T) {
	g, m := world(t)
	happen(t, g, m)
	m.count(gate.Recorded{Record: audit.Record{Event: audit.Decision, Decision: "denied", Risk: "UNKNOWN"}})
	families, _ := scrape(t, m)
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
				if base, ok := strings.CutSuffix(name, suffix); ok && families[base] != nil && families[base].Type == "histogram" {
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
