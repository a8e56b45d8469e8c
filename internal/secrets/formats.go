package secrets

import (
	_ "embed"
	"math"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"callgate/audit"
	"callgate/internal/lazyregexp"
	"callgate/internal/textscan"
)

// Many credentials can be recognized by their form. The forms come from gitleaks, as data: gitleaks.json names the
// version, and gitleaks.LICENSE is the licence.

//go:embed gitleaks.json
var gitleaks []byte

// format is one rule of gitleaks.
type format struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Keywords []string `json:"keywords"` // in lower case; a text without any of them has no such credential
	Entropy  float64  `json:"entropy"`  // least entropy of the credential, in bits per byte
	Group    int      `json:"group"`    // the group of Regex that is the credential; 0: the first that matched

	compiled func() *regexp.Regexp
	reach    func() reach
}

// formats holds the rules by the first two bytes of their keywords. A regular expression is compiled when a text first
// contains one of its keywords.
var formats = sync.OnceValue(func() map[[2]byte][]*keyword {
	var file struct {
		Rules []*format `json:"rules"`
	}
	if err := json.Unmarshal(gitleaks, &file); err != nil {
		panic(err) // the file is part of the program, and a test reads it
	}
	table := map[[2]byte][]*keyword{}
	for _, f := range file.Rules {
		f.compiled = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(f.Regex) })
		f.reach = sync.OnceValue(func() reach {
			r, err := reachOf(f.Regex, f.Keywords)
			if err != nil {
				panic(err) // as above
			}
			return r
		})
		for _, k := range f.Keywords {
			start := [2]byte{k[0], k[1]}
			table[start] = append(table[start], &keyword{text: k, format: f})
		}
	}
	return table
})

// keywords holds the keywords of all formats.
var keywords = sync.OnceValue(func() (list []string) {
	for _, of := range formats() {
		for _, k := range of {
			list = append(list, k.text)
		}
	}
	return list
})

type keyword struct {
	text   string
	format *format
}

// starts holds the keywords by their first two bytes, ignoring case, and the bytes that can follow those. Most of a
// text is skipped by it, so it must fit into the processor's first cache: it maps each byte to one of a few classes.
var starts = sync.OnceValue(func() *beginnings {
	s := &beginnings{lists: [][]*keyword{nil}, thirds: []uint64{0}}
	count := uint8(0)
	classOf := func(b byte) uint8 {
		lower := unicode.ToLower(rune(b))
		if s.class[lower] == 0 {
			count++
			s.class[lower], s.class[unicode.ToUpper(lower)] = count, count
		}
		return s.class[lower]
	}
	for start, list := range formats() {
		s.list[int(classOf(start[0]))*classes+int(classOf(start[1]))] = uint8(len(s.lists))
		third := uint64(0)
		for _, k := range list {
			if len(k.text) > 2 {
				third |= 1 << classOf(k.text[2])
				continue
			}
			for b := range byte(utf8.RuneSelf) { // see runsOn
				if ofCredential(b) {
					third |= 1 << classOf(b)
				}
			}
		}
		s.lists, s.thirds = append(s.lists, list), append(s.thirds, third)
	}
	if len(s.lists) > 1<<8 || count >= classes {
		panic("more beginnings of keywords than the table has room for")
	}
	return s
})

// classes is how many classes of bytes there can be, including that of bytes in no keyword.
const classes = 64

type beginnings struct {
	class  [1 << 8]uint8
	list   [classes * classes]uint8 // index in lists by two classes
	lists  [][]*keyword             // the first is empty
	thirds []uint64                 // parallel to lists: a bit for each class of a possible third byte
}

// Formed is a credential found in a text by its form.
type Formed struct{ Kind, Value string }

// Words reports what a text contains. Words are in lower case, and match in any case.
type Words interface {
	MayHold(word string) bool // answers fast
	Holds(word string) bool
	HoldsSecret() bool // whether audit.Secrets finds any
}

// Form returns the first credential that it recognizes in a text by its form: plain, percent-encoded, or in base64 or
// hex, up to two layers deep. fine, if not nil, reports whether a credential may go anywhere and is to be ignored.
// known, if not nil, describes the text: it saves searching a long text without any keyword.
func Form(text string, known Words, fine func(string) bool) (Formed, bool) {
	plain := textscan.IsASCII(text)
	if known != nil && (len(text) > searched || !plain) {
		known = nil // known describes another text than the one searched
	}
	if text = text[:min(len(text), searched)]; !plain {
		text = visible(text)
	}
	harmless := func(value string) bool { return refers(value) || fine != nil && fine(value) }
	for i, reading := range readings(text, 2) {
		if i > 0 {
			known = nil
		}
		if f, ok := formed(reading, known, harmless); ok {
			return f, true
		}
	}
	return Formed{}, false
}

