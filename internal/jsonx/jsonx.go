// Package jsonx reads and writes strict JSON at the border.
//
// It refuses text that two decoders read differently, because such text is a way around the gate. It splices changes
// into the original bytes, and encodes no value again.
package jsonx

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/textscan"
)

// MaxDepth bounds the nesting of text that Check accepts.
const MaxDepth = 256

// Check returns why decoders may read text differently, or nil: it is not one JSON value in UTF-8, it holds a lone
// surrogate, it nests deeper than MaxDepth, or two names of one object, at any depth, are equal or equal under Unicode
// simple case folding.
func Check(text []byte) error {
	names := nameStacks.Get().(*nameStack)
	s := scanner{text: text, names: names}
	ok := s.document(MaxDepth)
	names.reset()
	nameStacks.Put(names)
	if ok {
		return nil
	}
	return check(text)
}

// Valid reports whether text is one JSON value in UTF-8. Objects may repeat names.
func Valid(text []byte) bool {
	s := scanner{text: text}
	return s.document(maxNesting)
}

// check does the work of Check for text that the scanner refuses, and says what is wrong.
func check(text []byte) error {
	r := open(text, jsontext.AllowDuplicateNames(true)) // nameStack is stricter
	defer r.close()
	names := &r.names
	for {
		depth := r.dec.StackDepth()
		if parent, length := r.dec.StackIndex(depth); parent == '{' && length%2 == 0 && r.dec.PeekKind() == '"' {
			name, err := r.dec.ReadValue()
			if err != nil {
				return describe(err)
			}
			if err := names.add(depth, name); err != nil {
				return err
			}
			continue
		}
		token, err := r.dec.ReadToken()
		if err != nil {
			return describe(err)
		}
		switch depth = r.dec.StackDepth(); {
		case depth == 0:
			return r.end()
		case depth > MaxDepth:
			return fmt.Errorf("JSON nests deeper than %d levels", MaxDepth)
		case token.Kind() == '{' || token.Kind() == '[':
			names.enter(depth)
		}
	}
}

// Member is the value of one member of an object.
type Member struct {
	Value []byte // raw, a sub-slice of the text; nil if the object has no such member
	Start int    // offset of Value in the text

	name int // offset of the quoted name
}

// End returns the offset after the value.
func (m Member) End() int { return m.Start + len(m.Value) }

// Known is what a reader has found out about a text.
type Known uint8

const (
	Loose   Known = iota // nothing more: strings may hold invalid UTF-8
	Clean                // it is valid UTF-8, without lone surrogates
	Checked              // Check accepts it
)

// Members finds the members called names in the object that text holds, and stores each in dst at the index of its
// name. The values may be any JSON: it judges nothing below the object's own members. It returns an error if members of
// the object have equal names, or differ from one of names only in case, because decoders disagree about which of them
// counts.
func Members(text []byte, names []string, dst []Member) error {
	_, err := Read(text, names, dst, false)
	return err
}

// Read does the work of Members, and returns what it has found out about the text. With check it also looks below the
// object's members: text that Check accepts is Checked.
func Read(text []byte, names []string, dst []Member, check bool) (Known, error) {
	seen := nameStacks.Get().(*nameStack)
	s := scanner{text: text, lenient: true}
	if check {
		s.names = seen
	}
	ok := s.members(seen, names, dst)
	seen.reset()
	nameStacks.Put(seen)
	switch {
	case !ok:
		return Loose, members(text, names, dst)
	case check && !s.refused:
		return Checked, nil
	}
	return Clean, nil
}

// MembersBefore finds members, as Members does, before the member called end, and reports whether that exists. It does
// not look at that member's value, nor at what follows. It is for text that callgate itself has made.
func MembersBefore(text []byte, end string, names []string, dst []Member) bool {
	s := scanner{text: text}
	for next := byte('{'); s.byte(next); next = ',' {
		name, ok := s.name()
		if !ok {
			return false
		}
		name = name[1 : len(name)-1]
		if string(name) == end {
			return true
		}
		start := s.at
		if !s.value(2, MaxDepth) {
			return false
		}
		if i := slices.Index(names, string(name)); i >= 0 {
			dst[i] = Member{Value: text[start:s.at:s.at], Start: start}
		}
	}
	return false
}

