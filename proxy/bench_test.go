package proxy

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/hooks"
	"callgate/internal/metrics"
	"callgate/internal/traces"
)

// BenchmarkCall is one allowed call from the host's pipe through the gate, on record, to a server in another
// process and back. What the server's process does is in the time and not in the allocations.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{5, 100 << 10} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			benchCalls(b, newWorld(b, `{ "*": "allow" }`, false, []string{"s"}, script{Lists: map[string]string{"tools/list": oneTool}}), size)
		})
	}
}

// benchCalls makes calls with a text of that size.
func benchCalls(b *testing.B, w *world, size int) {
	h := w.connect()
	h.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":` + helloParams + `}`)
	h.read()
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_do","arguments":{"text":"%s"}}}`, strings.Repeat("x", size))
	call := func() {
		h.send(line)
		for {
			answer, err := h.out.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if len(answer) > size && answer[0] == '{' {
				return
			}
		}
	}
	call()
	b.ReportAllocs()
	for b.Loop() {
		call()
	}
}

// BenchmarkAround is a call without and with what can be done around one, each alone: compare with "nothing".
// What hooks do themselves runs beside the calls; a hook that decides is in their way, and is a process.
func BenchmarkAround(b *testing.B) {
	action := hooks.Action{Message: "{{toolName}} {{args}}"}
	for _, c := range []struct {
		name  string
		hooks []hooks.Config
		more  func(b *testing.B, w *world)
	}{
		{name: "nothing"},
		{name: "hooks for other events", hooks: []hooks.Config{{Name: "h", Event: []string{hooks.SessionEnd}, Action: action}}},
		{name: "hooks for other tools", hooks: []hooks.Config{{Name: "h", Event: []string{hooks.ToolCompleted}, Matcher: "other_*", Action: action}}},
		{name: "a log line", hooks: []hooks.Config{{Name: "h", Event: []string{hooks.ToolCompleted}, Action: action}}},
		{name: "metrics", more: func(b *testing.B, w *world) {
			b.Cleanup(metrics.New(metrics.Options{Gate: w.gate, Worker: "default"}).Close)
		}},
		{name: "traces", more: func(b *testing.B, w *world) {
			collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
			b.Cleanup(collector.Close)
			b.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
			tracer, err := traces.New(traces.Options{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				b.Fatal(err)
			}
			w.proxy.tracer = tracer
		}},
		{name: "a hook that decides", hooks: []hooks.Config{{
			Name: "h", Event: []string{hooks.ToolRequested}, When: "before", Action: hooks.Action{Command: "true"},
		}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b, `{ "*": "allow" }`, false, []string{"s"}, script{Lists: map[string]string{"tools/list": oneTool}})
			r, err := hooks.New(hooks.Options{Hooks: c.hooks, StateFile: filepath.Join(b.TempDir(), "hooks.json")})
			if err != nil {
				b.Fatal(err)
			}
			r.Start(slog.New(slog.DiscardHandler))
			b.Cleanup(r.Close)
			w.proxy.o.Hooks = r
			if c.more != nil {
				c.more(b, w)
			}
			benchCalls(b, w, 5)
		})
	}
}
