package audit

import (
	"iter"
	"strings"

	"callgate/internal/textscan"
)

// Secrets returns where the credentials in a text begin and end, as far as their form or the name before them reveals.
func Secrets(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		for from := 0; ; {
			start, end, ok := nextSecret(text, from)
			if !ok || !yield(start, end) {
				return
			}
			from = max(end, start+1)
		}
	}
}

// shape describes the tokens of one issuer: a prefix, then at least min bytes of body.
type shape struct {
	prefix string
	min    int
	digit  bool // the body MUST contain a digit: the prefix alone is too common in prose
}

var shapes = [...]shape{
	{prefix: "AKIA", min: 16}, {prefix: "ASIA", min: 16}, // AWS access keys
	{prefix: "ghp_", min: 20}, {prefix: "gho_", min: 20}, {prefix: "ghu_", min: 20}, {prefix: "ghs_", min: 20},
	{prefix: "ghr_", min: 20}, {prefix: "github_pat_", min: 20}, // GitHub
	{prefix: "glpat-", min: 20}, {prefix: "gldt-", min: 20}, {prefix: "glrt-", min: 20}, // GitLab
	{prefix: "xoxa-", min: 10}, {prefix: "xoxb-", min: 10}, {prefix: "xoxc-", min: 10}, {prefix: "xoxd-", min: 10},
	{prefix: "xoxe-", min: 10}, {prefix: "xoxe.", min: 10}, {prefix: "xoxp-", min: 10}, {prefix: "xoxr-", min: 10},
	{prefix: "xoxs-", min: 10}, {prefix: "xapp-", min: 10}, // Slack
	{prefix: "sk-", min: 20, digit: true},                                                                                    // OpenAI, Anthropic and their like
	{prefix: "sk_live_", min: 10}, {prefix: "sk_test_", min: 10}, {prefix: "rk_live_", min: 10}, {prefix: "whsec_", min: 16}, // Stripe
	{prefix: "AIza", min: 30}, {prefix: "ya29.", min: 20}, // Google
	{prefix: "npm_", min: 30}, {prefix: "pypi-", min: 30}, {prefix: "hf_", min: 30}, {prefix: "dop_v1_", min: 40},
	{prefix: "SG.", min: 40}, {prefix: "shpat_", min: 30}, {prefix: "AGE-SECRET-KEY-1", min: 40},
	{prefix: "ABIA", min: 16}, {prefix: "ACCA", min: 16}, // AWS, other kinds
	{prefix: "hvs.", min: 24}, {prefix: "hvb.", min: 24}, // Vault
	{prefix: "glsa_", min: 30}, {prefix: "glc_", min: 30, digit: true}, // Grafana
	{prefix: "gsk_", min: 30}, {prefix: "xai-", min: 30, digit: true}, {prefix: "pplx-", min: 30, digit: true}, {prefix: "r8_", min: 30}, // models
	{prefix: "doo_v1_", min: 40}, {prefix: "dor_v1_", min: 40}, {prefix: "shpss_", min: 30}, {prefix: "shpca_", min: 30},
	{prefix: "dckr_pat_", min: 20}, {prefix: "sntrys_", min: 30}, {prefix: "sntryu_", min: 30}, {prefix: "lin_api_", min: 30},
	{prefix: "ntn_", min: 30}, {prefix: "figd_", min: 30}, {prefix: "PMAK-", min: 40}, {prefix: "rubygems_", min: 40},
	{prefix: "pul-", min: 40, digit: true}, {prefix: "ATATT3", min: 60}, {prefix: "sbp_", min: 40}, {prefix: "sq0atp-", min: 20},
	{prefix: "eyJ", min: 20},                                                           // JWT: base64url of `{"`
	{prefix: "Bearer ", min: 8, digit: true}, {prefix: "bearer ", min: 8, digit: true}, // HTTP
}

// shapesOf holds the shapes by their first byte. seconds has, for each first byte, a bit for each possible second byte,
// by its last six bits. Most words can be skipped by that.
var shapesOf, seconds = func() (by [256][]shape, second [256]uint64) {
	for _, s := range shapes {
		by[s.prefix[0]] = append(by[s.prefix[0]], s)
		second[s.prefix[0]] |= 1 << (s.prefix[1] & 63)
	}
	return by, second
}()

// special marks the bytes that begin something other than a token.
var special = [256]bool{'=': true, ':': true, '-': true}

// nextSecret finds the first secret in s at or after from. All shapes begin at the start of a word of letters and
// digits, so the rest of a word can be skipped.
func nextSecret(s string, from int) (start, end int, ok bool) {
	for i := from; i < len(s); {
		switch c := s[i]; {
		case alnum[c]:
			if i+1 < len(s) && seconds[c]>>(s[i+1]&63)&1 != 0 {
				if end = tokenAt(s, i); end > 0 {
					return i, end, true
				}
			}
			i = textscan.Alnum(s, i)
			continue
		case !special[c]:
		case c == '-':
			start, end, ok = dashed(s, i)
		default:
			start, end, ok = assigned(s, i)
		}
		if ok {
			return start, end, true
		}
		i++
	}
	return 0, 0, false
}

