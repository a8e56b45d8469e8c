// Package secrets remembers digests of the credentials it saw, and finds them again in other texts.
package secrets

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"strings"
	"sync"
	"unicode"
	"unsafe"

	"callgate/audit"
	"callgate/internal/lazyregexp"
	"callgate/internal/settled"
	"callgate/internal/textscan"
)

const (
	remembered = 256     // credentials that a Memory holds: of more, the newest
	searched   = 1 << 20 // bytes of a text that are looked at
	shortest   = 16      // bytes that a credential has at least
)

// Found is a credential that was seen before.
type Found struct {
	Kind  string // "GitHub token", "private key", "credential"
	Place string // where it was seen
}

// Memory holds fingerprints of credentials, keyed with chance and never written anywhere. Its zero value is ready.
type Memory struct {
	mu     settled.Mutex
	key    []byte
	base   uint64
	prints []print
}

// print is the fingerprint of one credential.
type print struct {
	length  int
	rolling uint64
	sum     [sha256.Size]byte
	Found
}

// Begin announces that texts are about to be learned. Find waits until End is called. The caller MUST call End, once.
func (m *Memory) Begin() { m.mu.Begin() }

// End ends what Begin began.
func (m *Memory) End() { m.mu.End() }

// Learn remembers the credentials in a text that was seen at a place.
func (m *Memory) Learn(text, place string) {
	text = text[:min(len(text), searched)]
	for start, end := range audit.Secrets(text) {
		value := text[start:end]
		switch {
		case !carriesPower(text, start, value):
		case strings.HasPrefix(value, "-----BEGIN"):
			m.add(value, place, "private key")
			lines := 0
			for line := range strings.Lines(value) {
				if line = strings.TrimSpace(line); len(line) >= 2*shortest && !strings.HasPrefix(line, "-----") && lines < 4 {
					m.add(line, place, "private key")
					lines++
				}
			}
		case strings.HasPrefix(value, "Bearer ") || strings.HasPrefix(value, "Basic ") || strings.HasPrefix(value, "bearer ") || strings.HasPrefix(value, "token "):
			_, value, _ = strings.Cut(value, " ")
			m.add(value, place, kind(value))
		default:
			m.add(value, place, kind(value))
		}
	}
}

// carriesPower reports whether a find of audit.Secrets gives somebody access: a private key, a token or a password, but
// not a public key, a cursor in a list or a word.
func carriesPower(text string, start int, value string) bool {
	switch {
	case strings.HasPrefix(value, "-----BEGIN"):
		return strings.Contains(value, "PRIVATE KEY")
	case strings.HasPrefix(value, "Bearer ") || strings.HasPrefix(value, "Basic ") || strings.HasPrefix(value, "bearer ") || strings.HasPrefix(value, "token "):
		_, value, _ = strings.Cut(value, " ")
		return len(value) >= shortest
	}
	return len(value) >= shortest && strings.ContainsAny(value, "0123456789") && !passing.MatchString(text[max(0, start-48):start])
}

// LearnVariables remembers the values of a file of variables, as .env is: those that are named like a secret, and those
// that look like one.
func (m *Memory) LearnVariables(text, place string) {
	for value, kind := range Variables(text) {
		m.add(value, place, kind)
	}
}

// Variables are the values that LearnVariables remembers, and what each is.
func Variables(text string) iter.Seq2[string, string] {
	return func(yield func(value, kind string) bool) {
		for line := range strings.Lines(text[:min(len(text), searched)]) {
			for _, found := range variable(line) {
				if !yield(found[0], found[1]) {
					return
				}
			}
		}
	}
}

