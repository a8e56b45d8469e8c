package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"callgate/internal/traces"
)

func TestCarrying(t *testing.T) {
	trace := map[string]string{"traceparent": "00-aa-bb-01"}
	for _, c := range []struct {
		name, params string
		trace        map[string]string
		want         string
	}{
		{"no trace", `{ "name" : "do" }`, nil, `{ "name" : "do" }`},
		{"no _meta", `{ "name":"do" }`, trace, `{"_meta":{"traceparent":"00-aa-bb-01"}, "name":"do" }`},
		{"empty _meta", `{"name":"do","_meta":{ }}`, trace, `{"name":"do","_meta":{"traceparent":"00-aa-bb-01" }}`},
		{"others stay", `{"_meta":{"n":1.0 ,"progressToken":7},"name":"do"}`, trace, `{"_meta":{"traceparent":"00-aa-bb-01","n":1.0 ,"progressToken":7},"name":"do"}`},
		{"the host's is replaced", `{"_meta":{"traceparent":"00-cc-dd-00","tracestate":"a=b","n":1}}`, trace, `{"_meta":{"traceparent":"00-aa-bb-01","n":1}}`},
		{
			"with its state", `{"_meta":{"tracestate":"a=b"}}`, map[string]string{"traceparent": "p", "tracestate": "a=b"},
			`{"_meta":{"tracestate":"a=b","traceparent":"p"}}`,
		},
		{"no place", `{"_meta":[1]}`, trace, `{"_meta":[1]}`},
	} {
		if got := string(carrying([]byte(c.params), c.trace)); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// spans is a collector of OpenTelemetry, over HTTP.
type spans struct {
	mu    sync.Mutex
	named map[string]*tracev1.Span
	raw   strings.Builder
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(body)
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				s.named[span.Name] = span
			}
		}
	}
}

func attribute(s *tracev1.Span, key string) string {
	for _, a := range s.GetAttributes() {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// A call is a span below the host's, the decision and the server's part are spans below it, and the server gets
// the trace. Nothing of what the call holds leaves.
func TestTraces(t *testing.T) {
	got := &spans{named: map[string]*tracev1.Span{}}
	collector := httptest.NewServer(got)
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracer, err := traces.New(context.Background(), traces.Options{Version: "test", Worker: "default", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, `{ "*": "allow" }`, false, []string{"s"}, script{Lists: map[string]string{"tools/list": oneTool}})
	w.proxy.o.Tracer = tracer
	h := w.connect().collect()
	h.greet(helloParams)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_do","arguments":{"do":"","text":"PRIVATE"},"_meta":{"traceparent":"00-%s-%s-01","tracestate":"vendor=1","n":9007199254740993}}}`, trace, parent))
	if _, isError := h.text("1"); isError {
		t.Fatal("the call failed")
	}
	h.calls("2", "s_do", `{"do":"received"}`)
	text, _ := h.text("2")
	var forwarded struct {
		Params struct {
			Meta struct {
				Traceparent, Tracestate string
				N                       json.Number
			} `json:"_meta"`
		}
	}
	if err := json.Unmarshal([]byte(text), &forwarded); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	h.close()
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}

	got.mu.Lock()
	defer got.mu.Unlock()
	call, decide, client := got.named["tools/call s_do"], got.named["decide"], got.named["tools/call do"]
	if call == nil || decide == nil || client == nil {
		t.Fatalf("the spans are %v", got.named)
	}
	meta := forwarded.Params.Meta
	if meta.Tracestate != "vendor=1" || meta.N != "9007199254740993" || !strings.HasPrefix(meta.Traceparent, "00-"+trace+"-") || strings.Contains(meta.Traceparent, parent) {
		t.Errorf("the server got %+v", meta)
	}
	if attribute(call, "callgate.decision") != "auto_approved" || attribute(call, "callgate.risk") == "" || attribute(call, "gen_ai.tool.name") != "s_do" {
		t.Errorf("the span of the call is %v", call)
	}
	if strings.Contains(got.raw.String(), "PRIVATE") {
		t.Error("an argument left in a span")
	}
}

// Without a tracer the trace of the host goes through as it came.
func TestTracesOff(t *testing.T) {
	w := newWorld(t, `{ "*": "allow" }`, false, []string{"s"}, script{Lists: map[string]string{"tools/list": oneTool}})
	h := w.connect().collect()
	h.greet(helloParams)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s_do","arguments":{},"_meta":{ "traceparent":"00-x" }}}`)
	h.text("1")
	h.calls("2", "s_do", `{"do":"received"}`)
	if text, _ := h.text("2"); !strings.Contains(text, `"_meta":{ "traceparent":"00-x" }`) {
		t.Errorf("the server got %s", text)
	}
}