// members does the work of Members for any text, even with strings that are not UTF-8.
func members(text []byte, names []string, dst []Member) error {
	r := open(text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	defer r.close()
	if r.dec.PeekKind() != '{' {
		return errors.New("not a JSON object")
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return describe(err)
	}
	seen := &r.names
	seen.enter(1)
	for r.dec.PeekKind() == '"' {
		name, err := r.dec.ReadValue()
		if err != nil {
			return describe(err)
		}
		at := int(r.dec.InputOffset()) - len(name)
		if err := seen.add(1, name); err != nil {
			return err
		}
		i, err := indexOf(names, name, seen.last())
		if err != nil {
			return err
		}
		value, err := r.dec.ReadValue()
		if err != nil {
			return describe(err)
		}
		if i >= 0 {
			end := int(r.dec.InputOffset())
			dst[i] = Member{Value: text[end-len(value) : end : end], Start: end - len(value), name: at}
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return describe(err)
	}
	return r.end()
}

// members does the work of Members for text that the scanner accepts.
func (s *scanner) members(seen *nameStack, names []string, dst []Member) bool {
	if !s.byte('{') {
		return false
	}
	seen.enter(1)
	for more := !s.byte('}'); more; {
		s.space()
		at := s.at
		name, ok := s.name()
		if !ok || seen.add(1, name) != nil {
			return false
		}
		i, err := indexOf(names, name, seen.last())
		start := s.at
		if err != nil || !s.value(2, maxNesting) {
			return false
		}
		if i >= 0 {
			dst[i] = Member{Value: s.text[start:s.at:s.at], Start: start, name: at}
		}
		if more = s.byte(','); !more && !s.byte('}') {
			return false
		}
	}
	s.space()
	return s.at == len(s.text)
}

// Parts calls part with the raw name and value of each member of the object that text holds, or with each element of
// the array, with a nil name. It returns false if Check refuses the text, or if the text holds anything else. The calls
// of part then mean nothing.
func Parts(text []byte, part func(name, value []byte)) bool {
	names := nameStacks.Get().(*nameStack)
	s := scanner{text: text, names: names}
	ok := s.parts(part)
	names.reset()
	nameStacks.Put(names)
	return ok
}

func (s *scanner) parts(part func(name, value []byte)) bool {
	s.space()
	end := byte('}')
	if object := s.byte('{'); !object {
		if end = ']'; !s.byte('[') {
			return false
		}
	}
	s.names.enter(1)
	for more := !s.byte(end); more; {
		var name []byte
		s.space()
		if end == '}' {
			var ok bool
			if name, ok = s.name(); !ok || s.names.add(1, name) != nil {
				return false
			}
		}
		start := s.at
		if !s.value(2, MaxDepth) {
			return false
		}
		part(name, s.text[start:s.at:s.at])
		if more = s.byte(','); !more && !s.byte(end) {
			return false
		}
	}
	s.space()
	return s.at == len(s.text)
}

// indexOf returns the index of the quoted name in names, or -1.
func indexOf(names []string, quoted, folded []byte) (int, error) {
	for i, want := range names {
		if string(quoted[1:len(quoted)-1]) == want {
			return i, nil
		}
		if !foldsTo(want, folded) {
			continue
		}
		if name, err := jsontext.AppendUnquote(nil, quoted); err == nil && string(name) == want {
			return i, nil
		}
		return -1, fmt.Errorf("member %s is spelled unlike %q: decoders disagree about it", quoted, want)
	}
	return -1, nil
}

// MayHold reports whether a string in text may hold the word, which MUST consist of ASCII characters that need no
// escape. It returns false for most texts without parsing JSON. For escapes that could spell the word, it returns true.
func MayHold(text []byte, word string) bool {
	if holds(text, word) {
		return true
	}
	i := bytes.IndexByte(text, '\\')
	return i >= 0 && (bytes.Contains(text[i:], []byte(`\u00`)) || bytes.Contains(text[i:], []byte(`\/`)))
}

// holds does what bytes.Contains does, faster for a word with a rare character, which is neither a letter nor a digit.
// Long texts are full of the letters that words begin with.
func holds(text []byte, word string) bool {
	rare := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if rare < 0 {
		return bytes.Contains(text, []byte(word))
	}
	for at, tries := rare, 0; at < len(text); at++ {
		i := bytes.IndexByte(text[at:], word[rare])
		if i < 0 {
			return false
		}
		at += i
		if start := at - rare; len(text)-start >= len(word) && string(text[start:start+len(word)]) == word {
			return true
		}
		if tries++; tries > len(text)/64 { // it is not rare here
			return bytes.Contains(text[at-rare:], []byte(word))
		}
	}
	return false
}

// Strings yields every string in text, names included, decoded. Text that Check refuses may end it early. A long string
// may share memory with text, so nobody may change text.
func Strings(text []byte) iter.Seq[string] { return stringsFrom(text, decoded) }

// SharedStrings does what Strings does without copies: every string shares the memory of text and keeps it alive.
func SharedStrings(text []byte) iter.Seq[string] {
	return stringsFrom(text, func(quoted []byte) string { return textscan.String(unquoted(quoted)) })
}

func stringsFrom(text []byte, decode func(quoted []byte) string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var room [64]span
		s := scanner{text: text, strings: room[:0]}
		if !s.document(maxNesting) {
			stringsIn(text)(yield)
			return
		}
		s.at = 0
		for _, found := range s.strings {
			if !yield(decode(text[found.start:found.end])) {
				return
			}
			s.at = found.end
		}
		for s.strings = nil; ; { // strings that did not fit: outside strings, each quotation mark begins one
			i := bytes.IndexByte(text[s.at:], '"')
			if i < 0 {
				return
			}
			s.at += i
			start := s.at
			if !s.quoted() || !yield(decode(text[start:s.at])) {
				return
			}
		}
	}
}

// stringsIn does the work of Strings up to the point where text is not JSON.
func stringsIn(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		if len(text) == 0 {
			return
		}
		r := open(text, jsontext.AllowDuplicateNames(true))
		defer r.close()
		for {
			if r.dec.PeekKind() != '"' {
				if _, err := r.dec.ReadToken(); err != nil {
					return
				}
				continue
			}
			quoted, err := r.dec.ReadValue()
			if err != nil || !yield(string(unquoted(quoted))) {
				return
			}
		}
	}
}

