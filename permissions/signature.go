package permissions

// signature is the set of byte pairs that a text holds, each hashed to one of 256 bits, with a pair for its
// beginning and one for its end. A pattern's signature holds the pairs of its literal text, so a value whose
// signature lacks one of them cannot match. It spares a long rule list nearly all of its comparisons.
type signature [4]uint64

// edge stands for the beginning and the end of a text. A NUL byte in a value makes more match, never less.
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

// lacks reports whether s misses something of need.
func (s *signature) lacks(need *signature) bool {
	return need[0]&^s[0] != 0 || need[1]&^s[1] != 0 || need[2]&^s[2] != 0 || need[3]&^s[3] != 0
}

// formSignature is the signature of all spellings together.
func formSignature(form Form) (s signature) {
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

// addValue adds what patterns can see of a decoded argument.
func (s *signature) addValue(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			s.addValue(member)
		}
	case []any:
		for _, element := range v {
			s.addValue(element)
		}
	default:
		s.addWhole(scalarText(v))
	}
}

// everything is the signature that lacks nothing.
var everything = signature{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

// or returns what s or t holds, and the needs that s and t have in common.
func (s signature) or(t signature) signature {
	return signature{s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]}
}

func (s signature) and(t signature) signature {
	return signature{s[0] & t[0], s[1] & t[1], s[2] & t[2], s[3] & t[3]}
}

// tokensSignature is what every text that tokens match holds.
func tokensSignature(tokens []globToken) (s signature) {
	for i, t := range tokens {
		if t.kind != tokLiteral {
			continue
		}
		s.addText(t.text)
		if i == 0 {
			s.addPair(edge, t.text[0])
		}
		if i == len(tokens)-1 {
			s.addPair(t.text[len(t.text)-1], edge)
		}
	}
	return s
}
