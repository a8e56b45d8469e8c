// Package flow stores hashes of the content of results and of what the user's side said.
//
// It recognizes the same words, addresses and IDs in the arguments of later calls. It keeps only hashes, in memory. The
// gate decides what to ask about.
package flow

import (
	"crypto/rand"
	"encoding/binary"
	"iter"
	"strings"
	"time"
	"unicode"

	"callgate/internal/settled"
)

// Label describes the content of a result.
type Label uint8

const (
	Private   Label = 1 << iota // the user's own data
	Untrusted                   // written by others
	Secret                      // credentials
	Orders                      // reads like instructions to the model
)

// Speaker is someone on the user's side who said something.
type Speaker uint8

const (
	Prompt Speaker = 1 << iota // the user, to the model
	Answer                     // an approver, by a yes
	Record                     // the user's own records: results that nobody else writes to, such as contacts
	Files                      // the files of the workspace
)

// Source is a result and where it came from.
type Source struct {
	Call   string // its ID
	Tool   string // qualified name
	Server string
	At     time.Time
	Label  Label
	Guess  bool // its tool has no labels, so it may contain anything
}

// Limits of a Memory, which takes at most 4.5 MiB for hashes.
const (
	resultEntries = 1 << 18 // of 8 bytes in each half
	saidEntries   = 1 << 15
	maxSources    = 1 << 12
	maxResult     = 4 << 20 // bytes of one result that are read
	maxArgument   = 1 << 20 // bytes of one call's arguments
)

// Memory is what one session has seen. The zero value is ready to use and knows nothing.
type Memory struct {
	mu      settled.Mutex
	seed    uint64
	results table // Label flags
	said    table // Speaker flags
	any     Label
	sources []Source
	next    int               // where the next source goes once there are maxSources
	labels  map[string]Source // by tool: the last result, with the labels of all its results
	reader  scanner
	aliases map[uint64][]uint64 // ID → hashes of the words that name it
}

// Begin announces that a result is about to be learned. Queries wait until End is called. The caller MUST call End
// once.
func (m *Memory) Begin() { m.mu.Begin() }

// End ends the wait that Begin started.
func (m *Memory) End() { m.mu.End() }

// lock waits until no result is about to be learned, and takes mu.
func (m *Memory) lock() {
	m.mu.LockSettled()
	m.start()
}

// start chooses the seed. The caller holds mu.
func (m *Memory) start() {
	if m.seed != 0 {
		return
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	m.seed = binary.LittleEndian.Uint64(b[:]) | 1
	m.reader.seed = m.seed
	m.results.limit, m.said.limit = resultEntries, saidEntries
}

// Saw remembers the texts of a result.
func (m *Memory) Saw(s Source, texts iter.Seq[string]) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start()
	if s.Label == 0 {
		return
	}
	at := len(m.sources)
	if at < maxSources {
		m.sources = append(m.sources, s)
	} else {
		at = m.next
		m.sources[at] = s
		m.next = (m.next + 1) % maxSources
	}
	left := maxResult
	for text := range texts {
		text = text[:min(len(text), left)]
		m.note(text, &m.results, uint8(s.Label), uint16(at))
		if s.Label&Private != 0 { // in what anybody can write, names mean nothing
			m.relate(text, s.Label&Untrusted != 0)
		}
		if left -= len(text); left <= 0 {
			break
		}
	}
	if m.labels == nil {
		m.labels = map[string]Source{}
	}
	s.Label |= m.labels[s.Tool].Label
	m.labels[s.Tool] = s
	m.any |= s.Label
}

// Relate reads which IDs and names belong together in a JSON text of a private result, whose pieces Saw gets.
func (m *Memory) Relate(text string, untrusted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start()
	m.relate(text, untrusted)
}

// Said remembers what a speaker said.
func (m *Memory) Said(by Speaker, texts ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.start()
	for _, text := range texts {
		m.note(text[:min(len(text), maxArgument)], &m.said, uint8(by), 0)
	}
}

// note stores the prints of a text in a table. The caller holds mu.
func (m *Memory) note(text string, t *table, flags uint8, source uint16) {
	r := &m.reader
	r.reset()
	r.into = sink{t, flags, source}
	r.scan(text, layers)
	r.flush()
}