// tokenAt returns the end of the token that begins with the letter or digit at i, or 0 if there is none.
func tokenAt(s string, i int) int {
	if i > 0 && alnum[s[i-1]] {
		return 0
	}
	return shapeEnd(s, i, shapesOf[s[i]])
}

// digitWithin bounds the search for a digit. Without it, text like "sk-sk-sk-…" would take quadratic time.
const digitWithin = 64

// shapeEnd returns the end of the token that starts at i, or 0 if there is none.
func shapeEnd(s string, i int, shapes []shape) int {
	for _, shape := range shapes {
		if i+1 == len(s) || s[i+1] != shape.prefix[1] || !strings.HasPrefix(s[i:], shape.prefix) {
			continue
		}
		begin := i + len(shape.prefix)
		end, digit := begin, false
		for end < len(s) && isTokenByte(s[end]) && (digit || !shape.digit || end-begin < digitWithin) {
			digit = digit || isDigit(s[end])
			end++
		}
		if end-begin >= shape.min && (digit || !shape.digit) {
			return end
		}
	}
	return 0
}

// assigned finds the secret after the `=` or `:` at i. That is the value of a name that looks secret, as shells, URLs,
// headers, configuration files and JSON spell it, or the password of a URL.
func assigned(s string, i int) (start, end int, ok bool) {
	if strings.HasPrefix(s[i:], "://") {
		return userinfo(s, i+3)
	}
	name := nameBefore(s, i)
	secret := secretKey(name)
	if !secret && !keyLike(name) {
		return 0, 0, false
	}
	start = i + 1
	for start < len(s) && strings.IndexByte(" \t=>:", s[start]) >= 0 {
		start++
	}
	if secret {
		return value(s, start, headerKey(name))
	}
	return randomValue(s, start)
}

// randomValue is value for a secret that looks random. It does not look for the end of another value: without that
// bound, text like "key=key=key=…" would take quadratic time.
func randomValue(s string, start int) (_, end int, ok bool) {
	near := s[:min(len(s), start+len(`\"`)+maxRandom)]
	from, end, ok := value(near, start, false)
	if !ok || !looksRandom(near[from:end]) {
		return 0, 0, false
	}
	return value(s, start, false)
}

// dashed finds the secret at the dash at i: a PEM block, or the value of an option such as `--token VALUE`.
func dashed(s string, i int) (start, end int, ok bool) {
	if strings.HasPrefix(s[i:], "-----BEGIN ") {
		return i, pemEnd(s, i), true
	}
	if i > 0 && !isSpace(s[i-1]) && strings.IndexByte(`"'`, s[i-1]) < 0 {
		return 0, 0, false
	}
	end = i
	for end < len(s) && isNameByte(s[end]) {
		end++
	}
	start = end
	for start < len(s) && isSpace(s[start]) {
		start++
	}
	name := s[i:end]
	switch {
	case start == end || strings.HasPrefix(s[start:], "-"):
	case secretKey(name):
		return value(s, start, false)
	case keyLike(name):
		return randomValue(s, start)
	}
	return 0, 0, false
}

// pemEnd returns the end of the PEM block at i: after its END line, or the end of the text.
func pemEnd(s string, i int) int {
	const footer = "-----END "
	at := strings.Index(s[i:], footer)
	if at < 0 {
		return len(s)
	}
	at += i + len(footer)
	if close := strings.Index(s[at:], "-----"); close >= 0 {
		return at + close + len("-----")
	}
	return len(s)
}

