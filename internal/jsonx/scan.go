package jsonx

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"callgate/internal/textscan"
)

// scanner reads JSON text in place, eight bytes at a time where there are only plain characters. It accepts what
// jsontext accepts with strict strings. For all other text, jsontext says what is wrong. A fuzz test compares the two.
type scanner struct {
	text []byte
	at   int

	names        *nameStack // refuses equal names in one object; nil allows them
	lenient      bool       // records what names refuses, and nesting deeper than MaxDepth, and continues
	refused      bool       // something was recorded
	notCanonical bool       // there is white space between tokens, an unnecessary escape, or a name out of order
	strings      []span     // where strings are, with their quotation marks, up to its capacity
}

// maxNesting is jsontext's limit.
const maxNesting = 10000

// document reports whether the text is one value and nothing else.
func (s *scanner) document(deepest int) bool {
	s.space()
	if !s.value(1, deepest) {
		return false
	}
	s.space()
	return s.at == len(s.text)
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.notCanonical = true
			s.at++
		default:
			return
		}
	}
}

// byte moves past c, and white space before it. It returns false if c does not follow.
func (s *scanner) byte(c byte) bool {
	s.space()
	if s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value moves past the value that begins here. depth is its depth if it is an object or an array.
func (s *scanner) value(depth, deepest int) bool {
	if s.at == len(s.text) {
		return false
	}
	switch s.text[s.at] {
	case '"':
		return s.quoted()
	case '{':
		return depth <= deepest && s.object(depth, deepest)
	case '[':
		return depth <= deepest && s.array(depth, deepest)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	}
	return s.number()
}

func (s *scanner) object(depth, deepest int) bool {
	s.at++
	s.enter(depth)
	if s.byte('}') {
		return true
	}
	for last := []byte(nil); ; {
		name, ok := s.name()
		if !ok || !s.unlike(depth, name) {
			return false
		}
		name = name[1 : len(name)-1]
		if last != nil && string(name) <= string(last) {
			s.notCanonical = true
		}
		last = name
		if !s.value(depth+1, deepest) {
			return false
		}
		if !s.byte(',') {
			return s.byte('}')
		}
	}
}

// enter begins an object or array.
func (s *scanner) enter(depth int) {
	if depth > MaxDepth {
		s.refused, s.names = true, nil // nothing is left to find out, and the stack would keep its memory
	}
	if s.names != nil {
		s.names.enter(depth)
	}
}

// unlike notes a name and reports whether it is allowed.
func (s *scanner) unlike(depth int, name []byte) bool {
	if s.names == nil || s.names.add(depth, name) == nil {
		return true
	}
	s.refused = true
	return s.lenient
}

// name moves past a member's name to its value, and returns the quoted name.
func (s *scanner) name() (quoted []byte, ok bool) {
	s.space()
	start := s.at
	if start == len(s.text) || s.text[start] != '"' || !s.quoted() {
		return nil, false
	}
	quoted = s.text[start:s.at]
	if !s.notCanonical && plain(quoted[1:]) != len(quoted)-2 {
		s.notCanonical = true // the canonical order of names is by UTF-16 code units
	}
	ok = s.byte(':')
	s.space()
	return quoted, ok
}

func (s *scanner) array(depth, deepest int) bool {
	s.at++
	s.enter(depth)
	if s.byte(']') {
		return true
	}
	for {
		s.space()
		if !s.value(depth+1, deepest) {
			return false
		}
		if !s.byte(',') {
			return s.byte(']')
		}
	}
}

func (s *scanner) word(w string) bool {
	if len(s.text)-s.at < len(w) || string(s.text[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

func (s *scanner) number() bool {
	s.one('-')
	if !s.one('0') && !s.digits() {
		return false
	}
	if s.one('.') && !s.digits() {
		return false
	}
	if s.one('e') || s.one('E') {
		if !s.one('+') {
			s.one('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) one(c byte) bool {
	if s.at == len(s.text) || s.text[s.at] != c {
		return false
	}
	s.at++
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.text) && s.text[s.at]-'0' <= 9 {
		s.at++
	}
	return s.at > start
}

// quoted moves past the string that begins here.
func (s *scanner) quoted() bool {
	for i := s.at + 1; ; {
		i += plain(s.text[i:])
		if i == len(s.text) {
			return false
		}
		switch c := s.text[i]; {
		case c == '"':
			if len(s.strings) < cap(s.strings) {
				s.strings = append(s.strings, span{s.at, i + 1})
			}
			s.at = i + 1
			return true
		case c == '\\':
			n := s.escape(s.text[i:])
			if n == 0 {
				return false
			}
			i += n
		case c < utf8.RuneSelf: // a control character
			return false
		default:
			_, n := utf8.DecodeRune(s.text[i:])
			if n == 1 {
				return false
			}
			i += n
		}
	}
}

// escape returns the length of the escape at the beginning of text, or 0 if it is invalid.
func (s *scanner) escape(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return 2
	case '/':
		s.notCanonical = true
		return 2
	case 'u':
		s.notCanonical = true
		switch unit, ok := codeUnit(text); {
		case !ok || unit>>10 == 0xdc00>>10:
			return 0
		case unit>>10 != 0xd800>>10:
			return 6
		}
		if low, ok := codeUnit(text[6:]); ok && low>>10 == 0xdc00>>10 {
			return 12
		}
	}
	return 0
}

// codeUnit returns the code unit of the \uXXXX at the beginning of text.
func codeUnit(text []byte) (unit uint16, ok bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	for _, c := range text[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		unit = unit<<4 | uint16(c)
	}
	return unit, true
}

// plain returns how many bytes at the beginning of text are ASCII characters that stand for themselves in a string.
func plain(text []byte) int {
	i := wordsPlain(text[:min(len(text), 64)])
	if i < 64 {
		return i
	}
	for len(text)-i >= stretch && stretchPlain(text[i:i+stretch]) {
		i += stretch
	}
	return i + wordsPlain(text[i:])
}

// wordsPlain does what plain does, eight bytes at a time.
func wordsPlain(text []byte) int {
	i := 0
	for ; len(text)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		quote, backslash := w^ones*'"', w^ones*'\\'
		// The lowest set bit belongs to a byte below ' ', equal to one of the two, or above ASCII.
		if hit := ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash | w) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for ; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

const ones, highs = 0x0101010101010101, 0x8080808080808080

// stretch is how many bytes of a long text are checked in one step.
const stretch = 512

// stretchPlain reports whether all of a stretch is plain.
func stretchPlain(text []byte) bool {
	if bytes.IndexByte(text, '"') >= 0 || bytes.IndexByte(text, '\\') >= 0 {
		return false
	}
	for ; len(text) >= 32; text = text[32:] {
		a, b := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[8:])
		c, d := binary.LittleEndian.Uint64(text[16:]), binary.LittleEndian.Uint64(text[24:])
		// The highest bit of a byte is set where it is above ASCII, or becomes set where it is below ' '.
		if (a|b|c|d|(a-ones*' ')|(b-ones*' ')|(c-ones*' ')|(d-ones*' '))&highs != 0 {
			return false
		}
	}
	return true
}

// Leaf is a string or a number within a JSON value.
type Leaf struct {
	Name   string // names of the enclosing members, joined by dots; only the outer ones if too long
	Text   string // decoded; a number as spelled
	Number bool
}

// maxLeafName bounds joined names, because each member of an object repeats the names around it.
const maxLeafName = 1 << 10

// Leaves returns the strings and numbers of text in order, without names, up to the point where text is not JSON. They
// share memory with text, so nobody may change text.
func Leaves(text []byte) (list []Leaf) {
	s := scanner{text: text}
	s.space()
	s.leaves(1, "", &list)
	return list
}

// joined returns the name of a member within a named value.
func joined(name, member string) string {
	switch {
	case member == "", name != "" && len(name)+len(member) > maxLeafName:
		return name
	case name == "":
		return member
	}
	return name + "." + member
}

func (s *scanner) leaves(depth int, name string, list *[]Leaf) bool {
	start := s.at
	if start == len(s.text) || depth > maxNesting {
		return false
	}
	switch c := s.text[start]; c {
	case '{':
		s.at++
		if s.byte('}') {
			return true
		}
		for {
			quoted, ok := s.name()
			if !ok {
				return false
			}
			if !s.leaves(depth+1, joined(name, textscan.String(unquoted(quoted))), list) {
				return false
			}
			if !s.byte(',') {
				return s.byte('}')
			}
		}
	case '[':
		s.at++
		if s.byte(']') {
			return true
		}
		for {
			s.space()
			if !s.leaves(depth+1, name, list) {
				return false
			}
			if !s.byte(',') {
				return s.byte(']')
			}
		}
	case '"':
		if !s.quoted() {
			return false
		}
		*list = append(*list, Leaf{Name: name, Text: textscan.String(unquoted(s.text[start:s.at]))})
	case 't', 'f', 'n':
		return s.value(depth, depth)
	default:
		if !s.number() {
			return false
		}
		*list = append(*list, Leaf{Name: name, Text: textscan.String(s.text[start:s.at]), Number: true})
	}
	return true
}

// shared is the length from which a decoded string shares memory with its text.
const shared = 1 << 10

// decoded returns the content of a valid quoted string.
func decoded(quoted []byte) string {
	inner := unquoted(quoted)
	if len(inner) < shared {
		return string(inner)
	}
	return textscan.String(inner) // nobody changes what was read
}
