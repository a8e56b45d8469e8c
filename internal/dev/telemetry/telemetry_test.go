// Package telemetry checks what callgate sends to OpenTelemetry against OpenTelemetry's own definitions, which callgate
// itself does not use.
package telemetry

import (
	"bytes"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"callgate/internal/traces"
)

// TestSpans decodes spans with the official definitions and encodes them again. The bytes are the same, so no field is
// unknown or of another type.
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
