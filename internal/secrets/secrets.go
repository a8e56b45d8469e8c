// Package secrets stores digests of credentials that it saw, and finds the credentials again in other texts.
package secrets

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"slices"
	"strings"
	"unicode"

	"callgate/audit"
	"callgate/internal/lazyregexp"
	"callgate/internal/settled"
	"callgate/internal/textscan"
)

const (
	remembered = 256     // credentials that a Memory holds
	searched   = 1 << 20 // bytes of a text that are searched
	shortest   = 16      // least length of a credential in bytes
)

// Found is a credential that was seen before.
type Found struct {
	Kind  string // "GitHub token", "private key", "credential"
	Place string // where it was seen
}

// Memory holds fingerprints of credentials, with a random key and never written anywhere. Its zero value is ready.
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
	result  bool // a result held it
	Found
}

// Begin announces that texts are about to be learned. Find waits until End is called. The caller MUST call End once.
func (m *Memory) Begin() { m.mu.Begin() }

// End ends the wait that Begin started.
func (m *Memory) End() { m.mu.End() }

// Learn remembers the credentials in a text from place.
func (m *Memory) Learn(text, place string) {
	text = text[:min(len(text), searched)]
	for start, end := range audit.Secrets(text) {
		value := text[start:end]
		switch {
		case !carriesPower(text, start, value):
		case strings.HasPrefix(value, "-----BEGIN"):
			m.add(value, place, "private key", true)
			lines := 0
			for line := range strings.Lines(value) {
				if line = strings.TrimSpace(line); len(line) >= 2*shortest && !strings.HasPrefix(line, "-----") && lines < 4 {
					m.add(line, place, "private key", true)
					lines++
				}
			}
		case strings.HasPrefix(value, "Bearer ") || strings.HasPrefix(value, "Basic ") || strings.HasPrefix(value, "bearer ") || strings.HasPrefix(value, "token "):
			_, value, _ = strings.Cut(value, " ")
			m.add(value, place, kind(value), true)
		default:
			m.add(value, place, kind(value), true)
		}
	}
}

// carriesPower reports whether a secret that audit.Secrets found gives access: a private key, a token or a password,
// but not a public key, a cursor in a list or a word.
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

// LearnVariables remembers values in a file of variables such as .env: those whose names suggest a secret, and those
// that look like one.
func (m *Memory) LearnVariables(text, place string) {
	for value, kind := range Variables(text) {
		m.add(value, place, kind, false)
	}
}

// Variables yields the values that LearnVariables remembers, each with a description.
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

// variable returns the secrets in one line of a file of variables, with descriptions: the value, and a password in it.
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
	named := secretName.MatchString(name) && len(value) >= shortestNamed && !ordinary(name, value)
	looks := len(value) >= shortest && !strings.ContainsAny(value, " /.") && strings.ContainsAny(value, "0123456789") && strings.ContainsFunc(value, unicode.IsLetter)
	if named && !strings.HasPrefix(value, "$") || looks {
		found = append(found, [2]string{value, "value of " + name})
	}
	if at := strings.LastIndexByte(value, '@'); at > 0 && strings.Contains(value, "://") { // a password in a URL
		_, user, _ := strings.Cut(value[:at], "://")
		if _, password, ok := strings.Cut(user, ":"); ok && len(password) >= shortestNamed {
			found = append(found, [2]string{password, "password in " + name})
		}
	}
	return found
}

// ordinary reports whether a value is no secret although the variable's name suggests one: AUTH_URL=http://localhost,
// TOKEN_EXPIRY=86400000, POSTGRES_PASSWORD=postgres. Such a value would be found in ordinary calls.
func ordinary(name, value string) bool {
	switch strong := strongName.MatchString(name); {
	case place.MatchString(value):
		return !hasCode.MatchString(value)
	case strings.Trim(value, "0123456789") == "":
		return !password.MatchString(name)
	case words.MatchString(value):
		return !strong || len(value) < shortestWords
	}
	return false
}

// shortestWords is the least length in bytes of a secret that consists of words.
const shortestWords = 12

