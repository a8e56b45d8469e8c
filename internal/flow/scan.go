package flow

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a text is made of, as hashes that depend neither on case, punctuation and white space, nor on how the text was
// encoded on its way:
//
//	words    runs of letters and digits; of scripts without spaces every character
//	tokens   what stands between white space, quotes and brackets: addresses, URLs, ids, paths; and their parts between
//	         / = & ? # and :
//	numbers  without thousands separators and trailing zeros: 1,200.00 is 1200
//	spans    as many words in a row as it takes to have 12 characters, one for every word
//
// Words, tokens and numbers share one space of hashes, so that "evil.example" is found in a URL and in a sentence.

const (
	layers     = 2  // of encodings that are looked through
	spanLength = 12 // characters of a span
	encodedMin = 16 // characters of something encoded
	codeLength = 6  // characters of a code that tells by itself
)

// print is one hash of a text: of text[start:end], or of something within it when that was encoded.
type print struct {
	hash       uint64
	start, end int32
	span       bool
}

// Classes of bytes.
const (
	other     = iota // ends words and tokens
	wordByte         // letters and digits
	joins            // in tokens, between words
	separates        // in tokens, between parts
	wide             // not ASCII
)

var class, lower = func() (class, low [256]byte) {
	for c := range 256 {
		b := byte(c)
		low[c] = b
		switch {
		case '0' <= b && b <= '9' || 'a' <= b && b <= 'z':
			class[c] = wordByte
		case 'A' <= b && b <= 'Z':
			class[c], low[c] = wordByte, b+'a'-'A'
		case strings.IndexByte("._-+~%$!@", b) >= 0:
			class[c] = joins
		case strings.IndexByte("/=&?#:", b) >= 0:
			class[c] = separates
		case b >= utf8.RuneSelf:
			class[c] = wide
		}
	}
	return class, low
}()

// prime is that of FNV-1a with 64 bits.
const prime = 1099511628211

// scanner collects the prints of texts. Its zero value is ready; it may be used again after reset.
type scanner struct {
	seed   uint64
	prints []print
	flush  func([]print)  // takes the prints as they come, when somebody wants no more of them than that; nil collects them
	codes  bool           // shorter words than a code has are left out
	recent [16]recentWord // a ring: the words of the span that ends with the last one
	first  int            // in it, of the span
	last   int            // behind the newest
	length int            // of recent, in characters
}

type recentWord struct {
	hash   uint64
	start  int32
	length int32
}

func (s *scanner) reset() { s.prints, s.first, s.last, s.length = s.prints[:0], 0, 0, 0 }

// scan adds the prints of a text. What is encoded in it is looked through up to depth layers, and is said to stand where
// the encoding does.
func (s *scanner) scan(text string, depth int) {
	if strings.IndexByte(text, '\\') >= 0 {
		text = unescaped(text)
	}
	s.first, s.last, s.length = 0, 0, 0
	s.within(text, depth)
}

// run is a hash that grows with a text. good is what it was after the last letter or digit, which ended at end.
type run struct {
	hash, good uint64
	start, end int
}