// userinfo finds the password in the URL whose authority starts at i.
func userinfo(s string, i int) (start, end int, ok bool) {
	for j := i; j < len(s); j++ {
		switch s[j] {
		case ':':
			if start == 0 {
				start = j + 1
			}
		case '@':
			return start, j, start > 0 && j > start && s[start:j] != redacted
		case '/', '?', '#', ' ', '\t', '\n', '"', '\'':
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// value returns the extent of the secret that starts at start: up to its closing quote or, without quotes, up to the
// end of the line (wide) or of the word. A reference to a variable is not a secret.
func value(s string, start int, wide bool) (_, end int, ok bool) {
	stops := " \t\r\n&;,)}]|<>\"'`"
	if wide {
		stops = "\r\n\"'`"
	}
	// JSON in a string in a string has its quotes escaped, including the closing one.
	escaped := start < len(s) && s[start] == '\\'
	if escaped {
		start++
	}
	if start < len(s) && strings.IndexByte("\"'`", s[start]) >= 0 {
		stops = s[start : start+1]
		start++
	}
	if strings.HasPrefix(s[start:], redacted) {
		return start, start, false
	}
	for end = start; end < len(s) && strings.IndexByte(stops, s[end]) < 0; end++ {
		if s[end] != '\\' || stops == "'" {
			continue
		}
		if escaped && end+1 < len(s) && strings.IndexByte(stops, s[end+1]) >= 0 {
			break
		}
		end++
	}
	start, end = min(start, len(s)), min(end, len(s))
	return start, end, end > start && variableEnd(s, start) < max(end, start+1)
}

// variableEnd returns the end of the variable reference, `$NAME` or `${name}`, at i, or 0.
func variableEnd(s string, i int) int {
	if !strings.HasPrefix(s[i:], "$") {
		return 0
	}
	if strings.HasPrefix(s[i:], "${") {
		for i += 2; i < len(s) && (isAlnum(s[i]) || s[i] == '_'); i++ {
		}
		if i < len(s) && s[i] == '}' {
			return i + 1
		}
		return 0
	}
	for i++; i < len(s) && ('A' <= s[i] && s[i] <= 'Z' || isDigit(s[i]) || s[i] == '_'); i++ {
	}
	return i
}

// nameBefore returns the name that ends at i, without quotes.
func nameBefore(s string, i int) string {
	for i > 0 && strings.IndexByte(" \t", s[i-1]) >= 0 {
		i--
	}
	if i > 0 && strings.IndexByte("\"'`", s[i-1]) >= 0 {
		i--
		if i > 0 && s[i-1] == '\\' {
			i--
		}
	}
	begin := i
	for begin > 0 && i-begin < maxName && isNameByte(s[begin-1]) {
		begin--
	}
	return s[begin:i]
}

// maxName is how many bytes of a name, from its end, are compared.
const maxName = 64

// Names are compared without case and punctuation, so api_key, apiKey, X-Api-Key and API.KEY are the same.
var (
	secretWithin = []string{
		"password", "passwd", "passphrase", "passcode", "secret", "apikey", "privatekey", "accesskey", "signingkey",
		"encryptionkey", "credential", "authorization", "cookie", "connectionstring",
	}
	secretEnds = []string{"token", "pwd", "bearer", "jwt", "otp"}
	secretIs   = []string{"auth", "pass", "pin"}
	// A name with one of these ends describes a secret but does not hold it.
	harmlessEnds = []string{"file", "path", "stdin", "name", "count", "length", "limit", "policy", "type"}
)

// secretKey reports whether a member, option or variable of this name holds a secret.
func secretKey(name string) bool {
	if len(name) < len("pin") {
		return false
	}
	var buf [maxName]byte
	folded := foldName(buf[:0], name)
	for _, end := range harmlessEnds {
		if hasSuffix(folded, end) {
			return false
		}
	}
	for _, word := range secretIs {
		if string(folded) == word {
			return true
		}
	}
	for _, end := range secretEnds {
		if hasSuffix(folded, end) {
			return true
		}
	}
	for i, c := range folded {
		for _, word := range within[c] {
			if len(folded)-i >= len(word) && string(folded[i:i+len(word)]) == word {
				return true
			}
		}
	}
	return false
}

// within holds secretWithin by first letter.
var within = func() (by [256][]string) {
	for _, word := range secretWithin {
		by[word[0]] = append(by[word[0]], word)
	}
	return by
}()

// headerKey reports whether name is a header whose value can contain blanks.
func headerKey(name string) bool {
	var buf [maxName]byte
	folded := foldName(buf[:0], name)
	return contains(folded, "authorization") || contains(folded, "cookie")
}

func foldName(dst []byte, name string) []byte {
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case 'A' <= c && c <= 'Z':
			dst = append(dst, c|0x20)
		case isAlnum(c):
			dst = append(dst, c)
		}
	}
	return dst
}

func hasSuffix(b []byte, suffix string) bool {
	return len(b) >= len(suffix) && string(b[len(b)-len(suffix):]) == suffix
}

func contains(b []byte, word string) bool {
	for i := 0; i+len(word) <= len(b); i++ {
		if string(b[i:i+len(word)]) == word {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isAlnum(c byte) bool { return alnum[c] }
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

var alnum = func() (set [256]bool) {
	for _, c := range []byte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
		set[c] = true
	}
	return set
}()

// isNameByte reports whether c can be part of the name of a variable, option, header or member.
func isNameByte(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

// isTokenByte reports whether c can be part of a token: base64, base64url and the dots of a JWT.
func isTokenByte(c byte) bool {
	return isAlnum(c) || c == '_' || c == '-' || c == '.' || c == '+' || c == '/' || c == '='
}

// Token returns the first credential in a text that its form alone reveals: a known issuer's token, or the start of a
// private key. It returns "" if there is none. A password has no such form.
func Token(text string) string {
	for i := 0; i < len(text); i = max(i+1, textscan.Alnum(text, i)) {
		if i > 0 && isAlnum(text[i-1]) {
			continue
		}
		if end := tokenAt(text, i); end > 0 && !strings.HasPrefix(text[i:], "Bearer ") && !strings.HasPrefix(text[i:], "bearer ") {
			return text[i:end]
		}
		if line, ok := strings.CutPrefix(text[i:], "-----BEGIN "); ok {
			if line, _, _ = strings.Cut(line[:min(len(line), 60)], "\n"); strings.Contains(line, "PRIVATE KEY-----") {
				return text[i : i+len("-----BEGIN ")]
			}
		}
	}
	return ""
}
