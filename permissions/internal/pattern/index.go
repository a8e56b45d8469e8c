package pattern

import (
	"iter"
	"slices"
)

// signature is the set of byte pairs that a text holds, each hashed to one of 256 bits, with a pair for its beginning
// and one for its end. A pattern's signature holds the pairs of its literal text, so a value whose signature lacks one
// of them cannot match. It avoids nearly all comparisons of a long rule list.
type signature [4]uint64

// edge stands for the beginning and the end of a text. A NUL byte in a value can only add candidates.
const edge = 0

func (s *signature) addPair(a, b byte) {
	h := (uint16(a)<<8 | uint16(b)) * 40503 >> 8
	s[h>>6] |= 1 << (h & 63)
}

// addText adds the pairs inside a text.
func (s *signature) addText(text string) {
	for i := 1; i < len(text); i++ {
		s.addPair(text[i-1], text[i])
	}
}

// lacks reports whether s misses a bit of need.
func (s *signature) lacks(need *signature) bool {
	return need[0]&^s[0] != 0 || need[1]&^s[1] != 0 || need[2]&^s[2] != 0 || need[3]&^s[3] != 0
}

// formSignature returns the signature of all spellings together.
func formSignature(form []string) (s signature) {
	for _, v := range form {
		s.addWhole(v)
	}
	return s
}

// addWhole adds the pairs of a text with its beginning and its end.
func (s *signature) addWhole(text string) {
	s.addText(text)
	if text != "" {
		s.addPair(edge, text[0])
		s.addPair(text[len(text)-1], edge)
	}
}

// eachScalar calls do with every text that patterns can see of a decoded argument.
func eachScalar(v any, do func(text string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			eachScalar(member, do)
		}
	case []any:
		for _, element := range v {
			eachScalar(element, do)
		}
	default:
		do(scalarText(v))
	}
}

// everything is the signature with all bits set.
var everything = signature{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// or returns the union of two signatures.
func (s signature) or(t signature) signature {
	return signature{s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]}
}

// and returns the intersection of two signatures.
func (s signature) and(t signature) signature {
	return signature{s[0] & t[0], s[1] & t[1], s[2] & t[2], s[3] & t[3]}
}

// tokensSignature returns the signature that every text which matches the tokens has.
func tokensSignature(tokens []globToken) (s signature) {
	for _, text := range literals(tokens) {
		s.addText(text)
	}
	return s
}

// literals returns texts that every match of the tokens contains, if the match stands between two edges.
func literals(tokens []globToken) (list []string) {
	for i, t := range tokens {
		if t.kind != tokLiteral {
			continue
		}
		text := t.text
		if i == 0 {
			text = "\x00" + text
		}
		if i == len(tokens)-1 {
			text += "\x00"
		}
		list = append(list, text)
	}
	return list
}

// literals returns the literals of the glob's tokens, or nil if there are none.
func (g *Glob) literals() []string {
	if g.not != nil {
		return nil
	}
	var p globParser
	tokens, err := p.parse(g.text, 0)
	if err != nil {
		return nil
	}
	return literals(optionalTail(tokens))
}

// Index finds the patterns of a list that can match a form, without testing each pattern if there are many. Add the
// patterns, then call Build.
type Index struct {
	needs   []signature
	added   []entry            // the patterns, until Build
	argued  bool               // some patterns are about arguments
	grams   map[uint64][]int32 // indexes of patterns by a gram that they need, ascending; nil for a short list
	lengths int                // the lengths of these grams, one bit each
	others  []int32            // indexes of patterns that need no gram, ascending
}

// Add adds a pattern.
func (m *Index) Add(p *Value) { m.add(entry{p, false}, p.needs) }

// AddBare adds a pattern that is the bare name of a command: a candidate for every text that begins with it. It MUST
// NOT be about an argument.
func (m *Index) AddBare(p *Value) { m.add(entry{p, true}, p.bareHead) }

func (m *Index) add(e entry, needs signature) {
	m.needs = append(m.needs, needs)
	m.argued = m.argued || e.argument != nil
	m.added = append(m.added, e)
}

// entry is an added pattern. bare means that it was added as the name of a command.
type entry struct {
	*Value
	bare bool
}

// readings returns, for each thing that the pattern may be about, texts that every match contains.
func (e entry) readings() [][]string {
	switch {
	case e.bare:
		return [][]string{{"\x00" + e.Bare}}
	case e.whole != "":
		return [][]string{nil}
	case e.argument != nil:
		return [][]string{e.argument.glob.literals(), e.Glob.literals()}
	}
	return [][]string{e.Glob.literals()}
}