// refers reports whether a value only names a credential: what is not a variable or a substitution of a shell is too
// short for one.
func refers(value string) bool {
	if strings.IndexByte(value, '$') < 0 && strings.IndexByte(value, '`') < 0 {
		return false
	}
	return len(scheme.ReplaceAllString(reference.ReplaceAllString(value, ""), "")) < shortest
}

// reference matches a variable or a substitution, which may be cut off, and scheme what stands before a token.
var (
	scheme    = lazyregexp.New(`^(?i:bearer|basic|token) `)
	reference = lazyregexp.New("\\$\\{[^}]*\\}?|\\$\\([^)]*\\)?|\\$[A-Za-z_]\\w*|`[^`]*`?")
)

// mayHoldKeyword reports whether a text may contain a keyword of a format. If it may contain many, as noise does, it is
// not searched for each.
func mayHoldKeyword(known Words) bool {
	searched := 0
	for _, k := range keywords() {
		if !known.MayHold(k) {
			continue
		}
		if searched++; searched > fewKeywords || known.Holds(k) {
			return true
		}
	}
	return false
}

// fewKeywords is how many searches of a text cost as much as looking for all formats.
const fewKeywords = 4

// visible returns the text without invisible characters, which may be put into a credential to hide it.
func visible(text string) string {
	hidden := func(r rune) bool { return r > unicode.MaxASCII && unicode.Is(unicode.Cf, r) }
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, text)
}

// formed is Form for one reading.
func formed(text string, known Words, fine func(string) bool) (Formed, bool) {
	if known == nil || mayHoldKeyword(known) {
		list, where := suspects(text)
		for _, f := range list {
			if value, ok := f.in(text, where[f], fine); ok {
				return Formed{strings.ReplaceAll(f.ID, "-", " "), value}, true
			}
		}
	}
	if known != nil && !known.HoldsSecret() {
		return Formed{}, false
	}
	for start, end := range audit.Secrets(text) {
		if value := text[start:end]; carriesPower(text, start, value) && (fine == nil || !fine(value)) {
			return Formed{kind(value), value}, true
		}
	}
	return Formed{}, false
}

// suspects returns the formats with a keyword in the text, in order, and the parts where their matches can be.
func suspects(text string) (list []*format, where map[*format]parts) {
	begins := starts()
	first, second := 0, 0
	for i := range len(text) {
		third := int(begins.class[text[i]])
		of := begins.list[(first*classes+second)%len(begins.list)]
		first, second = second, third
		if begins.thirds[of]>>third&1 == 0 {
			continue
		}
		i := i - 2
		for _, k := range begins.lists[of] {
			end := i + len(k.text)
			if end > len(text) || !strings.EqualFold(text[i:end], k.text) {
				continue
			}
			if len(k.text) < shortKeyword && !runsOn(text[end:]) {
				continue
			}
			if where == nil {
				where = map[*format]parts{}
			}
			if where[k.format] == nil {
				list = append(list, k.format)
			}
			where[k.format] = where[k.format].near(text, i, end, k.format.reach())
		}
	}
	return list, where
}

// shortKeyword is the least length of a keyword that is significant by itself: many words contain "ey" or "sk". Shorter
// keywords begin the credential, so a long word must follow.
const shortKeyword = 4

// runsOn reports whether a text begins with twelve bytes that a credential can contain.
func runsOn(text string) bool {
	if len(text) < 12 {
		return false
	}
	for i := range 12 {
		if !ofCredential(text[i]) {
			return false
		}
	}
	return true
}

func ofCredential(c byte) bool { return codeByte[c] || c == '.' || c == '~' || c == '=' }

// in returns a credential of the format in one of the parts of a text.
func (f *format) in(text string, where parts, fine func(string) bool) (string, bool) {
	for _, part := range where {
		part := text[part.start:part.end]
		if r := f.reach(); !r.may(part) {
			continue
		}
		for _, m := range f.compiled().FindAllStringSubmatch(part, -1) {
			if value := f.credential(m); entropy(value) >= f.Entropy && (fine == nil || !fine(value)) {
				return value, true
			}
		}
	}
	return "", false
}

// credential returns the credential in a match: the format's group, or the first that matched, or the whole match.
func (f *format) credential(m []string) string {
	if f.Group > 0 && f.Group < len(m) {
		return m[f.Group]
	}
	for _, group := range m[1:] {
		if group != "" {
			return group
		}
	}
	return m[0]
}

// entropy returns the Shannon entropy of s in bits per byte.
func entropy(s string) (bits float64) {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
