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
	"callgate/internal/textscan"
)

// Many credentials can be recognised by their form. The forms come from gitleaks, as data: gitleaks.json says which
// version, and gitleaks.LICENSE under which licence.

//go:embed gitleaks.json
var gitleaks []byte

// format is one rule of gitleaks.
type format struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Keywords []string `json:"keywords"` // a text that holds none of them, in lower case, holds no such credential
	Entropy  float64  `json:"entropy"`  // bits a character that the credential has at least
	Group    int      `json:"group"`    // of Regex, that is the credential; 0 is the first there is

	compiled func() *regexp.Regexp
	reach    func() reach
}

// formats are the rules by the first two bytes of their keywords. A regular expression is compiled when a text first
// holds one of its keywords.
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
				panic(err) // likewise
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

// keywords are those of all formats.
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

// starts tells which keywords begin with two bytes, without regard to case, and what can stand behind those. Most of a
// text is passed over by it, so it is small enough to stay in the processor's first cache: it knows each byte as one of
// a few classes.
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
			for b := range byte(utf8.RuneSelf) { // as runsOn has it
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

// classes is how many classes of bytes there can be, with the class of those that no keyword begins with.
const classes = 64

type beginnings struct {
	class  [1 << 8]uint8
	list   [classes * classes]uint8 // index in lists by two classes
	lists  [][]*keyword             // the first is empty
	thirds []uint64                 // beside lists: a bit for each class that the third byte can have
}

// Formed is a credential that a text holds.
type Formed struct{ Kind, Value string }

// Words is what is known of a text: whether it holds words, which are in lower case, in any case.
type Words interface {
	MayHold(word string) bool // answers fast
	Holds(word string) bool
	HoldsSecret() bool // whether audit.Secrets finds any
}

// Form returns the first credential that a text holds by its form: as it is, percent-encoded, or in base64 or hex, up
// to two layers. fine, when not nil, passes over what may go anywhere. known, when not nil, is what is known of the
// text: a long one that holds no word of a format is not looked at for each.
func Form(text string, known Words, fine func(string) bool) (Formed, bool) {
	plain := textscan.IsASCII(text)
	if known != nil && (len(text) > searched || !plain) {
		known = nil // it is not that text which is looked at
	}
	if text = text[:min(len(text), searched)]; !plain {
		text = visible(text)
	}
	for i, reading := range readings(text, 2) {
		if i > 0 {
			known = nil
		}
		if f, ok := formed(reading, known, fine); ok {
			return f, true
		}
	}
	return Formed{}, false
}

// mayHoldKeyword reports whether a text may hold a keyword of a format. One that may hold many, as noise does, is not
// searched for each.
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

// fewKeywords are as many as a text is searched for in the time of a look at all.
const fewKeywords = 4

// visible is the text without the characters that show nothing: they may stand within a credential to hide it.
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

// suspects are the formats of which a text holds a keyword, in the order in which it does, and where they can be.
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

// shortKeyword is how long a keyword is that says something by itself: many words hold "ey" or "sk". Of the formats
// with shorter ones the credential begins there, so that a long word has to follow.
const shortKeyword = 4

// runsOn reports whether a text begins with twelve bytes of a credential.
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

// in returns a credential of the format that stands in one of the parts of a text.
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

// credential is what a match holds: the group of the format, or the first there is.
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

// entropy is Shannon's, in bits a byte.
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
