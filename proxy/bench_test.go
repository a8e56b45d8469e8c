package proxy

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/hooks"
	"callgate/internal/metrics"
	"callgate/internal/traces"
)

// BenchmarkCall measures one allowed call, from the host's pipe through the gate, with its record, to a server in
// another process and back. The time includes the server's process; the allocations do not.
func BenchmarkCall(b *testing.B) {
	noise := make([]byte, 75<<10)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for _, c := range []struct{ name, text string }{
		{"small", "hello"},
		{"100KiB/one word", strings.Repeat("x", 100<<10)},
		{"100KiB/prose", strings.Repeat("They ask for the key of Mike's desk, and you say: it is at the usual place. ", 1350)},
		{"100KiB/base64", base64.StdEncoding.EncodeToString(noise)},
	} {
		b.Run(c.name, func(b *testing.B) {
			benchCalls(b, newWorld(b, `{ "*": "allow" }`, false, []string{"s"}, script{Lists: map[string]string{"tools/list": oneTool}}), c.text)
		})
	}
}

// benchCalls makes calls with the text.
func benchCalls(b *testing.B, w *world, text string) {
	h := w.connect()
	h.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":` + helloParams + `}`)
	h.read()
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_do","arguments":{"text":"%s"}}}`, text)
	call := func() {
		h.send(line)
		for {
			answer, err := h.out.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if len(answer) > len(text) && answer[0] == '{' {
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

// BenchmarkAround measures a call with each of the things that can be done around it, alone: compare with "nothing".
// Hooks run beside the calls, except for a hook that decides, which is a process that the call waits for.
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
			benchCalls(b, w, "hello")
		})
	}
}