// variable returns what one line of a file of variables holds: a value, a password within it.
func variable(line string) (found [][2]string) {
	name, value, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
	if !ok || strings.HasPrefix(name, "#") {
		return nil
	}
	value = strings.TrimSpace(value)
	if n := len(value); n > 1 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		value = value[1 : n-1]
	} else if i := strings.Index(value, " #"); i >= 0 {
		value = strings.TrimSpace(value[:i])
	}
	name = strings.TrimSpace(name)
	named := secretName.MatchString(name) && len(value) >= shortestNamed
	looks := len(value) >= shortest && !strings.ContainsAny(value, " /.") && strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, unicode.IsLetter)
	if named && !strings.HasPrefix(value, "$") || looks {
		found = append(found, [2]string{value, "value of " + name})
	}
	if at := strings.LastIndexByte(value, '@'); at > 0 && strings.Contains(value, "://") { // a password within an address
		_, user, _ := strings.Cut(value[:at], "://")
		if _, password, ok := strings.Cut(user, ":"); ok && len(password) >= shortestNamed {
			found = append(found, [2]string{password, "password in " + name})
		}
	}
	return found
}

// LearnValue remembers a credential that is known to be one. A shorter one than eight bytes is passed over: it could stand
// in any text.
func (m *Memory) LearnValue(value, place string) {
	if len(value) >= shortestNamed {
		m.add(value, place, kind(value))
	}
}

// shortestNamed is how many bytes a value has at least that its name gives away.
const shortestNamed = 8

// secretName matches names of variables that hold a secret.
var secretName = lazyregexp.New(`(?i)(?:key|token|secret|passw(?:or)?d|passphrase|pwd|credential|auth|private|salt|signature|cookie|session)s?(?:_|$)`)

// passing is the name of a token that gives no access: it says where a list continues, or which form is meant.
var passing = lazyregexp.New(`(?i)(?:page|sync|next|continuation|cursor|csrf|xsrf|resume|scroll|progress|idempotency|change|delta|start|end)[_-]?token\W*$`)

// kinds are what tokens of known issuers begin with.
var kinds = []struct{ prefix, kind string }{
	{"ghp_", "GitHub token"}, {"gho_", "GitHub token"}, {"ghs_", "GitHub token"}, {"ghu_", "GitHub token"}, {"github_pat_", "GitHub token"}, {"glpat-", "GitLab token"},
	{"xox", "Slack token"}, {"xapp-", "Slack token"}, {"AKIA", "AWS key"}, {"ASIA", "AWS key"}, {"AIza", "Google key"}, {"ya29.", "Google token"},
	{"sk_live_", "Stripe key"}, {"rk_live_", "Stripe key"}, {"sk-ant-", "Anthropic key"}, {"sk-", "model key"}, {"npm_", "npm token"}, {"pypi-", "PyPI token"}, {"eyJ", "JSON web token"},
}

func kind(value string) string {
	for _, k := range kinds {
		if strings.HasPrefix(value, k.prefix) {
			return k.kind
		}
	}
	return "credential"
}

func (m *Memory) add(value, place, kind string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key == nil {
		m.key = make([]byte, sha256.Size)
		_, _ = rand.Read(m.key) // never fails
		m.base = binary.LittleEndian.Uint64(m.key) | 1
	}
	p := print{length: len(value), sum: m.sum(value), Found: Found{kind, place}}
	for i := range len(value) {
		p.rolling = p.rolling*m.base + uint64(value[i]) + 1
	}
	for i := range m.prints {
		if m.prints[i].sum == p.sum {
			return
		}
	}
	if len(m.prints) == remembered {
		m.prints = append(m.prints[:0], m.prints[1:]...)
	}
	m.prints = append(m.prints, p)
}

func (m *Memory) sum(value string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(value))
	h.Sum(sum[:0])
	return sum
}

// Find returns the first credential that one of the texts holds: as it is, percent-encoded, or in base64 or hex.
func (m *Memory) Find(texts ...string) (Found, bool) {
	if m == nil {
		return Found{}, false
	}
	m.mu.LockSettled()
	defer m.mu.Unlock()
	if len(m.prints) == 0 {
		return Found{}, false
	}
	byLength := map[int][]*print{}
	for i := range m.prints {
		p := &m.prints[i]
		byLength[p.length] = append(byLength[p.length], p)
	}
	for _, text := range texts {
		text = text[:min(len(text), searched)]
		for _, reading := range readings(text, 2) {
			if f, ok := m.in(reading, byLength); ok {
				return f, true
			}
		}
	}
	return Found{}, false
}

