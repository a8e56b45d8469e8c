package traces

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a Protocol Buffers message. callgate sends only a few fields of OTLP; their numbers are those of
// opentelemetry/proto/trace/v1/trace.proto.
type message []byte

func (m *message) tag(field protowire.Number, kind protowire.Type) {
	*m = protowire.AppendTag(*m, field, kind)
}

func (m *message) varint(field protowire.Number, value uint64) {
	m.tag(field, protowire.VarintType)
	*m = protowire.AppendVarint(*m, value)
}

func (m *message) fixed64(field protowire.Number, value uint64) {
	m.tag(field, protowire.Fixed64Type)
	*m = protowire.AppendFixed64(*m, value)
}

func (m *message) fixed32(field protowire.Number, value uint32) {
	m.tag(field, protowire.Fixed32Type)
	*m = protowire.AppendFixed32(*m, value)
}

func (m *message) bytes(field protowire.Number, value []byte) {
	m.tag(field, protowire.BytesType)
	*m = protowire.AppendBytes(*m, value)
}

// text appends a string, which MUST be UTF-8.
func (m *message) text(field protowire.Number, value string) {
	m.tag(field, protowire.BytesType)
	*m = protowire.AppendString(*m, value)
}

// within begins an embedded message of size bytes.
func (m *message) within(field protowire.Number, size int) {
	m.tag(field, protowire.BytesType)
	*m = protowire.AppendVarint(*m, uint64(size))
}

func (m *message) attributes(field protowire.Number, attributes []attribute) {
	const tag = 1 // the size of each tag here
	for _, a := range attributes {
		value := tag + protowire.SizeBytes(len(a.value))
		m.within(field, tag+protowire.SizeBytes(len(a.key))+tag+protowire.SizeBytes(value))
		m.text(1, a.key)
		m.within(2, value)
		m.text(1, a.value)
	}
}

const statusError = 2

// Flags of a span, in addition to those of its trace.
const (
	knowsWhetherRemote = 0x100
	isRemote           = 0x200
)

// encode returns the span that ended at end.
func (s *span) encode(end time.Time) []byte {
	m := make(message, 0, 512) // more than most spans take
	m.bytes(1, s.trace[:])
	m.bytes(2, s.id[:])
	if s.state != "" {
		m.text(3, s.state)
	}
	if s.parent != [8]byte{} {
		m.bytes(4, s.parent[:])
	}
	m.text(5, s.name)
	m.varint(6, s.kind)
	m.fixed64(7, uint64(max(0, s.begin.UnixNano())))
	m.fixed64(8, uint64(max(0, end.UnixNano())))
	m.attributes(9, s.attributes)
	if s.dropped > 0 {
		m.varint(10, s.dropped)
	}
	if s.failed {
		var status message
		status.varint(3, statusError)
		m.bytes(15, status)
	}
	flags := uint32(s.flags) | knowsWhetherRemote
	if s.remote {
		flags |= isRemote
	}
	m.fixed32(16, flags)
	return m
}

// source is what all spans of this process share: their resource and their instrumentation scope.
type source struct{ resource, scope message }

func newSource(about []attribute, version string) source {
	var s source
	s.resource.attributes(1, about)
	s.scope.text(1, "callgate")
	if version != "" {
		s.scope.text(2, version)
	}
	return s
}

// batch returns an ExportTraceServiceRequest with encoded spans.
func (s source) batch(spans [][]byte) []byte {
	var seen, resource, request message
	seen.bytes(1, s.scope)
	for _, one := range spans {
		seen.bytes(2, one)
	}
	resource.bytes(1, s.resource)
	resource.bytes(2, seen)
	request.bytes(1, resource)
	return request
}
