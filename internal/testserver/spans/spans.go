// Package spans is an OpenTelemetry collector for tests. It reads only the parts of OTLP that callgate sends;
// internal/dev/telemetry checks these against the official definitions.
package spans

import (
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// Span is a span that arrived.
type Span struct {
	Trace, ID, Parent string // in hex digits
	State, Name       string
	Kind              uint64
	Attributes        map[string]string
}

// The kinds of spans.
const (
	Server = 2
	Client = 3
)

// Collector receives spans over HTTP.
type Collector struct {
	mu    sync.Mutex
	spans []Span
	raw   strings.Builder
}

// Named returns the spans of a trace by name, or those of all traces if trace is "". Of two with the same name, it
// returns the last.
func (c *Collector) Named(trace string) map[string]Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	named := map[string]Span{}
	for _, s := range c.spans {
		if trace == "" || s.Trace == trace {
			named[s.Name] = s
		}
	}
	return named
}

// Raw returns everything that arrived.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	list, err := Read(body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	c.spans = append(c.spans, list...)
}

// Read parses an ExportTraceServiceRequest.
func Read(request []byte) (list []Span, err error) {
	spans := [][]byte{request}
	for _, number := range []protowire.Number{1, 2, 2} { // resource_spans, scope_spans, spans
		var inner [][]byte
		for _, outer := range spans {
			err = errors.Join(err, fields(outer, func(field protowire.Number, _ uint64, text []byte) {
				if field == number {
					inner = append(inner, text)
				}
			}))
		}
		spans = inner
	}
	for _, one := range spans {
		s := Span{Attributes: map[string]string{}}
		err = errors.Join(err, fields(one, func(field protowire.Number, value uint64, text []byte) {
			switch field {
			case 1:
				s.Trace = hex.EncodeToString(text)
			case 2:
				s.ID = hex.EncodeToString(text)
			case 3:
				s.State = string(text)
			case 4:
				s.Parent = hex.EncodeToString(text)
			case 5:
				s.Name = string(text)
			case 6:
				s.Kind = value
			case 9:
				key, value := attribute(text)
				s.Attributes[key] = value
			}
		}))
		list = append(list, s)
	}
	return list, err
}

func attribute(pair []byte) (key, value string) {
	_ = fields(pair, func(field protowire.Number, _ uint64, text []byte) {
		if field == 1 {
			key = string(text)
			return
		}
		_ = fields(text, func(_ protowire.Number, _ uint64, text []byte) { value = string(text) })
	})
	return key, value
}

// fields calls each with the fields of a Protocol Buffers message: a number or a text.
func fields(message []byte, each func(field protowire.Number, value uint64, text []byte)) error {
	for len(message) > 0 {
		number, kind, head := protowire.ConsumeTag(message)
		if head < 0 {
			return protowire.ParseError(head)
		}
		length := protowire.ConsumeFieldValue(number, kind, message[head:])
		if length < 0 {
			return protowire.ParseError(length)
		}
		content := message[head : head+length]
		value, _ := protowire.ConsumeVarint(content)
		text, _ := protowire.ConsumeBytes(content)
		each(number, value, text)
		message = message[head+length:]
	}
	return nil
}