// Edit replaces the bytes of a text from Start up to End.
type Edit struct {
	Start, End int
	With       []byte
}

// Delete returns the edit that removes a member that Members found in text, with a comma beside it.
func Delete(text []byte, m Member) Edit {
	start, end := m.name, m.End()
	if after := skipSpace(text, end, 1); text[after] == ',' {
		return Edit{Start: start, End: after + 1}
	}
	if before := skipSpace(text, start-1, -1); text[before] == ',' {
		start = before
	}
	return Edit{Start: start, End: end}
}

// skipSpace returns the first offset from i, in steps of step, without white space.
func skipSpace(text []byte, i, step int) int {
	for text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r' {
		i += step
	}
	return i
}

// Length returns the number of elements in the array that text holds, or -1 if it holds no array.
func Length(text []byte) int {
	r := open(text, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	defer r.close()
	if r.dec.PeekKind() != '[' {
		return -1
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return -1
	}
	n := 0
	for ; r.dec.PeekKind() != ']'; n++ {
		if err := r.dec.SkipValue(); err != nil {
			return -1
		}
	}
	return n
}

// Splice returns text with the edits made. They MUST NOT overlap. Splice may reorder edits. All other bytes stay.
func Splice(text []byte, edits ...Edit) []byte {
	size := len(text)
	for _, e := range edits {
		size += len(e.With) - (e.End - e.Start)
	}
	if len(edits) > 1 {
		slices.SortFunc(edits, func(a, b Edit) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	}
	out := textscan.Uninitialized(size)
	at := 0
	for _, e := range edits {
		out = append(append(out, text[at:e.Start]...), e.With...)
		at = e.End
	}
	return append(out, text[at:]...)
}

// Digest returns the hex SHA-256 of arguments in canonical form, followed by a zero byte and salt. Names of objects are
// sorted, and numbers keep their spelling. So white space, the order of members and escapes do not matter; 1 and 1.0
// differ, as do numbers too large for a float. Nil arguments digest like {}.
func Digest(arguments []byte, salt string) (string, error) {
	canonical := jsontext.Value("{}")
	if s := (scanner{text: arguments}); s.document(maxNesting) && !s.notCanonical {
		canonical = arguments
	} else if arguments != nil {
		canonical = append(make(jsontext.Value, 0, len(arguments)+len(salt)+1), arguments...)
		if err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
			return "", describe(err)
		}
	}
	var sum [sha256.Size]byte
	var room [1 << 10]byte
	if len(canonical)+len(salt) < len(room) {
		sum = sha256.Sum256(append(append(append(room[:0], canonical...), 0), salt...))
	} else {
		h := sha256.New()
		h.Write(canonical)
		h.Write([]byte{0})
		h.Write([]byte(salt))
		h.Sum(sum[:0])
	}
	return string(hex.AppendEncode(room[:0], sum[:])), nil
}

// Quote returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func Quote(s string) []byte {
	quoted, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		quoted, _ = jsontext.AppendQuote(nil, string(bytes.ToValidUTF8([]byte(s), []byte("\uFFFD"))))
	}
	return quoted
}

