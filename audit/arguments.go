package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
)

// redactArguments returns raw without insignificant space and without secrets: the value of every member whose name
// looks secret, whatever its type, and secrets in all other strings. Member order, duplicate members and the spelling
// of numbers stay. Invalid JSON becomes {"$invalid": text}. A result over sizeLimit bytes becomes {"$omitted": {bytes,
// sha256}}.
func redactArguments(raw []byte, limit, sizeLimit int) []byte {
	if !jsonx.Valid(raw) {
		out := appendString([]byte(`{"$invalid":`), redactText(string(raw), limit))
		return append(out, '}')
	}
	var room [1 << 10]byte
	out := room[:0]
	if len(raw) > len(room) {
		out = make([]byte, 0, min(len(raw), 2*limit))
	}
	out = redactValue(out, unsafe.String(unsafe.SliceData(raw), len(raw)), limit) // it keeps no part of the string
	if len(out) > sizeLimit {
		return omitted(raw)
	}
	if bytes.Equal(out, raw) { // almost always
		return raw
	}
	return bytes.Clone(out)
}

// omitted returns the replacement for arguments that are too long.
func omitted(raw []byte) []byte {
	sum := sha256.Sum256(raw)
	out := append([]byte(nil), `{"$omitted":{"bytes":`...)
	out = strconv.AppendInt(out, int64(len(raw)), 10)
	out = append(out, `,"sha256":"`...)
	out = hex.AppendEncode(out, sum[:])
	return append(out, `"}}`...)
}

// redactValue appends the redacted form of s, which is valid JSON. It is a flat loop over tokens: in valid JSON a
// string is a member's name exactly if a colon follows it, so it needs no stack.
func redactValue(dst []byte, s string, limit int) []byte {
	for i := 0; i < len(s); {
		switch s[i] {
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := stringEnd(s, i)
			text := s[i:end]
			dst = appendRedactedString(dst, text, limit)
			i = skipSpace(s, end)
			if i == len(s) || s[i] != ':' {
				continue
			}
			dst = append(dst, ':')
			i = skipSpace(s, i+1)
			if name := unquote(text); secretKey(name) || keyLike(name) && randomString(s, i) {
				dst = append(dst, `"`+redacted+`"`...)
				i = valueEnd(s, i)
			}
		default:
			dst = append(dst, s[i])
			i++
		}
	}
	return dst
}

// randomString reports whether the JSON value at i is a string that looks random.
func randomString(s string, i int) bool {
	return s[i] == '"' && looksRandom(unquote(s[i:stringEnd(s, i)]))
}

// appendRedactedString appends the JSON string quoted without secrets, or unchanged if it has none.
func appendRedactedString(dst []byte, quoted string, limit int) []byte {
	text := unquote(quoted)
	if clean := redactText(text, limit); clean != text {
		return appendString(dst, clean)
	}
	return append(dst, quoted...)
}

// unquote decodes a valid JSON string.
func unquote(quoted string) string {
	inner := quoted[1 : len(quoted)-1]
	if strings.IndexByte(inner, '\\') < 0 {
		return inner
	}
	text, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		// Only escapes of lone surrogates can be wrong here. They decode to U+FFFD.
		return string(bytes.ToValidUTF8(text, []byte("\uFFFD")))
	}
	return string(text)
}

// stringEnd returns the index after the JSON string at i.
func stringEnd(s string, i int) int {
	for i++; ; i++ {
		i += strings.IndexByte(s[i:], '"')
		escapes := i
		for s[escapes-1] == '\\' {
			escapes--
		}
		if (i-escapes)%2 == 0 {
			return i + 1
		}
	}
}

// valueEnd returns the index after the JSON value at i.
func valueEnd(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = stringEnd(s, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		default:
			for i < len(s) && strings.IndexByte(" \t\r\n,:\"{}[]", s[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
		for i < len(s) && strings.IndexByte(" \t\r\n,:", s[i]) >= 0 {
			i++
		}
	}
	return i
}

func skipSpace(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
		i++
	}
	return i
}
