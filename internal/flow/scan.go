package flow

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"callgate/internal/textscan"
)

// Hashes of a text do not depend on case, punctuation, white space or the encoding of the text on its way. There are
// hashes of:
//
//	words    runs of letters and digits; in scripts without spaces, every character
//	tokens   what stands between white space, quotes and brackets: addresses, URLs, IDs, paths; and their parts between
//	         / = & ? # and :
//	numbers  without thousands separators and trailing zeros: 1,200.00 is 1200
//	spans    the least number of words in a row with 12 characters, one for every word
//
// Words, tokens and numbers share one space of hashes, so "evil.example" is found both in a URL and in a sentence.

const (
	layers     = 2  // layers of encoding that are decoded
	spanLength = 12 // least characters of a span
	encodedMin = 16 // least characters of an encoded part
	codeLength = 6  // least characters of a code that is significant by itself
)

// print is one hash of a text: of text[start:end], or of something that was encoded there.
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

// prime is the prime of FNV-1a with 64 bits.
const prime = 1099511628211

// scanner collects the prints of texts. The zero value is ready to use. Call reset before using it again.
type scanner struct {
	seed   uint64
	prints []print
	into   sink           // takes full batches of prints, if its table is set
	codes  bool           // leave out words shorter than a code
	slow   bool           // for tests: read every word like one within a token
	recent [16]recentWord // ring buffer: the words of the span that ends with the last one
	first  int            // index of the span's first word
	last   int            // index after the newest word
	length int            // of the words in the span, in characters
}

type recentWord struct {
	hash   uint64
	start  int32
	length int32
}

func (s *scanner) reset() {
	s.prints, s.into, s.first, s.last, s.length = s.prints[:0], sink{}, 0, 0, 0
}

// scan adds the prints of a text. It decodes what is encoded in it, up to depth layers; those prints get the position
// of the encoding.
func (s *scanner) scan(text string, depth int) {
	if strings.IndexByte(text, '\\') >= 0 {
		text = unescaped(text)
	}
	s.first, s.last, s.length = 0, 0, 0
	s.within(text, depth)
	if depth > 0 && strings.IndexByte(text, '\n') >= 0 {
		s.wrapped(text, depth)
	}
}

// wrapped joins lines that consist only of an encoding, and scans the result. All lines have the length of the first.
// The last may be shorter, may be an unrelated word, or may begin other lines.
func (s *scanner) wrapped(text string, depth int) {
	for at := 0; at < len(text); {
		width, next := encodedLine(text, at)
		full, end := at+width, at+width // the end of the lines of that length, and of all
		for width > 0 && next < len(text) {
			w, n := encodedLine(text, next)
			if w == 0 || w > width {
				break
			}
			end = next + w
			if w < width {
				break
			}
			full, next = end, n
		}
		if end > at+width && end-at >= encodedMin && !s.decode(lineEnds.Replace(text[at:end]), at, end, depth) && at+width < full && full < end {
			s.decode(lineEnds.Replace(text[at:full]), at, full, depth)
		}
		at = next
	}
}

var lineEnds = strings.NewReplacer("\r", "", "\n", "")

// maxEncodedLine is the greatest length of a line of encoded text.
const maxEncodedLine = 128

// encodedLine returns the length of the line at an offset, or 0 if the line is not just an encoding, and where the next
// one begins.
func encodedLine(text string, at int) (width, next int) {
	end := strings.IndexByte(text[at:], '\n')
	if next = at + end + 1; end < 0 {
		end, next = len(text)-at, len(text)
	}
	line := strings.TrimSuffix(text[at:at+end], "\r")
	if len(line) > maxEncodedLine {
		return 0, next
	}
	for i := range len(line) {
		if c := class[line[i]]; c != wordByte && strings.IndexByte("+/=-_", line[i]) < 0 {
			return 0, next
		}
	}
	return len(line), next
}

// run is a hash that grows with a text. good is its value after the last letter or digit, which ended at end.
type run struct {
	hash, good uint64
	start, end int
}

