// Package traces sends OpenTelemetry spans of calls.
//
// A call has a span, with one inside for its decision (the wait for a person included) and one for the server's part.
// Spans hold names, decisions and times, nothing of what calls hold. The exporter is OTLP over HTTP, set up by the
// standard OTEL_* variables.
package traces

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes spans. A nil Tracer makes none, and costs nothing.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	worker   string
}

// Options assemble a Tracer.
type Options struct {
	Version string
	Worker  string
	Logger  *slog.Logger // is told what cannot be exported
}

// New returns a Tracer that exports where OTEL_EXPORTER_OTLP_ENDPOINT says. The caller MUST Close it.
func New(ctx context.Context, o Options) (*Tracer, error) {
	to, err := newCollector()
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	exporter, err := otlptrace.New(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// What the environment says comes last and counts: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES.
	about, err := resource.New(ctx,
		resource.WithAttributes(attribute.String("service.name", "callgate"), attribute.String("service.version", o.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Logger.Warn("traces: not exported", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &Tracer{provider: provider, tracer: provider.Tracer("callgate", trace.WithInstrumentationVersion(o.Version)), worker: o.Worker}, nil
}

// flush bounds how long the last spans may take to be exported when callgate ends.
const flush = 3 * time.Second

// Close exports what is left.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), flush)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	return nil
}

// Names are the members of _meta that carry a trace from one side to the other, as W3C Trace Context has them.
var Names = []string{"traceparent", "tracestate"}

var propagator = propagation.TraceContext{}

// Call is the trace of one request that passes the gate. A nil Call does nothing.
type Call struct {
	tracer *Tracer
	method string
	ctx    context.Context // of its span
	span   trace.Span
}

// About is what a span says of its call.
type About struct {
	Method          string // of MCP
	Tool, Prompt    string // the one that is called for, by the name that the host sees; "" for other methods
	Server, Session string
}

// Begin begins the span of a call, below what its _meta carries of a trace.
func (t *Tracer) Begin(carried map[string]string, a About) *Call {
	if t == nil {
		return nil
	}
	attributes := []attribute.KeyValue{
		attribute.String("mcp.method.name", a.Method), attribute.String("mcp.session.id", a.Session),
		attribute.String("callgate.server", a.Server), attribute.String("callgate.worker", t.worker),
	}
	if a.Tool != "" {
		attributes = append(attributes, attribute.String("gen_ai.tool.name", a.Tool))
	}
	if a.Prompt != "" {
		attributes = append(attributes, attribute.String("gen_ai.prompt.name", a.Prompt))
	}
	ctx := propagator.Extract(context.Background(), propagation.MapCarrier(carried))
	ctx, span := t.tracer.Start(ctx, spanName(a.Method, a.Tool+a.Prompt), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attributes...))
	return &Call{t, a.Method, ctx, span}
}

// spanName is the method with the name of what it is about, where it has one of few.
func spanName(method, name string) string {
	if name == "" {
		return method
	}
	return method + " " + name
}

// Deciding begins the span of the decision; decided ends it.
func (c *Call) Deciding() (decided func(decision, risk string)) {
	if c == nil {
		return func(string, string) {}
	}
	_, span := c.tracer.tracer.Start(c.ctx, "decide")
	return func(decision, risk string) {
		attributes := []attribute.KeyValue{attribute.String("callgate.decision", decision), attribute.String("callgate.risk", risk)}
		span.SetAttributes(attributes...)
		c.span.SetAttributes(attributes...)
		span.End()
	}
}

// Forwarding begins the span of the part of whoever answers the call and returns what the _meta that goes there
// carries of the trace; forwarded ends it. name is that of the tool or prompt there, "" for other methods.
func (c *Call) Forwarding(name string) (carried map[string]string, forwarded func()) {
	if c == nil {
		return nil, func() {}
	}
	ctx, span := c.tracer.tracer.Start(c.ctx, spanName(c.method, name), trace.WithSpanKind(trace.SpanKindClient))
	carrier := propagation.MapCarrier{}
	propagator.Inject(ctx, carrier)
	return carrier, func() { span.End() }
}

// Failed says how the call failed: a word that has nothing of the call in it. "" is no failure.
func (c *Call) Failed(kind string) {
	if c != nil && kind != "" {
		c.span.SetAttributes(attribute.String("error.type", kind))
		c.span.SetStatus(codes.Error, "")
	}
}

// End ends the call's span.
func (c *Call) End() {
	if c != nil {
		c.span.End()
	}
}