func (s *scanner) within(text string, depth int) {
	seed := s.seed
	var word, part, token run
	inWord, inPart, inToken := false, false, false
	plain, percent := true, false // of the token: it may be encoded
	endWord := func() {
		s.add(word.hash, word.start, word.end)
		s.span(word, word.end-word.start)
		inWord = false
	}
	endPart := func() {
		if part.start != word.start || part.end != word.end {
			s.add(part.good, part.start, part.end)
		}
		inPart = false
	}
	endToken := func(at int) {
		if token.start != part.start || token.end != part.end {
			s.add(token.good, token.start, token.end)
		}
		inToken = false
		whole := text[token.start:at]
		if c := whole[0]; '0' <= c && c <= '9' {
			s.number(text[token.start:token.end], token.start, token.end)
		}
		if depth > 0 && (percent || plain && len(whole) >= encodedMin) {
			s.decode(whole, token.start, at, depth)
		}
	}
	for i := 0; i < len(text); {
		b := text[i]
		switch class[b] {
		case wordByte:
			if !inToken {
				token, part = run{hash: seed, start: i}, run{hash: seed, start: i}
				inToken, inPart, plain, percent = true, true, true, false
			} else if !inPart {
				part, inPart = run{hash: seed, start: i}, true
			}
			if !inWord {
				word, inWord = run{hash: seed, start: i}, true
			}
			if word.hash == token.hash && part.hash == token.hash { // all began here: one hash is that of all
				h := word.hash
				for ; i < len(text) && class[text[i]] == wordByte; i++ {
					h = (h ^ uint64(lower[text[i]])) * prime
				}
				word.hash, part.hash, token.hash = h, h, h
			} else {
				w, p, t := word.hash, part.hash, token.hash
				for ; i < len(text) && class[text[i]] == wordByte; i++ {
					c := uint64(lower[text[i]])
					w, p, t = (w^c)*prime, (p^c)*prime, (t^c)*prime
				}
				word.hash, part.hash, token.hash = w, p, t
			}
			word.end, part.good, part.end, token.good, token.end = i, part.hash, i, token.hash, i
			continue
		case joins, separates:
			if inWord {
				endWord()
			}
			if inToken {
				if class[b] == separates {
					if inPart {
						endPart()
					}
					plain = plain && (b == '/' || b == '=')
				} else {
					if inPart {
						part.hash = (part.hash ^ uint64(b)) * prime
					}
					percent = percent || b == '%'
					plain = plain && (b == '+' || b == '-' || b == '_')
				}
				token.hash = (token.hash ^ uint64(b)) * prime
			}
			i++
			continue
		case wide:
			r, size := utf8.DecodeRuneInString(text[i:])
			if unicode.IsLetter(r) || unicode.IsDigit(r) {
				alone := r >= 0x2e80 // a script that writes no spaces
				if alone && inWord {
					endWord()
				}
				if !inToken {
					token, part = run{hash: seed, start: i}, run{hash: seed, start: i}
					inToken, inPart, percent = true, true, false
				} else if !inPart {
					part, inPart = run{hash: seed, start: i}, true
				}
				if !inWord {
					word, inWord = run{hash: seed, start: i}, true
				}
				plain = false
				c := uint64(unicode.ToLower(r))
				i += size
				word.hash, word.end = (word.hash^c)*prime, i
				part.hash = (part.hash ^ c) * prime
				token.hash = (token.hash ^ c) * prime
				part.good, part.end, token.good, token.end = part.hash, i, token.hash, i
				if alone {
					endWord()
				}
				continue
			}
			if invisible(r) { // what nobody sees parts nothing
				i += size
				continue
			}
			if inWord {
				endWord()
			}
			if inPart {
				endPart()
			}
			if inToken {
				endToken(i)
			}
			i += size
			continue
		}
		if inWord {
			endWord()
		}
		if b == ',' && inToken && i > 0 && isDigit(text[i-1]) && i+1 < len(text) && isDigit(text[i+1]) {
			token.hash, part.hash, plain = (token.hash^',')*prime, (part.hash^',')*prime, false
			i++
			continue
		}
		if inPart {
			endPart()
		}
		if inToken {
			endToken(i)
		}
		i++
	}
	if inWord {
		endWord()
	}
	if inPart {
		endPart()
	}
	if inToken {
		endToken(len(text))
	}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// invisible reports whether a character shows nothing: zero-width ones, tags and the like.
func invisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Mn) }

// enough is how many prints are flushed at once.
const enough = 512

func (s *scanner) add(hash uint64, start, end int) {
	if s.codes && end-start < codeLength {
		return
	}
	if s.flush != nil && len(s.prints) >= enough {
		s.flush(s.prints)
		s.prints = s.prints[:0]
	}
	s.prints = append(s.prints, print{hash: hash, start: int32(start), end: int32(end)})
}

// span adds the span that ends with the word.
func (s *scanner) span(w run, length int) {
	s.recent[s.last&15] = recentWord{w.hash, int32(w.start), int32(length)}
	s.last++
	s.length += length
	for s.length-int(s.recent[s.first&15].length) >= spanLength { // so that at most 12 words stay
		s.length -= int(s.recent[s.first&15].length)
		s.first++
	}
	if s.length < spanLength {
		return
	}
	h := s.seed ^ 0x9e3779b97f4a7c15
	for i := s.first; i < s.last; i++ {
		h = (h ^ s.recent[i&15].hash) * prime
	}
	s.prints = append(s.prints, print{hash: h, start: s.recent[s.first&15].start, end: int32(w.end), span: true})
}