var (
	strongName = lazyregexp.New(`(?i)passw|passphrase|pwd|secret|token`)
	password   = lazyregexp.New(`(?i)passw|pwd`)
	place      = lazyregexp.New(`^(?:[a-zA-Z][a-zA-Z0-9+.-]*://|\.{0,2}/|~/|localhost\b)`)
	words      = lazyregexp.New(`^[A-Z]?[a-z]+(?:[-_. ][a-z]+)*$|^[A-Z]+(?:[-_][A-Z]+)*$`)
	hasCode    = lazyregexp.New(`[A-Za-z0-9_-]{16}`)
)

// LearnValue remembers a value known to be a credential. It ignores values of less than eight bytes, which could occur
// in any text.
func (m *Memory) LearnValue(value, place string) {
	if len(value) >= shortestNamed {
		m.add(value, place, kind(value), false)
	}
}

// shortestNamed is the least length in bytes of a value that its name reveals as a secret.
const shortestNamed = 8

// secretName matches names of variables that hold secrets.
var secretName = lazyregexp.New(`(?i)(?:key|token|secret|passw(?:or)?d|passphrase|pwd|credential|auth|private|salt|signature|cookie|session)s?(?:_|$)`)

// passing matches the name of a token that gives no access: it says where a list continues, or which form is meant.
var passing = lazyregexp.New(`(?i)(?:page|sync|next|continuation|cursor|csrf|xsrf|resume|scroll|progress|idempotency|change|delta|start|end)[_-]?token\W*$`)

// kinds lists prefixes of the tokens of known issuers.
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

func (m *Memory) add(value, place, kind string, result bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.key == nil {
		m.key = make([]byte, sha256.Size)
		_, _ = rand.Read(m.key) // never fails
		m.base = binary.LittleEndian.Uint64(m.key) | 1
	}
	p := print{length: len(value), sum: m.sum(value), result: result, Found: Found{kind, place}}
	for i := range len(value) {
		p.rolling = p.rolling*m.base + uint64(value[i]) + 1
	}
	for i := range m.prints {
		if known := &m.prints[i]; known.sum == p.sum {
			if known.result && !result { // results no longer crowd it out
				known.result, known.Found = false, p.Found
			}
			return
		}
	}
	if len(m.prints) == remembered {
		i := m.crowded()
		m.prints = slices.Delete(m.prints, i, i+1)
	}
	m.prints = append(m.prints, p)
}

// crowded returns the index of the credential to forget: the oldest from the place whose results held the most. So no
// result can make a session forget what it knows from elsewhere. The caller holds mu.
func (m *Memory) crowded() (oldest int) {
	of := map[string]int{}
	for i := range m.prints {
		if p := &m.prints[i]; p.result {
			of[p.Place]++
		}
	}
	most := 0
	for i := range m.prints {
		if p := &m.prints[i]; p.result && of[p.Place] > most {
			oldest, most = i, of[p.Place]
		}
	}
	return oldest
}

func (m *Memory) sum(value string) (sum [sha256.Size]byte) {
	h := hmac.New(sha256.New, m.key)
	h.Write([]byte(value))
	h.Sum(sum[:0])
	return sum
}

// Find returns a credential that one of the texts contains: plain, percent-encoded, or in base64 or hex.
func (m *Memory) Find(texts ...string) (Found, bool) {
	return m.FindBut(func(Found) bool { return false }, texts...)
}

// FindBut is Find without the credentials for which leftOut is true.
func (m *Memory) FindBut(leftOut func(Found) bool, texts ...string) (Found, bool) {
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
		if p := &m.prints[i]; !leftOut(p.Found) {
			byLength[p.length] = append(byLength[p.length], p)
		}
	}
	for _, text := range texts {
		if text = text[:min(len(text), searched)]; !textscan.IsASCII(text) {
			text = visible(text)
		}
		for _, reading := range readings(text, 2) {
			if f, ok := m.in(reading, byLength); ok {
				return f, true
			}
		}
	}
	return Found{}, false
}

// in checks every part of the text that is as long as a credential. The caller holds mu.
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
