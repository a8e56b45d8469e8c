// Package telemetry holds what callgate sends to Prometheus and OpenTelemetry against their own code, which callgate does
// without.
package telemetry

import (
	"bytes"
	"encoding/hex"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/exposition"
	"callgate/internal/metrics"
	"callgate/internal/traces"
	"callgate/permissions"
)

// TestSpans decodes spans with the official definitions and encodes them again: that gives the same bytes, so no field is
// unknown, or of another type.
func TestSpans(t *testing.T) {
	bodies := make(chan []byte, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		bodies <- body
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=a%20b")
	tracer, err := traces.New(traces.Options{Version: "1.2", Worker: "", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	before := time.Now()
	call := tracer.Begin(map[string]string{"traceparent": "00-" + trace + "-" + parent + "-03", "tracestate": "a=1"}, traces.About{Method: "tools/call", Tool: "ä\xff", Server: "s"})
	call.Deciding()("asked", "low")
	_, forwarded := call.Forwarding("do")
	forwarded()
	call.Failed("tool_error")
	call.End()
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	body := <-bodies
	var request tracev1.TracesData // on the wire the same as ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &request); err != nil {
		t.Fatal(err)
	}
	if again, err := (proto.MarshalOptions{Deterministic: true}).Marshal(&request); err != nil || !bytes.Equal(again, body) {
		t.Errorf("encoded again it is\n%q, was\n%q: %v", again, body, err)
	}
	about := map[string]string{}
	for _, a := range request.ResourceSpans[0].Resource.Attributes {
		about[a.Key] = a.Value.GetStringValue()
	}
	if about["service.name"] != "callgate" || about["service.version"] != "1.2" || about["deployment.environment.name"] != "a b" {
		t.Errorf("the resource is %v", about)
	}
	scope := request.ResourceSpans[0].ScopeSpans[0]
	if scope.Scope.Name != "callgate" || scope.Scope.Version != "1.2" || len(scope.Spans) != 3 {
		t.Fatalf("%v", scope)
	}
	decide, client, span := scope.Spans[0], scope.Spans[1], scope.Spans[2]
	if hex.EncodeToString(span.TraceId) != trace || hex.EncodeToString(span.ParentSpanId) != parent || span.TraceState != "a=1" ||
		span.Name != "tools/call ä\uFFFD" || span.Kind != tracev1.Span_SPAN_KIND_SERVER || span.Status.GetCode() != tracev1.Status_STATUS_CODE_ERROR ||
		span.Flags != uint32(tracev1.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK|tracev1.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)|3 ||
		span.StartTimeUnixNano < uint64(before.UnixNano()) || span.EndTimeUnixNano < span.StartTimeUnixNano || len(span.Attributes) != 8 {
		t.Errorf("the call is %v", span)
	}
	if !bytes.Equal(decide.ParentSpanId, span.SpanId) || decide.Kind != tracev1.Span_SPAN_KIND_INTERNAL || decide.Status.GetCode() != tracev1.Status_STATUS_CODE_UNSET ||
		decide.Flags != uint32(tracev1.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)|3 || client.Kind != tracev1.Span_SPAN_KIND_CLIENT {
		t.Errorf("within it are %v and %v", decide, client)
	}
}

// families reads a page as Prometheus does.
func families(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	all, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestMetrics holds the page against Prometheus' parser and linter, and what it says of the process against the collectors
// of its library.
func TestMetrics(t *testing.T) {
	runtime.GC() // what nothing was collected for is zero, and may not be a moment later
	dir := t.TempDir()
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	g := gate.New(gate.Options{Audit: log, Store: permissions.OpenStore(filepath.Join(dir, "p.jsonc"), permissions.StoreOptions{})})
	defer g.Close()
	m := metrics.New(metrics.Options{
		Gate: g, Worker: "w\n\"\\", Process: os.Getpid(), Version: "1", Audit: log,
		Upstreams: func() []metrics.Upstream { return []metrics.Upstream{{Name: "files", Up: true, Tools: 7}} },
		Exports:   func() []metrics.Export { return []metrics.Export{{Name: "siem", Sent: 5, Behind: 100}} },
		Config:    func() metrics.Config { return metrics.Config{Taken: 2, Refused: 1, Waiting: 3} },
		Cluster: func() metrics.Cluster {
			return metrics.Cluster{Up: 2, Silent: 1, Fresh: true, Pending: 4, Behind: time.Second}
		},
	})
	defer m.Close()
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	text := answer.Body.String()
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if err != nil {
		t.Error(err)
	}
	ours := families(t, text)
	for name, f := range ours {
		labels := map[string]string{}
		for _, l := range f.Metric[0].Label {
			labels[l.GetName()] = l.GetValue()
		}
		if labels["worker"] != "w\n\"\\" {
			t.Errorf("%s is of worker %q", name, labels["worker"])
		}
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	theirs, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range theirs {
		our := ours[f.GetName()]
		if our == nil || our.GetType() != f.GetType() || our.GetHelp() != f.GetHelp() || len(our.Metric) != len(f.Metric) ||
			len(our.Metric[0].GetSummary().GetQuantile()) != len(f.Metric[0].GetSummary().GetQuantile()) {
			t.Errorf("%v, want %v", our, f)
			continue
		}
		near(t, f.GetName(), number(our), number(f))
		delete(ours, f.GetName())
	}
	for name := range ours {
		if !strings.HasPrefix(name, "callgate_") {
			t.Errorf("%s is no metric of the library", name)
		}
	}
}

func number(f *dto.MetricFamily) float64 {
	m := f.Metric[0]
	return m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetSummary().GetSampleSum()
}

// near compares two readings of one thing, a moment apart. What is used changes, so only its size counts.
func near(t *testing.T, name string, ours, theirs float64) {
	t.Helper()
	constant := []string{"process_start_time_seconds", "process_max_fds", "process_virtual_memory_max_bytes", "go_info", "go_gc_gogc_percent", "go_gc_gomemlimit_bytes", "go_sched_gomaxprocs_threads"}
	if slices.Contains(constant, name) && runtime.GOOS == "linux" {
		if ours != theirs {
			t.Errorf("%s is %v, want %v", name, ours, theirs)
		}
	} else if low, high := min(ours, theirs), max(ours, theirs); high > 1000 && high > 100*low || low < 0 {
		t.Errorf("%s is %v, want about %v", name, ours, theirs)
	}
}

// TestTypes writes one of each type, and reads it as Prometheus does.
func TestTypes(t *testing.T) {
	p := exposition.Page{}
	h := exposition.NewHistogram([]float64{0.5, 1})
	for _, value := range []float64{0.5, 0.6, 7} {
		h.Observe(value)
	}
	w := p.With("a", "b\\\n\"")
	w.Histogram("sizes", "Of \\ two\nlines.", h, "z", "1")
	w.Counter("things_total", "Things.", 1e21)
	w.Gauge("now", "Now.", -0.25)
	var b strings.Builder
	if _, err := p.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	read := families(t, b.String())
	if got := slices.Sorted(maps.Keys(read)); !slices.Equal(got, []string{"now", "sizes", "things_total"}) {
		t.Errorf("%v", got)
	}
	if sizes := read["sizes"]; sizes.GetHelp() != "Of \\ two\nlines." || sizes.GetType() != dto.MetricType_HISTOGRAM {
		t.Errorf("%v", sizes)
	}
	want := []struct {
		bound float64
		count uint64
	}{{0.5, 1}, {1, 2}, {0, 3}}
	for i, bucket := range read["sizes"].Metric[0].Histogram.Bucket {
		if bucket.GetCumulativeCount() != want[i].count || i < 2 && bucket.GetUpperBound() != want[i].bound {
			t.Errorf("bucket %d is %v", i, bucket)
		}
	}
	if h := read["sizes"].Metric[0].Histogram; h.GetSampleCount() != 3 || h.GetSampleSum() != 8.1 || read["sizes"].Metric[0].Label[0].GetValue() != "b\\\n\"" {
		t.Errorf("%v", read["sizes"])
	}
	if read["things_total"].Metric[0].Counter.GetValue() != 1e21 || read["now"].Metric[0].Gauge.GetValue() != -0.25 {
		t.Errorf("%v", read)
	}
}
