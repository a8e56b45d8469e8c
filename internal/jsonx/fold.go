package jsonx

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// nameStack holds the folded names of the objects that a decoder is inside.
type nameStack struct {
	arena  []byte
	names  []span // in all open objects, outermost first
	frames []frame
}

type span struct{ start, end int }

// frame is an open object or array: where its names begin, and a set of them once there are many.
type frame struct {
	first, arena int
	set          map[string]struct{}
}

// manyNames is the number of names from which a set is faster than a linear search.
const manyNames = 24

// reset forgets everything. It keeps the memory, unless a rare large object has made that big.
func (s *nameStack) reset() {
	if cap(s.arena) > 1<<16 {
		*s = nameStack{}
	}
	clear(s.frames[:cap(s.frames)])
	s.frames, s.names, s.arena = s.frames[:0], s.names[:0], s.arena[:0]
}

// enter begins the object or array at depth (1 is the outermost) and forgets what was deeper.
func (s *nameStack) enter(depth int) {
	if depth <= len(s.frames) {
		f := s.frames[depth-1]
		s.frames, s.names, s.arena = s.frames[:depth-1], s.names[:f.first], s.arena[:f.arena]
	}
	s.frames = append(s.frames, frame{first: len(s.names), arena: len(s.arena)})
}

// add notes the quoted name in the object at depth. It returns an error if an equal one is there already.
func (s *nameStack) add(depth int, quoted []byte) error {
	if depth < len(s.frames) { // deeper objects have ended
		f := s.frames[depth]
		s.frames, s.names, s.arena = s.frames[:depth], s.names[:f.first], s.arena[:f.arena]
	}
	f := &s.frames[depth-1]
	start := len(s.arena)
	s.arena = appendFolded(s.arena, unquoted(quoted))
	name := s.arena[start:]
	if f.set != nil {
		if _, dup := f.set[string(name)]; dup {
			return duplicate(quoted)
		}
		f.set[string(name)] = struct{}{}
	} else {
		for _, other := range s.names[f.first:] {
			if string(s.arena[other.start:other.end]) == string(name) {
				return duplicate(quoted)
			}
		}
	}
	s.names = append(s.names, span{start, len(s.arena)})
	if f.set == nil && len(s.names)-f.first > manyNames {
		f.set = make(map[string]struct{}, 2*manyNames)
		for _, n := range s.names[f.first:] {
			f.set[string(s.arena[n.start:n.end])] = struct{}{}
		}
	}
	return nil
}

// last returns the folded form of the name that was added last.
func (s *nameStack) last() []byte {
	n := s.names[len(s.names)-1]
	return s.arena[n.start:n.end]
}

func duplicate(quoted []byte) error {
	return fmt.Errorf("two members of one object are named like %s: decoders disagree about which counts", quoted)
}

// unquoted decodes a name that a decoder or the scanner has accepted.
func unquoted(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	decoded, _ := jsontext.AppendUnquote(make([]byte, 0, len(inner)), quoted) // cannot fail: the name is valid
	return decoded
}

// appendFolded appends the smallest string that equals name under Unicode simple case folding.
func appendFolded(dst, name []byte) []byte {
	for len(name) > 0 {
		if b := name[0]; b < utf8.RuneSelf {
			if b >= 'a' && b <= 'z' {
				b -= 'a' - 'A'
			}
			dst, name = append(dst, b), name[1:]
			continue
		}
		r, size := utf8.DecodeRune(name)
		smallest := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			smallest = min(smallest, next)
		}
		dst, name = utf8.AppendRune(dst, smallest), name[size:]
	}
	return dst
}

// foldsTo reports whether folded is the result of appendFolded for name.
func foldsTo(name string, folded []byte) bool {
	for i := range len(name) {
		b := name[i]
		if b >= utf8.RuneSelf {
			return string(appendFolded(nil, []byte(name))) == string(folded)
		}
		if b >= 'a' && b <= 'z' {
			b -= 'a' - 'A'
		}
		if i >= len(folded) || folded[i] != b {
			return false
		}
	}
	return len(name) == len(folded)
}

// isPlain reports whether the content of a quoted string stands for itself, byte for byte.
func isPlain(inner []byte) bool { return plain(inner) == len(inner) }