// number adds what the digits of a token mean, where they are written in another way: "1,200.00" is 1200.
func (s *scanner) number(digits string, start, end int) {
	comma, dot := strings.LastIndexByte(digits, ','), strings.LastIndexByte(digits, '.')
	if comma < 0 && dot < 0 || len(digits) > 24 {
		return
	}
	point := max(comma, dot)
	if strings.Count(digits, ".") > 1 && !grouped(digits) {
		return // an address or a version
	}
	if (comma < 0 || dot < 0) && (strings.Count(digits, digits[point:point+1]) > 1 || comma >= 0 && len(digits)-point-1 == 3) {
		point = len(digits) // it only groups thousands
	}
	var clean []byte
	for i := range len(digits) {
		switch c := digits[i]; {
		case isDigit(c):
			clean = append(clean, c)
		case c != ',' && c != '.' && c != '\'':
			return
		case i == point:
			clean = append(clean, '.')
		}
	}
	if i := strings.IndexByte(string(clean), '.'); i >= 0 {
		for len(clean) > i && (clean[len(clean)-1] == '0' || clean[len(clean)-1] == '.') {
			clean = clean[:len(clean)-1]
		}
	}
	h := s.seed
	for _, c := range clean {
		h = (h ^ uint64(c)) * prime
	}
	s.add(h, start, end)
}

// grouped reports whether all groups of digits after the first have three.
func grouped(digits string) bool {
	for i, group := range strings.Split(digits, ".") {
		if i > 0 && len(group) != 3 {
			return false
		}
	}
	return true
}

// decode looks at what a token says in base64, hex or percent-encoding.
func (s *scanner) decode(token string, start, end, depth int) {
	said, ok := decoded(token)
	if !ok {
		return
	}
	inner := scanner{seed: s.seed, codes: s.codes}
	inner.scan(said, depth-1)
	for _, p := range inner.prints {
		p.start, p.end = int32(start), int32(end)
		s.prints = append(s.prints, p)
	}
}

// decoded returns what an encoded token says, if that is text.
func decoded(token string) (string, bool) {
	if strings.IndexByte(token, '%') >= 0 {
		said, err := url.PathUnescape(token)
		return said, err == nil && said != token && isText(said)
	}
	if len(token) < encodedMin {
		return "", false
	}
	if isHex(token) {
		raw, err := hex.DecodeString(token[:len(token)&^1])
		return string(raw), err == nil && isText(string(raw))
	}
	token = strings.TrimRight(token, "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(token, "-_") {
		encoding = base64.RawURLEncoding
	}
	if head, err := encoding.DecodeString(token[:encodedMin]); err != nil || !mostlyText(head) {
		return "", false
	}
	if len(token)%4 == 1 {
		token = token[:len(token)-1]
	}
	raw, err := encoding.DecodeString(token)
	return string(raw), err == nil && isText(string(raw))
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := lower[s[i]]; !isDigit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// mostlyText reports whether the first bytes of something can be text: the last character may be cut.
func mostlyText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}

func isText(s string) bool { return mostlyText([]byte(s)) && utf8.ValidString(s) }

// unescaped reads the escapes of JSON and of programming languages: what another layer wrote as \n or \u0040.
func unescaped(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 'n', 't', 'r', 'b', 'f':
			b.WriteByte(' ')
		case 'u', 'x':
			digits := 4
			if text[i] == 'x' {
				digits = 2
			}
			if i+digits < len(text) && isHex(text[i+1:i+1+digits]) {
				var r rune
				for _, c := range []byte(text[i+1 : i+1+digits]) {
					c = lower[c]
					if isDigit(c) {
						r = r<<4 | rune(c-'0')
					} else {
						r = r<<4 | rune(c-'a'+10)
					}
				}
				b.WriteRune(r)
				i += digits
				continue
			}
			b.WriteByte(text[i])
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