// within adds the prints of a text, or of a decoded one.
func (s *scanner) within(text string, depth int) {
	t := spans{scanner: s, text: text, depth: depth}
	for i := 0; i < len(text); {
		switch class[text[i]] {
		case wordByte:
			if end := t.lone(i); end > i {
				i = end
			} else {
				i = t.letters(i)
			}
		case joins:
			t.join(text[i])
			i++
		case separates:
			t.separate(text[i])
			i++
		case wide:
			i = t.rune(i)
		default:
			i = t.gap(i)
		}
	}
	t.end(len(text))
}

// spans holds the current word, part and token. Words consist of letters and digits. Parts are words with what joins
// them. Tokens are parts with what separates them, and may be encoded.
type spans struct {
	*scanner
	text  string
	depth int

	word, part, token       run
	inWord, inPart, inToken bool

	plain, percent bool // whether the token may be encoded
}

// begin opens the token, part and word that are not open.
func (t *spans) begin(at int) {
	fresh := run{hash: t.seed, start: at}
	if !t.inToken {
		t.token, t.inToken, t.inPart, t.plain, t.percent = fresh, true, false, true, false
	}
	if !t.inPart {
		t.part, t.inPart = fresh, true
	}
	if !t.inWord {
		t.word, t.inWord = fresh, true
	}
}

// reached records that a letter or digit ends at i.
func (t *spans) reached(i int) {
	t.word.end, t.part.good, t.part.end, t.token.good, t.token.end = i, t.part.hash, i, t.token.hash, i
}

// lone reads a word at i that is a token by itself, as most are. It returns where the word ends, or i if there is none.
func (t *spans) lone(i int) int {
	if t.inToken || t.slow {
		return i
	}
	h, end, limit := t.seed, i, min(len(t.text), i+encodedMin)
	for ; end < limit && class[t.text[end]] == wordByte; end++ {
		h = (h ^ uint64(lower[t.text[end]])) * prime
	}
	if end-i == encodedMin || end < len(t.text) && (class[t.text[end]] != other || t.text[end] == ',') {
		return i
	}
	t.add(h, i, end)
	t.span(run{hash: h, start: i, end: end}, end-i)
	return end
}

// letters reads the ASCII letters and digits at i and returns where they end.
func (t *spans) letters(i int) int {
	t.begin(i)
	text, limit := t.text, min(len(t.text), i+bytewise)
	if h := t.word.hash; h == t.token.hash && h == t.part.hash { // all begin here, so they share one hash
		for ; i < limit && class[text[i]] == wordByte; i++ {
			h = (h ^ uint64(lower[text[i]])) * prime
		}
		t.word.hash, t.part.hash, t.token.hash = h, h, h
	} else {
		w, p, o := t.word.hash, t.part.hash, t.token.hash
		for ; i < limit && class[text[i]] == wordByte; i++ {
			c := uint64(lower[text[i]])
			w, p, o = (w^c)*prime, (p^c)*prime, (o^c)*prime
		}
		t.word.hash, t.part.hash, t.token.hash = w, p, o
	}
	if i == limit {
		i = t.long(i)
	}
	t.reached(i)
	return i
}

// bytewise is how many letters and digits in a row are hashed one by one. The rest is hashed eight at a time.
const bytewise = 64

// long reads the rest of a long run of letters and digits.
func (t *spans) long(i int) int {
	end := textscan.Alnum(t.text, i)
	rest, begun := t.text[i:end], t.word.hash
	hash := textscan.Hash(begun, rest)
	for _, r := range []*run{&t.word, &t.part, &t.token} {
		if r.hash == begun {
			r.hash = hash
		} else {
			r.hash = textscan.Hash(r.hash, rest)
		}
	}
	return end
}

// join reads a character that joins words into a part.
func (t *spans) join(b byte) {
	t.endWord()
	if !t.inToken {
		return
	}
	if t.inPart {
		t.part.hash = (t.part.hash ^ uint64(b)) * prime
	}
	t.percent = t.percent || b == '%'
	t.plain = t.plain && (b == '+' || b == '-' || b == '_')
	t.token.hash = (t.token.hash ^ uint64(b)) * prime
}

