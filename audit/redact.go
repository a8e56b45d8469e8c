package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// redacted replaces a secret.
const redacted = "[redacted]"

// maxDigest leaves room for the name of any algorithm and its digest in hex.
const maxDigest = 160

// lookAhead is how many bytes past the cut of a string are searched, so that a secret across the cut is still
// recognized.
const lookAhead = 4 << 10

// RedactText returns s as valid UTF-8 without the secrets that the log's rules know, cut to about limit bytes.
func RedactText(s string, limit int) string { return redactText(s, limit) }

// RedactJSON returns raw JSON without the secrets that the log's rules know: the values of members whose names look
// secret, and secrets in all other strings. It cuts each string to about limit bytes. It replaces a result over
// sizeLimit bytes by its size and digest.
func RedactJSON(raw []byte, limit, sizeLimit int) []byte {
	return redactArguments(raw, limit, sizeLimit)
}

// maxStub is more bytes than recognizing any token takes.
const maxStub = 128

// redact makes r fit to be written: without secrets that the rules know, without strings over limit bytes, and in valid
// UTF-8. It replaces arguments over argumentsLimit bytes by their size and digest. It copies the caller's slices before
// it changes them.
func (r *Record) redact(limit, argumentsLimit int) {
	for _, s := range []*string{
		(*string)(&r.Event), &r.CallID, &r.SessionID, &r.Worker, &r.Agent, &r.Host, &r.Principal, &r.Project, &r.Server, &r.Tool, &r.Kind,
		&r.Decision, &r.Risk, &r.Category, &r.By, &r.From, &r.Rule, &r.Approval,
	} {
		*s = bound(*s, limit)
	}
	r.Digest = bound(r.Digest, maxDigest)
	for _, s := range []*string{&r.Reason, &r.Summary, &r.Error} {
		*s = redactText(*s, limit)
	}
	r.Subjects = redactSubjects(r.Subjects, limit)
	if proof := slices.Clone(jsontext.Value(r.Presence)); len(proof) > 0 && proof.Compact() == nil {
		r.Presence = json.RawMessage(proof)
	} else {
		r.Presence = nil
	}
	if len(r.Arguments) > 0 {
		r.Arguments = redactArguments(r.Arguments, limit, argumentsLimit)
	}
}

func redactSubjects(subjects []Subject, limit int) []Subject {
	copied := false
	for i, s := range subjects {
		clean := Subject{
			Tool: bound(s.Tool, limit), Kind: bound(s.Kind, limit), Value: redactText(s.Value, limit),
			Action: bound(s.Action, limit), Rule: bound(s.Rule, limit), Risk: bound(s.Risk, limit),
		}
		if clean == s {
			continue
		}
		if !copied {
			subjects, copied = append([]Subject(nil), subjects...), true
		}
		subjects[i] = clean
	}
	return subjects
}

// redactText returns s without the secrets in it, cut to about limit bytes.
func redactText(s string, limit int) string {
	window := s
	if len(s) > limit+lookAhead {
		window = s[:runeBoundary(s, limit+lookAhead)]
	}
	clean := cutSecrets(strings.ToValidUTF8(window, "\uFFFD"))
	if len(clean) <= limit && len(window) == len(s) {
		return clean
	}
	if len(window) < len(s) {
		// The window may end within a token, too early to recognize it.
		limit = min(limit, max(0, len(clean)-maxStub))
	}
	return truncate(clean, s, limit)
}

// bound cuts s to about limit bytes. It does not look for secrets: it is for names and other short fields.
func bound(s string, limit int) string {
	if len(s) > limit {
		s = truncate(s, s, limit)
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// truncate returns the beginning of clean, with a note of original's length and SHA-256.
func truncate(clean, original string, limit int) string {
	clean = clean[:runeBoundary(clean, limit)]
	sum := sha256.New()
	var part [4 << 10]byte // hash strings in parts: converting a whole one to bytes would copy it
	for rest := original; rest != ""; {
		n := copy(part[:], rest)
		sum.Write(part[:n])
		rest = rest[n:]
	}
	return clean + "…[truncated: " + strconv.Itoa(len(original)) + " bytes, sha256:" + hex.EncodeToString(sum.Sum(nil)) + "]"
}

// runeBoundary returns the largest index up to n that does not split a rune of s.
func runeBoundary(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// cutSecrets replaces every secret in s.
func cutSecrets(s string) string {
	start, end, ok := nextSecret(s, 0)
	if !ok {
		return s
	}
	var b strings.Builder
	from := 0
	for ok {
		b.WriteString(s[from:start])
		b.WriteString(redacted)
		from = end
		start, end, ok = nextSecret(s, from)
	}
	b.WriteString(s[from:])
	return b.String()
}
