package traces

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/testserver/spans"
)

// tracer returns a Tracer and a collector, configured by env.
func tracer(t *testing.T, env map[string]string) (*Tracer, *spans.Collector) {
	t.Helper()
	got := &spans.Collector{}
	server := httptest.NewServer(got)
	t.Cleanup(server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	for name, value := range env {
		t.Setenv(name, value)
	}
	traces, err := New(Options{Version: "1", Worker: "w", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return traces, got
}

// one makes one call within the host's trace.
func one(t *testing.T, traces *Tracer, carried map[string]string) (onward map[string]string) {
	t.Helper()
	c := traces.Begin(carried, About{Method: "tools/call", Tool: "s_do", Server: "s", Session: "1"})
	for _, decision := range []string{"asked", "approved"} {
		c.Deciding()(decision, "low")
	}
	onward, forwarded := c.Forwarding("do")
	forwarded()
	c.Failed("tool_error")
	c.End()
	c.End() // nothing is sent twice
	return onward
}

const (
	trace  = "0af7651916cd43dd8448eb211c80319c"
	parent = "b7ad6b7169203331"
)

// TestCall follows one call from the host to the server.
func TestCall(t *testing.T) {
	traces, got := tracer(t, map[string]string{"OTEL_SERVICE_NAME": "renamed", "OTEL_RESOURCE_ATTRIBUTES": "a=b%20c, d = e"})
	onward := one(t, traces, map[string]string{"traceparent": "00-" + trace + "-" + parent + "-03", "tracestate": "a=1 ,b@c=2"})
	if err := traces.Close(); err != nil {
		t.Fatal(err)
	}
	named := got.Named("")
	call, decide, client := named["tools/call s_do"], named["decide"], named["tools/call do"]
	if len(named) != 3 || call.Trace != trace || call.Parent != parent || call.State != "a=1,b@c=2" || call.Kind != spans.Server ||
		decide.Trace != trace || decide.Parent != call.ID || client.Parent != call.ID || client.Kind != spans.Client || client.ID == decide.ID {
		t.Errorf("the spans are %+v", named)
	}
	if a := call.Attributes; len(a) != 8 || a["callgate.decision"] != "approved" || a["error.type"] != "tool_error" || a["mcp.session.id"] != "1" {
		t.Errorf("the call is %v", a)
	}
	if want := "00-" + trace + "-" + client.ID + "-03"; onward["traceparent"] != want || onward["tracestate"] != "a=1,b@c=2" {
		t.Errorf("the server got %v", onward)
	}
	for _, text := range []string{"renamed", "b c", "\x01d", "callgate"} {
		if !strings.Contains(got.Raw(), text) {
			t.Errorf("what was sent lacks %q", text)
		}
	}
}

// TestCarried reads what hosts carry, including invalid traces.
func TestCarried(t *testing.T) {
	const good = "00-" + trace + "-" + parent + "-01"
	long := strings.Repeat("a=1,", 40)
	for _, c := range []struct {
		name, parent, state string
		wrong               bool
		kept                string
	}{
		{name: "good", parent: good, state: "a=1", kept: "a=1"},
		{name: "nothing", wrong: true},
		{name: "a version of tomorrow", parent: "cc-" + trace + "-" + parent + "-01-more"},
		{name: "version ff", parent: "ff-" + trace + "-" + parent + "-01", wrong: true},
		{name: "more than version 00 has", parent: good + "-more", wrong: true},
		{name: "flags of tomorrow", parent: "00-" + trace + "-" + parent + "-04", wrong: true},
		{name: "capitals", parent: strings.ToUpper(good), wrong: true},
		{name: "no trace", parent: "00-" + strings.Repeat("0", 32) + "-" + parent + "-01", wrong: true},
		{name: "no span", parent: "00-" + trace + "-" + strings.Repeat("0", 16) + "-01", wrong: true},
		{name: "too short", parent: good[:54], wrong: true},
		{name: "empty members", parent: good, state: ",a=1,, b=2 ", kept: "a=1,b=2"},
		{name: "a key twice", parent: good, state: "a=1,a=2"},
		{name: "too many", parent: good, state: long},
		{name: "no value", parent: good, state: "a"},
		{name: "another line", parent: good, state: "a=1\nb"},
		{name: "a capital", parent: good, state: "A=1"},
	} {
		p, ok := carriedPlace(map[string]string{"traceparent": c.parent, "tracestate": c.state})
		if ok == c.wrong || p.state != c.kept {
			t.Errorf("%s: %+v, %v", c.name, p, ok)
		}
	}
}

// TestSampling checks that environment and host decide what is recorded, and that unrecorded traces are passed on.
func TestSampling(t *testing.T) {
	const off = "00-" + trace + "-" + parent + "-00"
	const on = "00-" + trace + "-" + parent + "-01"
	for _, c := range []struct {
		sampler, arg, carried string
		recorded              bool
	}{
		{"", "", "", true},
		{"", "", off, false},
		{"", "", on, true},
		{"always_on", "", off, true},
		{"always_off", "", on, false},
		{"parentbased_always_off", "", "", false},
		{"parentbased_always_off", "", on, true},
		{"traceidratio", "0", on, false},
		{"traceidratio", "0.6", on, true}, // the second half of the trace ID is 0.516… of its maximum
		{"traceidratio", "0.5", on, false},
		{"traceidratio", "1", off, true},
		{"traceidratio", "NaN", off, true},
		{"parentbased_traceidratio", "0", "", false},
		{"parentbased_traceidratio", "0", on, true},
		{"jaeger_remote", "", off, false},
	} {
		traces, got := tracer(t, map[string]string{"OTEL_TRACES_SAMPLER": c.sampler, "OTEL_TRACES_SAMPLER_ARG": c.arg})
		carried := map[string]string{}
		if c.carried != "" {
			carried["traceparent"] = c.carried
		}
		onward := one(t, traces, carried)
		if err := traces.Close(); err != nil {
			t.Fatal(err)
		}
		if n, ends := len(got.Named("")), strings.HasSuffix(onward["traceparent"], "-01"); n != map[bool]int{true: 3}[c.recorded] || ends != c.recorded {
			t.Errorf("%s %s %s: %d spans, %v", c.sampler, c.arg, c.carried, n, onward)
		}
	}
}

// TestBounds checks the limits of a span from the environment.
func TestBounds(t *testing.T) {
	traces, got := tracer(t, map[string]string{"OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "2", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "5"})
	c := traces.Begin(nil, About{Method: "töols/call", Tool: "t", Session: "123456"})
	c.End()
	if err := traces.Close(); err != nil {
		t.Fatal(err)
	}
	if a := got.Named("")["töols/call t"].Attributes; len(a) != 2 || a["mcp.method.name"] != "töols" || a["mcp.session.id"] != "12345" {
		t.Errorf("%v", a)
	}
}

// TestBatches checks that batches are exported by size, by time and at the end, and that excess is dropped.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // time that passes orders nothing
		var got []int
		var log bytes.Buffer
		var stuck chan struct{}
		b := batcher{
			limits: limits{delay: 5 * time.Second, timeout: time.Minute, queued: 4, most: 2}, log: slog.New(slog.NewTextHandler(&log, nil)),
			export: func(ctx context.Context, spans [][]byte) error {
				if stuck != nil {
					select {
					case <-stuck:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				mu.Lock()
				defer mu.Unlock()
				got = append(got, len(spans))
				return nil
			},
		}
		b.start()
		add := func(n int) {
			for range n {
				b.add([]byte("span"))
			}
			synctest.Wait()
		}
		sent := func(what string, want ...int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if len(got) != len(want) || len(want) > 0 && got[len(got)-1] != want[len(want)-1] {
				t.Errorf("%s: %v, want %v", what, got, want)
			}
			got = nil
		}
		add(3)
		sent("as many as a batch has", 2)
		time.Sleep(4 * time.Second)
		sent("before its time")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		sent("after its time", 1)
		stuck = make(chan struct{})
		add(2) // these are being exported
		add(6)
		close(stuck)
		synctest.Wait()
		sent("after the collector was stuck", 2, 2, 2)
		if !strings.Contains(log.String(), "spans=2") {
			t.Errorf("the log says %s", &log)
		}
		stuck = nil
		add(1)
		if err := b.close(time.Second); err != nil {
			t.Error(err)
		}
		sent("at the end", 1)

		b.start()
		stuck = make(chan struct{})
		add(1)
		if err := b.close(time.Second); err == nil || !strings.Contains(log.String(), context.Canceled.Error()) {
			t.Errorf("%v: %s", err, &log)
		}
		b.export = func(context.Context, [][]byte) error { return errors.New("refused") }
		b.start()
		add(2)
		if err := b.close(time.Second); err != nil || !strings.Contains(log.String(), "refused") {
			t.Errorf("%v: %s", err, &log)
		}
	})
}