// separate reads a character that separates the parts of a token.
func (t *spans) separate(b byte) {
	t.endWord()
	if !t.inToken {
		return
	}
	t.endPart()
	t.plain = t.plain && (b == '/' || b == '=')
	t.token.hash = (t.token.hash ^ uint64(b)) * prime
}

// rune reads a character at i that is not ASCII.
func (t *spans) rune(i int) int {
	r, size := utf8.DecodeRuneInString(t.text[i:])
	switch {
	case unicode.IsLetter(r) || unicode.IsDigit(r):
		alone := r >= 0x2e80 // a script without spaces
		if alone {
			t.endWord()
		}
		t.begin(i)
		t.plain = false
		c := uint64(unicode.ToLower(r))
		t.word.hash = (t.word.hash ^ c) * prime
		t.part.hash = (t.part.hash ^ c) * prime
		t.token.hash = (t.token.hash ^ c) * prime
		t.reached(i + size)
		if alone {
			t.endWord()
		}
	case !invisible(r): // invisible characters separate nothing
		t.end(i)
	}
	return i + size
}

// gap reads a character at i that belongs to nothing, except for a comma within a number.
func (t *spans) gap(i int) int {
	text := t.text
	t.endWord()
	if text[i] == ',' && t.inToken && i > 0 && isDigit(text[i-1]) && i+1 < len(text) && isDigit(text[i+1]) {
		t.token.hash, t.part.hash, t.plain = (t.token.hash^',')*prime, (t.part.hash^',')*prime, false
	} else {
		t.end(i)
	}
	return i + 1
}

func (t *spans) endWord() {
	if t.inWord {
		t.add(t.word.hash, t.word.start, t.word.end)
		t.span(t.word, t.word.end-t.word.start)
		t.inWord = false
	}
}

func (t *spans) endPart() {
	if t.inPart && (t.part.start != t.word.start || t.part.end != t.word.end) {
		t.add(t.part.good, t.part.start, t.part.end)
	}
	t.inPart = false
}

// end closes everything that is open. at is the offset after the token.
func (t *spans) end(at int) {
	t.endWord()
	t.endPart()
	if !t.inToken {
		return
	}
	t.inToken = false
	if t.token.start != t.part.start || t.token.end != t.part.end {
		t.add(t.token.good, t.token.start, t.token.end)
	}
	whole := t.text[t.token.start:at]
	if isDigit(whole[0]) {
		t.number(t.text[t.token.start:t.token.end], t.token.start, t.token.end)
	}
	if t.depth > 0 && (t.percent || t.plain && len(whole) >= encodedMin) {
		t.decode(whole, t.token.start, at, t.depth)
	}
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// invisible reports whether a character is invisible, such as zero-width characters and tags.
func invisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Mn) }

// printsPerFlush is how many prints are flushed at once.
const printsPerFlush = 512

func (s *scanner) add(hash uint64, start, end int) {
	if s.codes && end-start < codeLength {
		return
	}
	if s.into.table != nil && len(s.prints) >= printsPerFlush {
		s.flush()
	}
	s.prints = append(s.prints, print{hash: hash, start: int32(start), end: int32(end)})
}

// sink is where prints are stored, and with which flags and source. Without a table it takes none.
type sink struct {
	table  *table
	flags  uint8
	source uint16
}

// flush stores the collected prints in the sink.
func (s *scanner) flush() {
	for i := range s.prints {
		s.into.table.put(s.prints[i].hash, s.into.flags, s.into.source)
	}
	s.prints = s.prints[:0]
}

