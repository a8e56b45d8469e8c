// Package terms splits code and prose into search terms: words, and identifiers whole and in parts, stemmed.
package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/cjk"
	porterstemmer "github.com/blevesearch/go-porterstemmer"
)

// maxToken is the length in bytes above which a token counts as noise: base64, minified code, hashes.
const maxToken = 64

// Tokenize splits s at camelCase, snake_case and digits. It calls part with each word, in lower case, and whole with
// each identifier that has several words. The slices are valid only during the call.
func Tokenize(s string, part, whole func([]byte)) {
	eachWord(s, func(word string) { tokenizeWord(word, part, whole) })
}

// eachWord calls do with every word of s as written, identifiers whole. It skips words that are too long.
func eachWord(s string, do func(string)) {
	for i := 0; i < len(s); {
		if class[s[i]] == separator {
			i++
			continue
		}
		start := i
		for i < len(s) && class[s[i]] != separator {
			i++
		}
		if word := s[start:i]; hasCJK(word) {
			eachCJK(word, do)
		} else if len(word) <= maxToken {
			do(word)
		}
	}
}

// hasCJK reports whether a word contains characters of a script that puts no spaces between words.
func hasCJK(word string) bool {
	return strings.IndexFunc(word, isCJK) >= 0
}

func isCJK(r rune) bool {
	return r >= firstCJK && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// firstCJK is below all of these scripts except the Hangul Jamo, which composed text does not use.
const firstCJK = 0x2E80

var (
	cjkWidth = cjk.NewCJKWidthFilter()
	cjkPairs = cjk.NewCJKBigramFilter(true)
)

// eachCJK calls do with every character and every pair of neighbours, so that a part of a word can be found, and with
// the words of other scripts in between.
func eachCJK(text string, do func(string)) {
	var tokens analysis.TokenStream
	begun := false // a word of another script may continue
	for i, r := range text {
		size := utf8.RuneLen(r)
		if size < 0 || !isCJK(r) && !unicode.In(r, unicode.L, unicode.N, unicode.M) && r != '_' {
			begun = false
			continue
		}
		if !isCJK(r) && begun {
			last := tokens[len(tokens)-1]
			last.Term, last.End = []byte(text[last.Start:i+size]), i+size
			continue
		}
		token := &analysis.Token{Term: []byte(text[i : i+size]), Start: i, End: i + size, Position: len(tokens) + 1, Type: analysis.AlphaNumeric}
		if begun = !isCJK(r); !begun {
			token.Type = analysis.Ideographic
		}
		tokens = append(tokens, token)
	}
	for _, token := range cjkPairs.Filter(cjkWidth.Filter(tokens)) {
		if len(token.Term) <= maxToken {
			do(string(token.Term))
		}
	}
}

// tokenizeWord is Tokenize for one word from eachWord.
func tokenizeWord(word string, part, whole func([]byte)) {
	if strings.IndexFunc(word, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		if lowered := []byte(strings.ToLower(word)); len(lowered) <= maxToken {
			part(lowered)
		}
		return
	}
	var buf [maxToken]byte
	splitWord(word, buf[:copy(buf[:], word)], part, whole)
}

// splitWord lower-cases word, a copy of the ASCII identifier id, and calls part with its parts and whole with itself.
func splitWord(id string, word []byte, part, whole func([]byte)) {
	for i, c := range word {
		if class[c] == upper {
			word[i] = c + 'a' - 'A'
		}
	}
	parts, start := 0, -1
	for i := range len(id) {
		c := class[id[i]]
		if start >= 0 && startsPart(id, i) {
			part(word[start:i])
			parts++
			start = -1
		}
		if start < 0 && c != joiner {
			start = i
		}
	}
	if start >= 0 {
		part(word[start:])
		parts++
	}
	if parts > 1 {
		whole(word)
	}
}

// startsPart reports whether a part ends before id[i]: at _, between letters and digits, and where upper case begins
// or, as in HTTPServer, ends.
func startsPart(id string, i int) bool {
	before, c := class[id[i-1]], class[id[i]]
	switch {
	case c == joiner, before == lower && c == upper, (before == digit) != (c == digit):
		return true
	case before == upper && c == upper:
		return i+1 < len(id) && class[id[i+1]] == lower
	}
	return false
}

const (
	separator = iota
	lower     // and every byte of a rune that is not ASCII
	upper
	digit
	joiner
)

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z' || c >= utf8.RuneSelf:
			t[c] = lower
		case c >= 'A' && c <= 'Z':
			t[c] = upper
		case c >= '0' && c <= '9':
			t[c] = digit
		case c == '_':
			t[c] = joiner
		}
	}
	return t
}()

// Stem returns the Porter stem of a lower-case word. It returns words with other characters than a to z unchanged.
func Stem(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return string(porterstemmer.StemWithoutLowerCasing([]rune(word)))
}

// Stop holds words that say nothing about a query. They are indexed, because code has variables with such names, but
// they count in a query only if it has no other words.
var Stop = Set(`a an and are as at be been being but by can could did do does doing for from had has
	have having how i if in into is it its itself just may me might must my no not of on one only or other our
	out over own same she should so some such than that the their them then there these they this those through
	to too under until up us very was we were what when where which while who whom why will with would you your`)

// Set returns the set of the words in a text.
func Set(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// InWord reports whether the byte can be part of a word or identifier.
func InWord(c byte) bool { return class[c] != separator }
