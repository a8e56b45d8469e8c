package traces

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"callgate/internal/lazyregexp"
)

// place is a position in a trace: what W3C Trace Context carries between programs.
type place struct {
	trace [16]byte
	id    [8]byte // of the span
	flags byte
	state string // of vendors, unchanged
}

const (
	sampled    = 1
	knownFlags = sampled | 2 // and the flag for random trace IDs
)

var (
	traceparent = lazyregexp.New(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$`)
	stateMember = lazyregexp.New(`^[ \t]*([a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~][ \t]*$`)
)

// maxStates is the standard's limit for members of a tracestate.
const maxStates = 32

// carriedPlace reads the place that a request carries. ok is false if that is not a valid trace.
func carriedPlace(carried map[string]string) (p place, ok bool) {
	m := traceparent.FindStringSubmatch(carried["traceparent"])
	if m == nil || m[1] == "ff" || m[1] == "00" && (m[5] != "" || m[4] > "03") {
		return place{}, false
	}
	all, err := hex.DecodeString(m[2] + m[3] + m[4])
	if err != nil {
		return place{}, false
	}
	copy(p.trace[:], all)
	copy(p.id[:], all[len(p.trace):])
	if p.trace == [16]byte{} || p.id == [8]byte{} {
		return place{}, false
	}
	p.flags, p.state = all[len(all)-1]&knownFlags, validState(carried["tracestate"])
	return p, true
}

// validState returns a tracestate, or "" if it breaks the standard.
func validState(text string) string {
	var members []string
	keys := map[string]bool{}
	for member := range strings.SplitSeq(text, ",") {
		if member == "" {
			continue
		}
		m := stateMember.FindStringSubmatch(member)
		if m == nil || keys[m[1]] || len(members) == maxStates {
			return ""
		}
		keys[m[1]] = true
		members = append(members, strings.Trim(member, " \t"))
	}
	return strings.Join(members, ",")
}

// carrier returns what the _meta of a request below p carries.
func (p place) carrier() map[string]string {
	text := hex.AppendEncode(append(make([]byte, 0, 55), "00-"...), p.trace[:])
	text = hex.AppendEncode(append(text, '-'), p.id[:])
	text = hex.AppendEncode(append(text, '-'), []byte{p.flags})
	carried := map[string]string{"traceparent": string(text)}
	if p.state != "" {
		carried["tracestate"] = p.state
	}
	return carried
}

// below returns a new place below p, or in a new trace if p is zero.
func (p place) below() place {
	for p.trace == [16]byte{} {
		binary.NativeEndian.PutUint64(p.trace[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(p.trace[8:], rand.Uint64())
	}
	for old := p.id; p.id == old || p.id == [8]byte{}; {
		binary.NativeEndian.PutUint64(p.id[:], rand.Uint64())
	}
	return p
}

// Kinds of spans, with the numbers of OTLP.
const (
	internalSpan = 1
	serverSpan   = 2
	clientSpan   = 3
)

// span is a span being recorded. A nil span records nothing.
type span struct {
	place
	parent [8]byte // zero for the first span of a trace
	remote bool    // the parent belongs to another program
	name   string
	kind   uint64
	begin  time.Time
	bounds bounds

	mu         sync.Mutex
	attributes []attribute
	dropped    uint64 // attributes
	failed     bool
	ended      bool
}

type attribute struct{ key, value string }

// set sets attributes, replacing those with the same key, within the bounds.
func (s *span) set(attributes ...attribute) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range attributes {
		a.value = s.bounds.cut(a.value)
		if with := put(s.attributes, a); s.bounds.attributes < 0 || len(with) <= s.bounds.attributes || len(with) == len(s.attributes) {
			s.attributes = with
		} else {
			s.dropped++
		}
	}
}

// put returns the attributes with a added, or with its value replaced.
func put(attributes []attribute, a attribute) []attribute {
	a = attribute{valid(a.key), valid(a.value)}
	for i := range attributes {
		if attributes[i].key == a.key {
			attributes[i] = a
			return attributes
		}
	}
	return append(attributes, a)
}

// bounds are the limits of each span. A negative value means no limit.
type bounds struct{ attributes, characters int }

// cut returns value, cut to the limit of characters.
func (b bounds) cut(value string) string {
	if b.characters < 0 || len(value) <= b.characters {
		return value
	}
	n := 0
	for i := range value {
		if n++; n > b.characters {
			return value[:i]
		}
	}
	return value
}

// valid returns text as valid UTF-8, which OTLP needs.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// fail sets the status to an error.
func (s *span) fail() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
}

// end returns the encoded span the first time, and nil after that.
func (s *span) end() []byte {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.ended = true
	end := s.begin.Add(time.Since(s.begin)) // the clock may have been changed meanwhile
	return s.encode(end)
}