// span adds the span that ends with the word.
func (s *scanner) span(w run, length int) {
	s.recent[s.last&15] = recentWord{w.hash, int32(w.start), int32(length)}
	s.last++
	s.length += length
	for s.length-int(s.recent[s.first&15].length) >= spanLength { // so at most 12 words stay
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

// plainNumber returns digits without separators, with a dot at point and no trailing zeros in the fraction. ok is false
// if digits contains anything else.
func plainNumber(digits string, point int) (clean []byte, ok bool) {
	for i := range len(digits) {
		switch c := digits[i]; {
		case isDigit(c):
			clean = append(clean, c)
		case c != ',' && c != '.' && c != '\'':
			return nil, false
		case i == point:
			clean = append(clean, '.')
		}
	}
	if i := strings.IndexByte(string(clean), '.'); i >= 0 {
		for len(clean) > i && (clean[len(clean)-1] == '0' || clean[len(clean)-1] == '.') {
			clean = clean[:len(clean)-1]
		}
	}
	return clean, true
}

// number adds the value of a number that is written with separators: "1,200.00" is 1200.
func (s *scanner) number(digits string, start, end int) {
	if len(digits) > 24 {
		return
	}
	comma, dot := strings.LastIndexByte(digits, ','), strings.LastIndexByte(digits, '.')
	if comma < 0 && dot < 0 {
		return
	}
	point := max(comma, dot)
	if strings.Count(digits, ".") > 1 && !grouped(digits) {
		return // an address or a version
	}
	if (comma < 0 || dot < 0) && (strings.Count(digits, digits[point:point+1]) > 1 || comma >= 0 && len(digits)-point-1 == 3) {
		point = len(digits) // it only groups thousands
	}
	clean, ok := plainNumber(digits, point)
	if !ok {
		return
	}
	h := s.seed
	for _, c := range clean {
		h = (h ^ uint64(c)) * prime
	}
	s.add(h, start, end)
}

// grouped reports whether all groups after the first have three digits.
func grouped(digits string) bool {
	for i, group := range strings.Split(digits, ".") {
		if i > 0 && len(group) != 3 {
			return false
		}
	}
	return true
}

// decode decodes a token in base64, hex or percent-encoding, and reports whether the result is text.
func (s *scanner) decode(token string, start, end, depth int) bool {
	said, ok := decoded(token)
	if !ok {
		return false
	}
	inner := scanner{seed: s.seed, codes: s.codes}
	inner.scan(said, depth-1)
	for _, p := range inner.prints {
		p.start, p.end = int32(start), int32(end)
		s.prints = append(s.prints, p)
	}
	return true
}

// decoded returns what a token encodes, and whether that is text.
func decoded(token string) (string, bool) {
	if strings.IndexByte(token, '%') >= 0 {
		said := textscan.Unescaped(token)
		return said, said != token && isText(said)
	}
	if len(token) < encodedMin {
		return "", false
	}
	if textscan.IsHex(token) {
		if head, err := hex.DecodeString(token[:encodedMin]); err != nil || !mostlyText(head) { // most are no text
			return "", false
		}
		raw, err := hex.DecodeString(token[:len(token)&^1])
		return textOf(raw), err == nil && isText(textOf(raw))
	}
	token = strings.TrimRight(token, "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(token, "-_") {
		encoding = base64.RawURLEncoding
	}
	if head, err := encoding.DecodeString(token[:min(encodedMin, len(token)&^3)]); err != nil || !mostlyText(head) {
		return "", false
	}
	if len(token)%4 == 1 {
		token = token[:len(token)-1]
	}
	raw, err := encoding.DecodeString(token)
	return textOf(raw), err == nil && isText(textOf(raw))
}

// textOf returns decoded as a string without copying it. Nobody may change decoded.
func textOf(decoded []byte) string { return unsafe.String(unsafe.SliceData(decoded), len(decoded)) }

// mostlyText reports whether bytes can be the beginning of a text. The last character may be cut.
func mostlyText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return true
}

func isText(s string) bool {
	return mostlyText(unsafe.Slice(unsafe.StringData(s), len(s))) && utf8.ValidString(s)
}

// unescaped decodes escapes of JSON and programming languages, such as \n or \u0040 from another layer.
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
		case 'n':
			b.WriteByte('\n')
		case 't', 'r', 'b', 'f':
			b.WriteByte(' ')
		case 'u', 'x':
			digits := 4
			if text[i] == 'x' {
				digits = 2
			}
			if i+digits < len(text) && textscan.IsHex(text[i+1:i+1+digits]) {
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
