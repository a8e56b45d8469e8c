package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"callgate/internal/visible"
)

// Readable returns arguments for people, as lines. Each member is on its own line, and the later lines of a text start
// with a bar. Escapes that hide something are resolved, and invisible characters are made visible.
func Readable(args json.RawMessage) (text []string) {
	lines := []string{string(args)} // text that is not JSON is one line: its line breaks must not look like callgate's
	if json.Valid(args) {
		lines = strings.Split(Indented(args), "\n")
	}
	for _, line := range lines {
		for i, part := range Breaks(line) {
			if part = visible.Text(part); i > 0 {
				part = "│ " + part
			}
			text = append(text, part)
		}
	}
	return text
}

// Indented returns JSON with one member a line. It keeps the spelling of numbers and the order of members. It resolves
// escapes that hide readable text, so that "r\u006d" becomes "rm"; escapes that JSON needs and half surrogate pairs
// stay. Invisible characters stay too. It returns text that is not JSON unchanged.
func Indented(raw json.RawMessage) string {
	var indented bytes.Buffer
	if json.Indent(&indented, bytes.TrimSpace(raw), "", "  ") != nil {
		return string(raw)
	}
	return unescape(indented.String())
}

// short maps characters to JSON's two-character escapes, for those that JSON does not allow unescaped.
var short = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

// unescape writes every character of JSON text as short as JSON allows.
func unescape(text string) string {
	var b strings.Builder
	for {
		plain, after, found := strings.Cut(text, `\`)
		if b.WriteString(plain); !found {
			return b.String()
		}
		text = text[len(plain):]
		r, n := escaped(text)
		switch brief := short[r]; {
		case strings.HasPrefix(after, "/"):
			b.WriteByte('/')
			n = 2
		case n == 0 || r < ' ' && brief == "":
			n = min(max(n, 2), len(text))
			b.WriteString(text[:n])
		case brief != "":
			b.WriteString(brief)
		default:
			b.WriteRune(r)
		}
		text = text[n:]
	}
}

// escaped decodes the \u escape, or the surrogate pair of two, at the start of text. n is 0 if there is none, or only
// half a pair.
func escaped(text string) (r rune, n int) {
	unit := func(text string) (rune, bool) {
		if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(text[2:6], 16, 16)
		return rune(v), err == nil
	}
	r, ok := unit(text)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, ok := unit(text[6:])
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, 0
	}
	return r, 12
}

// Breaks splits JSON text after each \n escape, and keeps the escapes.
func Breaks(text string) (parts []string) {
	start := 0
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; text[i] == 'n' {
			parts = append(parts, text[start:i+1])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// CommandText describes one effective command: its words, quoted where a shell would need it, and what it touches.
func CommandText(c Command) string {
	words := make([]string, len(c.Argv))
	for i, w := range c.Argv {
		words[i] = Quoted(w)
	}
	text := strings.Join(words, " ") + "  [" + RiskWords(c.Risk)
	for _, part := range []struct {
		name  string
		items []string
	}{{"via", c.Via}, {"writes", c.Writes}, {"reads", c.Reads}} {
		if len(part.items) == 0 {
			continue
		}
		quoted := make([]string, len(part.items))
		for i, item := range part.items {
			quoted[i] = Quoted(item)
		}
		text += ", " + part.name + " " + strings.Join(quoted, ", ")
	}
	return text + "]"
}

// Quoted returns a word unchanged if nothing in it could be misread, otherwise in quotes with escapes.
func Quoted(word string) string {
	for _, r := range word {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,~*", r) {
			return `"` + visible.Text(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word)) + `"`
		}
	}
	if word == "" {
		return `""`
	}
	return word
}

// Allows describes what a grant would allow: calls of a tool, a destination, or the results of a tool.
func (o Offer) Allows() string {
	switch o.Tool {
	case "flow:destination":
		return "this destination is fine: " + Quoted(o.Pattern)
	case "flow:result":
		return "trust the result of this one call: " + visible.Text(o.Pattern)
	case "flow:source":
		return "trust what " + Quoted(o.Pattern) + " returns"
	}
	switch text, exact := exactText(o.Pattern); {
	case o.Pattern == "*":
		return visible.Text(o.Tool) + " with any arguments"
	case exact && strings.HasPrefix(text, "{"):
		return visible.Text(o.Tool) + " with exactly " + visible.Text(text)
	case exact:
		return visible.Text(o.Tool) + " with exactly " + Quoted(text)
	}
	return visible.Text(o.Tool) + " " + Quoted(o.Pattern)
}

// exactText returns the only text that a pattern with escapes matches, after the argument's name and = if the pattern
// is about an argument. exact is false for patterns that are easy to read unchanged, or match more.
func exactText(pattern string) (text string, exact bool) {
	if !strings.Contains(pattern, `\`) || strings.HasPrefix(pattern, "~") || strings.HasPrefix(pattern, "$") {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\' && i+1 < len(pattern):
			i++
		case c == '\\' || strings.IndexByte("*?[]{}()!+@|", c) >= 0:
			return "", false
		}
		b.WriteByte(pattern[i])
	}
	return b.String(), true
}

// RiskWords describes a risk class for people.
func RiskWords(class string) string {
	switch class {
	case "READ_ONLY":
		return "only reads"
	case "BUILD_TEST":
		return "runs the project's build or tests"
	case "WRITE":
		return "changes files or state"
	case "NETWORK":
		return "talks to other machines"
	case "DESTRUCTIVE":
		return "may lose data or history"
	case "ESCALATION":
		return "gains privileges"
	case "UNKNOWN":
		return "effect unknown"
	}
	return visible.Text(class)
}

// HighRisk reports whether a risk class is high or critical. An unknown class counts as high.
func HighRisk(class string) bool {
	switch class {
	case "READ_ONLY", "BUILD_TEST", "WRITE", "NETWORK":
		return false
	}
	return true
}
