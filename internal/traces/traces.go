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
)

// Tracer makes spans. A nil Tracer makes none, and costs nothing.
type Tracer struct {
	sampler sampler
	bounds  bounds
	batch   batcher
	worker  string
}

// Options assemble a Tracer.
type Options struct {
	Version string
	Worker  string
	Logger  *slog.Logger // is told what cannot be exported
}

// New returns a Tracer that exports where OTEL_EXPORTER_OTLP_ENDPOINT says. The caller MUST Close it.
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

// flush bounds how long the last spans may take to be exported when callgate ends.
const flush = 3 * time.Second

// Close exports what is left.
func (t *Tracer) Close() error {
	if t == nil {
		return nil
	}
	if err := t.batch.close(flush); err != nil {
		return fmt.Errorf("traces: %w", err)
	}
	return nil
}

// Names are the members of _meta that carry a trace from one side to the other, as W3C Trace Context has them.
var Names = []string{"traceparent", "tracestate"}

// Call is the trace of one request that passes the gate. A nil Call does nothing.
type Call struct {
	tracer *Tracer
	method string
	place        // of its span
	span   *span // nil where the trace is not recorded
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

// begin begins the span of a place in the trace of a call, below another one. It is nil where the trace is not
// recorded.
func (c *Call) begin(at place, parent [8]byte, name string, kind uint64) *span {
	if c.flags&sampled == 0 {
		return nil
	}
	return &span{place: at, parent: parent, name: valid(name), kind: kind, begin: time.Now(), bounds: c.tracer.bounds}
}

// end ends a span.
func (c *Call) end(s *span) {
	if encoded := s.end(); encoded != nil {
		c.tracer.batch.add(encoded)
	}
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
	inner := c.begin(c.below(), c.id, "decide", internalSpan)
	return func(decision, risk string) {
		attributes := []attribute{{"callgate.decision", decision}, {"callgate.risk", risk}}
		inner.set(attributes...)
		c.span.set(attributes...)
		c.end(inner)
	}
}

// Forwarding begins the span of the part of whoever answers the call and returns what the _meta that goes there
// carries of the trace; forwarded ends it. name is that of the tool or prompt there, "" for other methods.
func (c *Call) Forwarding(name string) (carried map[string]string, forwarded func()) {
	if c == nil {
		return nil, func() {}
	}
	at := c.below()
	inner := c.begin(at, c.id, spanName(c.method, name), clientSpan)
	return at.carrier(), func() { c.end(inner) }
}

// Failed says how the call failed: a word that has nothing of the call in it. "" is no failure.
func (c *Call) Failed(kind string) {
	if c != nil && kind != "" {
		c.span.set(attribute{"error.type", kind})
		c.span.fail()
	}
}

// End ends the call's span.
func (c *Call) End() {
	if c != nil {
		c.end(c.span)
	}
}