// in looks at every part of the text that is as long as a credential. The caller holds mu.
func (m *Memory) in(text string, byLength map[int][]*print) (Found, bool) {
	for length, prints := range byLength {
		if length > len(text) {
			continue
		}
		power, rolling := uint64(1), uint64(0)
		for i := range len(text) {
			rolling = rolling*m.base + uint64(text[i]) + 1
			if i < length {
				power *= m.base
			} else {
				rolling -= power * (uint64(text[i-length]) + 1)
			}
			if i < length-1 {
				continue
			}
			for _, p := range prints {
				if p.rolling == rolling && p.sum == m.sum(text[i-length+1:i+1]) {
					return p.Found, true
				}
			}
		}
	}
	return Found{}, false
}

// encoded are the parts of a text that can be base64, in either alphabet, or hex.
func encoded(text string) (parts []string) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i-start == 16 { // a long one
			i = textscan.Alnum(text, i)
		}
		if i < len(text) && codeByte[text[i]] {
			continue
		}
		if i-start >= 20 {
			parts = append(parts, text[start:i])
		}
		start = i + 1
	}
	return parts
}

// codeByte are the bytes of base64 and hex.
var codeByte = func() (set [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-") {
		set[c] = true
	}
	return set
}()

// decode64 decodes base64 in either alphabet.
func decode64(to, from []byte) (int, error) {
	if bytes.ContainsAny(from, "-_") {
		from = bytes.Map(func(r rune) rune {
			switch r {
			case '-':
				return '+'
			case '_':
				return '/'
			}
			return r
		}, from)
	}
	return base64.RawStdEncoding.Decode(to, from)
}

// longestEnd is how many bytes before the end of something in base64 are read with the last, unfinished group. It holds
// every credential but a private key, which has a beginning that is found without its end.
const longestEnd = 8 << 10

// inside are the readings of what a part of a text says decoded, in n bytes, without what can be no text. What is left is
// read as one: some formats have their keyword far from the credential.
func inside(part string, n int, decode func(to, from []byte) (int, error), depth int) []string {
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	if cap(*b) < n {
		*b = make([]byte, n)
	}
	n, err := decode((*b)[:cap(*b)], unsafe.Slice(unsafe.StringData(part), len(part)))
	if err != nil {
		return nil
	}
	var text strings.Builder
	for stretch := range stretches((*b)[:n]) {
		if text.Len() > 0 {
			text.WriteString("\x00\x00")
		}
		text.Write(stretch)
	}
	if text.Len() == 0 {
		return nil
	}
	return readings(text.String(), depth)
}

// stretches yields the parts of b that can be text with a credential or a keyword in it: so many printable characters as
// the shortest has stand in a row in each, and two control characters nowhere but at ends of lines. A picture has few of
// them, and a text is one.
func stretches(b []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for done, i := 0, shortestNamed-1; i < len(b); {
			from := i
			for from > i-shortestNamed && b[from]-' ' < 0x7f-' ' {
				from--
			}
			if from > i-shortestNamed {
				i = from + shortestNamed
				continue
			}
			start, end := i, i
			for start > done && (!control[b[start-1]] || start-1 > done && !control[b[start-2]]) {
				start--
			}
			for end < len(b) && (!control[b[end]] || end+1 < len(b) && !control[b[end+1]]) {
				end++
			}
			if !yield(b[start:end]) {
				return
			}
			done, i = end, end+shortestNamed
		}
	}
}

// control are the control characters but those that stand at ends of lines.
var control = func() (set [256]bool) {
	for c := range byte(' ') {
		set[c] = c < '\t' || c > '\r'
	}
	return set
}()

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// shortestRun is how many characters of ASCII a credential has at least.
const shortestRun = 10