// Seen returns the newest source with the label, except of tools for which leftOut, which may be nil, is true.
func (m *Memory) Seen(l Label, leftOut func(tool string) bool) (s Source, ok bool) {
	if m == nil {
		return Source{}, false
	}
	m.lock()
	defer m.mu.Unlock()
	if m.any&l == 0 {
		return Source{}, false
	}
	for _, last := range m.labels {
		if last.Label&l != 0 && (!ok || last.At.After(s.At)) && (leftOut == nil || !leftOut(last.Tool)) {
			s, ok = last, true
		}
	}
	return s, ok
}

// Known is what is known about one value.
type Known struct {
	Said Speaker // everybody on the user's side who said it
	In   Label   // the labels of the results that contained it
	From Source  // one of them; zero if there is none
}

// Know returns where a value occurred: an address, a name, an ID, an amount. A value of several words occurred where
// all of its words did.
func (m *Memory) Know(value string) Known {
	m.lock()
	defer m.mu.Unlock()
	return m.know(value)
}

func (m *Memory) know(value string) (k Known) {
	if len(value) > maxArgument {
		return k
	}
	m.reader.reset()
	m.reader.scan(value, 0)
	whole := !strings.ContainsAny(strings.TrimSpace(value), " \t\r\n")
	k.Said, k.In = 0xff, 0xff
	any := false
	// A value without white space is one token: only its longest print counts. In other values all words count.
	prints := m.reader.prints
	if whole {
		var longest *print
		for i := range prints {
			if p := &prints[i]; !p.span && (longest == nil || p.end-p.start >= longest.end-longest.start) {
				longest = p
			}
		}
		if longest != nil {
			prints = []print{*longest}
		}
	}
	for i := range prints {
		p := &prints[i]
		if p.span {
			continue
		}
		any = true
		k.Said &= m.saidBy(p.hash)
		flags, source := m.results.get(p.hash)
		if k.In &= Label(flags); k.In != 0 && int(source) < len(m.sources) {
			k.From = m.sources[source]
		}
	}
	if !any {
		return Known{}
	}
	if k.In == 0 {
		k.From = Source{}
	}
	return k
}

// saidBy returns who on the user's side said the word, or named the thing whose ID it is.
func (m *Memory) saidBy(hash uint64) Speaker {
	flags, _ := m.said.get(hash)
	by := Speaker(flags)
	if names := m.aliases[hash]; by&Prompt == 0 && len(names) > 0 {
		all := Speaker(0xff)
		for _, n := range names {
			f, _ := m.said.get(n)
			all &= Speaker(f)
		}
		by |= all
	}
	return by
}

// Match is text of a result found in a value.
type Match struct {
	Text string // as in the value
	From Source
}

// Match returns the longest piece of value that occurred in results with the label, plain or encoded, and that neither
// the user nor an answer said. Short codes count too: six characters with a digit.
func (m *Memory) Match(value string, label Label) (c Match, ok bool) {
	m.lock()
	defer m.mu.Unlock()
	if m.any&label == 0 {
		return c, false
	}
	value = value[:min(len(value), maxArgument)]
	if strings.IndexByte(value, '\\') >= 0 {
		value = unescaped(value)
	}
	m.reader.reset()
	m.reader.codes = true
	m.reader.scan(value, layers)
	m.reader.codes = false
	best, from, start, end := int32(0), uint16(0), int32(-1), int32(-1)
	for i := range m.reader.prints {
		p := &m.reader.prints[i]
		if !p.span && (p.end-p.start < codeLength || int(p.end) > len(value) || !code(value[p.start:p.end])) {
			continue
		}
		flags, source := m.results.get(p.hash)
		if Label(flags)&label == 0 {
			continue
		}
		if by, _ := m.said.get(p.hash); Speaker(by)&(Prompt|Answer) != 0 {
			continue
		}
		if p.start > end { // a new piece
			start = p.start
		}
		end = max(end, p.end)
		if end-start > best {
			best, from = end-start, source
			c.Text, ok = value[start:min(int(end), len(value))], true
		}
	}
	if ok && int(from) < len(m.sources) {
		c.From = m.sources[from]
	}
	return c, ok
}

// code reports whether a word can be a code by itself: it has a digit, and is not a date, time or version.
func code(word string) bool {
	digit, letter, parted := false, false, false
	for i := range len(word) {
		switch c := word[i]; {
		case isDigit(c):
			digit = true
		case class[c] == wordByte:
			letter = true
		case c == '-' || c == ':' || c == '.' || c == '/' || c == ',':
			parted = true
		case class[c] == wide:
			letter = letter || strings.ContainsFunc(word[i:], unicode.IsLetter)
		}
	}
	return digit && (!parted || letter)
}