// longList is the length from which a list has grams.
const longList = 256

// Build builds the grams. It files each pattern under one of the longest grams that all its readings need, with the
// fewest patterns.
func (m *Index) Build() {
	added := m.added
	if m.added = nil; len(added) < longList {
		return
	}
	m.grams = make(map[uint64][]int32, len(added))
	for i, e := range added {
		all := e.readings()
		best, length := uint64(0), 0
		for text, n := range gramsOf(all[0]...) {
			if n >= length && (n > length || len(m.grams[text]) < len(m.grams[best])) && neededByAll(all[1:], text) {
				best, length = text, n
			}
		}
		if length == 0 {
			m.others = append(m.others, int32(i))
		} else {
			m.grams[best] = append(m.grams[best], int32(i))
			m.lengths |= length
		}
	}
}

func neededByAll(readings [][]string, gram uint64) bool {
	for _, texts := range readings {
		found := false
		for g := range gramsOf(texts...) {
			found = found || g == gram
		}
		if !found {
			return false
		}
	}
	return true
}

// gramsOf yields all pieces of 8, 4 and 2 bytes, as numbers, and their lengths.
func gramsOf(texts ...string) iter.Seq2[uint64, int] {
	return func(yield func(uint64, int) bool) {
		for _, text := range texts {
			last := uint64(0)
			for i := range len(text) {
				last = last<<8 | uint64(text[i])
				if i > 0 && !yield(last&0xffff, 2) || i > 2 && !yield(last&0xffffffff, 4) || i > 6 && !yield(last, 8) {
					return
				}
			}
		}
	}
}

// Candidates iterates over the patterns that can match, from the last to the first.
type Candidates struct {
	of     *Index
	holds  signature
	before int // only patterns before this index remain

	filed         bool
	found, others []int32
}

// Backward returns the candidates among the first n patterns. It MAY use room to store them.
func (m *Index) Backward(room []int32, n int, form []string, args *Arguments) Candidates {
	c := Candidates{of: m, before: n, holds: formSignature(form), filed: m.grams != nil}
	if m.argued {
		c.holds = c.holds.or(args.signature())
		c.filed = c.filed && c.holds != everything
	}
	if c.filed = c.filed && n > perByte*m.length(form, args); !c.filed {
		return c
	}
	for _, v := range form {
		room = m.filed(room, v)
	}
	if m.argued {
		room = append(room, m.filedUnder(args)...)
	}
	slices.Sort(room)
	c.found, c.others = room, m.others
	return c
}

// perByte is how many patterns can be tested in the time that the lookup of one byte's grams takes.
const perByte = 32

// length returns about how many bytes the patterns look at.
func (m *Index) length(form []string, args *Arguments) (n int) {
	for _, v := range form {
		n += len(v)
	}
	if m.argued {
		n += len(args.Raw)
	}
	return n
}

// filed appends the patterns filed under a gram of the text.
func (m *Index) filed(found []int32, text string) []int32 {
	last := uint64(edge)
	for i := range len(text) + 1 {
		b := uint64(edge)
		if i < len(text) {
			b = uint64(text[i])
		}
		last = last<<8 | b
		if m.lengths&2 != 0 {
			found = append(found, m.grams[last&0xffff]...)
		}
		if m.lengths&4 != 0 && i > 1 {
			found = append(found, m.grams[last&0xffffffff]...)
		}
		if m.lengths&8 != 0 && i > 5 {
			found = append(found, m.grams[last]...)
		}
	}
	return found
}

func (m *Index) filedUnder(args *Arguments) (found []int32) {
	if root, ok := args.decoded(); ok {
		eachScalar(root, func(text string) { found = m.filed(found, text) })
	}
	return found
}

// Next returns the index of the next candidate, or -1 after the last.
func (c *Candidates) Next() int {
	for !c.filed && c.before > 0 {
		if c.before--; !c.holds.lacks(&c.of.needs[c.before]) {
			return c.before
		}
	}
	for len(c.found)+len(c.others) > 0 {
		from := &c.found
		if len(c.found) == 0 || len(c.others) > 0 && c.others[len(c.others)-1] > c.found[len(c.found)-1] {
			from = &c.others
		}
		i := int((*from)[len(*from)-1])
		*from = (*from)[:len(*from)-1]
		if i < c.before && !c.holds.lacks(&c.of.needs[i]) {
			c.before = i // a text can contain a gram twice
			return i
		}
	}
	return -1
}
