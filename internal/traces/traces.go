// Package traces sends OpenTelemetry spans of calls.
//
// A call has a span that contains one for its decision (including the wait for a person) and one for the server's part.
// Spans contain names, decisions and times, but nothing of a call's content. The exporter is OTLP over HTTP, configured
// by the standard OTEL_* variables.
package traces

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// Tracer makes spans. A nil Tracer makes none and costs nothing.
type Tracer struct {
	sampler sampler
	bounds  bounds
	batch   batcher
	worker  string
}

// Options configures a Tracer.
type Options struct {
	Version string
	Worker  string
	Logger  *slog.Logger // gets what cannot be exported
}

// New returns a Tracer that exports to OTEL_EXPORTER_OTLP_ENDPOINT. The caller MUST call Close.
func New(o Options) (*Tracer, error) {
	to, err := newCollector()
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource(o.Version)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	sampler, err := readSampler()
	if err != nil {
		o.Logger.Warn("traces: not as set", "error", err)
	}
	t := &Tracer{sampler: sampler, bounds: readBounds(), worker: o.Worker}
	of := newSource(about, o.Version)
	t.batch = batcher{limits: readLimits(), log: o.Logger, export: func(ctx context.Context, spans [][]byte) error { return to.upload(ctx, of.batch(spans)) }}
	t.batch.start()
	return t, nil
}

// flush bounds how long exporting the last spans may take when callgate ends.
const flush = 3 * time.Second

// Close exports the remaining spans, for at most three seconds.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	if err := t.batch.close(flush); err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	return nil
}

// Names lists the members of _meta that carry a trace, by their names in W3C Trace Context.
var Names = []string{"traceparent", "tracestate"}

// Call is the trace of one request through the gate. A nil Call does nothing.
type Call struct {
	tracer *Tracer
	method string
	place        // of its span
	span   *span // nil if the trace is not recorded
}

// About describes a call in its span.
type About struct {
	Method          string // the MCP method
	Tool, Prompt    string // the tool or prompt called, by the name that the host sees; "" for other methods
	Server, Session string
}

// Begin begins the span of a call, below the trace that its _meta carries, if any.
func (t *Tracer) Begin(carried map[string]string, a About) *Call {
	if t == nil {
		return nil
	}
	above, remote := carriedPlace(carried)
	c := &Call{tracer: t, method: a.Method, place: above.below()}
	c.flags &^= sampled
	if t.sampler.records(above, remote, c.trace) {
		c.flags |= sampled
		c.span = c.begin(c.place, above.id, spanName(a.Method, a.Tool+a.Prompt), serverSpan)
		c.span.remote = remote
		c.span.attributes = make([]attribute, 0, 8) // as many as there can be
		c.span.set(attribute{"mcp.method.name", a.Method}, attribute{"mcp.session.id", a.Session}, attribute{"callgate.server", a.Server}, attribute{"callgate.worker", t.worker})
		if a.Tool != "" {
			c.span.set(attribute{"gen_ai.tool.name", a.Tool})
		}
		if a.Prompt != "" {
			c.span.set(attribute{"gen_ai.prompt.name", a.Prompt})
		}
	}
	return c
}

// begin begins a span at a place in the call's trace, below parent. It returns nil if the trace is not recorded.
func (c *Call) begin(at place, parent [8]byte, name string, kind uint64) *span {
	if c.flags&sampled == 0 {
		return nil
	}
	return &span{place: at, parent: parent, name: valid(name), kind: kind, begin: time.Now(), bounds: c.tracer.bounds}
}

// end ends a span and queues it for export.
func (c *Call) end(s *span) {
	if encoded := s.end(); encoded != nil {
		c.tracer.batch.add(encoded)
	}
}

// spanName returns the method, followed by the name of its tool or prompt if it has one.
func spanName(method, name string) string {
	if name == "" {
		return method
	}
	return method + " " + name
}

// Deciding begins the span of the decision. The caller MUST call decided to end it.
func (c *Call) Deciding() (decided func(decision, risk string)) {
	if c == nil {
		return func(string, string) {}
	}
	inner := c.begin(c.below(), c.id, "decide", internalSpan)
	return func(decision, risk string) {
		attributes := []attribute{{"callgate.decision", decision}, {"callgate.risk", risk}}
		inner.set(attributes...)
		c.span.set(attributes...)
		c.end(inner)
	}
}

// Forwarding begins the span of the answering server's part. It returns what the _meta sent there must carry. The
// caller MUST call forwarded to end the span. name is the tool or prompt as the server knows it, "" for other methods.
func (c *Call) Forwarding(name string) (carried map[string]string, forwarded func()) {
	if c == nil {
		return nil, func() {}
	}
	at := c.below()
	inner := c.begin(at, c.id, spanName(c.method, name), clientSpan)
	return at.carrier(), func() { c.end(inner) }
}

// Failed marks the call as failed. kind is a word without anything of the call's content; "" means no failure.
func (c *Call) Failed(kind string) {
	if c != nil && kind != "" {
		c.span.set(attribute{"error.type", kind})
		c.span.fail()
	}
}

// End ends the span of the call. Further calls do nothing.
func (c *Call) End() {
	if c != nil {
		c.end(c.span)
	}
}