// Most that could be encoded is no text, and is not decoded: so many printable characters of ASCII stand in a row in none of
// it. Of most bytes that are no text one in ten is looked at.

// hexSays reports whether hexadecimal digits can say a credential.
func hexSays(digits string) bool {
	for i := 2 * (shortestRun - 1); i < len(digits)-1; {
		if digits[i]-'2' > '7'-'2' { // no character of ASCII that can be printed begins so
			i += 2 * shortestRun
			continue
		}
		from := i
		for from > i-2*shortestRun && (digitOf[digits[from]]<<4|digitOf[digits[from+1]])-' ' < 0x7f-' ' {
			from -= 2
		}
		if from == i-2*shortestRun {
			return true
		}
		i = from + 2*shortestRun
	}
	return false
}

// base64Says reports whether a part in base64 can say a credential, in either alphabet.
func base64Says(part string) bool {
	for i := shortestRun - 1; i < len(part)*6/8; {
		from := i
		for from > i-shortestRun && base64At(part, from)-' ' < 0x7f-' ' {
			from--
		}
		if from == i-shortestRun {
			return true
		}
		i = from + shortestRun
	}
	return false
}

// base64At is a byte of what a part in base64 says.
func base64At(part string, i int) byte {
	group := part[i/3*4:]
	switch i % 3 {
	case 0:
		return digitOf64[group[0]]<<2 | digitOf64[group[1]]>>4
	case 1:
		return digitOf64[group[1]]<<4 | digitOf64[group[2]]>>2
	}
	return digitOf64[group[2]]<<6 | digitOf64[group[3]]
}

// digitOf and digitOf64 are what the digits stand for.
var digitOf, digitOf64 = func() (hex, base64 [256]byte) {
	for i, c := range []byte("0123456789abcdef") {
		hex[c], hex[bytes.ToUpper([]byte{c})[0]] = byte(i), byte(i)
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		base64[c] = byte(i)
	}
	base64['-'], base64['_'] = base64['+'], base64['/']
	return hex, base64
}()

// hexIn yields the runs of hexadecimal digits in a part that are long enough to be a credential: a path in an address goes
// before them, or 0x. all says that it holds nothing else.
func hexIn(part string, all bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		if all { // a long one
			yield(part)
			return
		}
		for start := 0; start < len(part); {
			end := start
			for end < len(part) && hexByte[part[end]] {
				end++
			}
			if end-start >= 20 && !yield(part[start:end]) {
				return
			}
			start = end + 1
		}
	}
}

var hexByte = func() (set [256]bool) {
	for _, c := range []byte("0123456789abcdefABCDEF") {
		set[c] = true
	}
	return set
}()

// readings are the text and what its encoded parts say, to a depth.
func readings(text string, depth int) []string {
	list := []string{text}
	if depth == 0 {
		return list
	}
	if strings.Contains(text, "%") {
		if decoded := textscan.Unescaped(text); decoded != text {
			list = append(list, readings(decoded, depth-1)...)
		}
	}
	for _, part := range encoded(text) {
		allHex := textscan.IsHex(part)
		for digits := range hexIn(part, allHex) {
			for skip := range 2 { // nor here
				if s := digits[skip : skip+(len(digits)-skip)&^1]; hexSays(s) {
					list = append(list, inside(s, len(s)/2, hex.Decode, depth-1)...)
				}
			}
		}
		if allHex {
			continue
		}
		for skip := range 4 { // it may not begin where the encoding does
			s := part[skip:]
			if len(s) < 20 || !base64Says(s) {
				continue
			}
			whole := len(s) &^ 3
			list = append(list, inside(s[:whole], whole/4*3, decode64, depth-1)...)
			if len(s)-whole > 1 { // what it adds is another reading of the end alone
				s = s[max(0, whole-longestEnd):]
				list = append(list, inside(s, len(s)*6/8, decode64, depth-1)...)
			}
		}
	}
	return list
}