// String decodes a raw JSON string. It returns false if raw is not one.
func String(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; raw[len(raw)-1] == '"' && isPlain(inner) {
		return string(inner), true
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	return string(s), err == nil
}

// SharedString does what String does, but a long string may share memory with raw, so nobody may change raw.
func SharedString(raw []byte) (string, bool) {
	if len(raw) > shared && raw[0] == '"' && raw[len(raw)-1] == '"' && isPlain(raw[1:len(raw)-1]) {
		return decoded(raw), true
	}
	return String(raw)
}

// reader is a decoder with the buffer that it reads and the names that it has seen, so that all can be reused.
type reader struct {
	buf   bytes.Buffer
	dec   jsontext.Decoder
	names nameStack
}

var nameStacks = sync.Pool{New: func() any { return new(nameStack) }}

var readers = sync.Pool{New: func() any { return new(reader) }}

// open returns a decoder that reads text in place. The caller MUST close it, and MUST NOT change text before that.
func open(text []byte, o ...jsontext.Options) *reader {
	r := readers.Get().(*reader)
	r.buf = *bytes.NewBuffer(text)
	r.dec.Reset(&r.buf, o...)
	return r
}

func (r *reader) close() {
	r.buf = bytes.Buffer{}
	r.names.reset()
	readers.Put(r)
}

// end returns an error if anything follows the value that was read.
func (r *reader) end() error {
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("text follows the JSON value")
	}
	return nil
}

// Explain returns, without words of Go or its libraries, why a text cannot be read as JSON: where it breaks off, or
// which member is unknown or has a value of the wrong type. It returns other errors unchanged.
func Explain(err error) error {
	var shape *json.SemanticError
	if _, broken := errors.AsType[*jsontext.SyntacticError](err); broken || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return describe(err)
	}
	if !errors.As(err, &shape) {
		if rest, ok := strings.CutPrefix(err.Error(), "hujson: "); ok {
			return errors.New(rest)
		}
		return err
	}
	at := strings.ReplaceAll(strings.Trim(string(shape.JSONPointer), "/"), "/", ".")
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("unknown key %q", at)
	case at == "":
		return errors.New("the value is of the wrong type")
	case shape.Err != nil:
		return fmt.Errorf("%q: %w", at, shape.Err)
	}
	return fmt.Errorf("%q has a value of the wrong type", at)
}

// describe returns a decoder's error without the name of the library.
func describe(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("invalid JSON: it ends too early")
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("invalid JSON at byte %d: %w", syntax.ByteOffset, syntax.Err)
	}
	return fmt.Errorf("invalid JSON: %w", err)
}
