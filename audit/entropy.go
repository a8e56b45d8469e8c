package audit

import "math"

// Names that often hold a secret. The value counts as a secret only if it looks random.
var (
	keyLikeEnds = []string{"key", "keys", "signature", "sig", "hmac", "seed", "salt", "nonce", "session", "sessionid", "sid", "csrf", "code", "oauth", "sas"}
	// A name with one of these ends never holds a secret, whatever its value looks like.
	openEnds = []string{"publickey", "pubkey", "primarykey", "foreignkey", "sortkey", "partitionkey", "statuscode", "exitcode", "sourcecode", "errorcode"}
)

const (
	minRandom  = 20  // bytes: shorter values are more often names of keys than keys
	maxRandom  = 256 // bytes that are looked at
	minEntropy = 3.3 // bits per byte: random hex has 3.3 at this length, prose has less, and blanks
)

// keyLike reports whether the value of a member, option or variable of this name is a secret if it looks random.
func keyLike(name string) bool {
	var buf [maxName]byte
	folded := foldName(buf[:0], name)
	for _, end := range openEnds {
		if hasSuffix(folded, end) {
			return false
		}
	}
	for _, end := range keyLikeEnds {
		if hasSuffix(folded, end) {
			return true
		}
	}
	return false
}

// looksRandom reports whether a text is one long word with letters and digits and no pattern.
func looksRandom(s string) bool {
	if len(s) < minRandom {
		return false
	}
	s = s[:min(len(s), maxRandom)]
	var counts [256]int
	letter, digit := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !isTokenByte(c) {
			return false
		}
		digit = digit || isDigit(c)
		letter = letter || isAlnum(c) && !isDigit(c)
		counts[c]++
	}
	if !letter || !digit {
		return false
	}
	entropy := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			entropy -= p * math.Log2(p)
		}
	}
	return entropy >= minEntropy
}
