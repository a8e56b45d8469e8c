package companion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"callgate/gate/tools"
)

// What is shown of arguments before a person asks for all of them.
const (
	shownLines = 60
	shownBytes = 8 << 10
)

// show describes an approval for a terminal. Every string of it goes through tools.Visible or quote: it may come
// from the model or from an upstream, and must not move the cursor, pass for another part of the display,
// or hide. whole shows arguments of any size; complete says that all of them were shown.
func show(f *ToolApproveRequest, now time.Time, whole bool) (text string, complete bool) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n── %s ──\n", tools.Visible(f.Tool))
	fmt.Fprintf(&b, "Server %s, session %s, agent %s, worker %s, %s left\n",
		tools.Visible(f.Server), tools.Visible(f.SessionID), tools.Visible(f.AgentID), tools.Visible(f.WorkerID), left(f, now))
	fmt.Fprintf(&b, "Risk   %s: %s", strings.ToUpper(tools.Visible(f.Risk.Label)), RiskWords(f.Risk.Class))
	if f.Risk.Category != "" {
		fmt.Fprintf(&b, " (%s)", tools.Visible(f.Risk.Category))
	}
	b.WriteByte('\n')
	section(&b, "What   ", tools.Visible(f.Summary))
	section(&b, "Why    ", tools.Visible(f.Reason))
	for _, m := range f.Marks {
		fmt.Fprintf(&b, "!      %s\n", tools.Visible(m.Text))
	}
	if f.Rewritten != nil {
		fmt.Fprintf(&b, "!      The hook %s changed the arguments. They came as %s\n", tools.Visible(f.Rewritten.By), tools.Visible(string(f.Rewritten.Original)))
	}
	complete = showArguments(&b, f.Args, whole)
	for i, c := range f.Commands {
		if i == 0 {
			b.WriteString("Runs\n")
		}
		fmt.Fprintf(&b, "  %s\n", CommandText(c))
	}
	for i, r := range f.Reasons {
		if i == 0 {
			b.WriteString("Rules\n")
		}
		rule := r.Rule
		if rule == "" {
			rule = r.Action + " by " + r.Layer
		}
		fmt.Fprintf(&b, "  %s: %s\n", tools.Visible(r.Subject), tools.Visible(rule))
	}
	for i, o := range f.Always {
		if i == 0 {
			b.WriteString("Always could allow\n")
		}
		fmt.Fprintf(&b, "  %d. %s %s, at worst: %s", i+1, tools.Visible(o.Tool), Quoted(o.Pattern), RiskWords(o.Risk))
		if o.Default {
			b.WriteString(" (chosen when you name none)")
		}
		b.WriteByte('\n')
	}
	return b.String(), complete
}

func section(b *strings.Builder, title, text string) {
	if text != "" {
		b.WriteString(title + text + "\n")
	}
}

// showArguments writes arguments as Readable does, indented.
func showArguments(b *strings.Builder, args json.RawMessage, whole bool) (complete bool) {
	b.WriteString("Arguments\n")
	size := 0
	for shown, line := range Readable(args) {
		if size += len(line) + 2; !whole && (shown >= shownLines || size > shownBytes) {
			fmt.Fprintf(b, "  … and more, %d bytes in all. Type v to see everything, then answer.\n", len(args))
			return false
		}
		b.WriteString("  " + line + "\n")
	}
	return true
}

// Readable returns arguments as people read them, line by line: one member a line, text of several lines
// going on behind a bar, escapes that hide something taken out, and what cannot be seen made visible.
func Readable(args json.RawMessage) (text []string) {
	var indented bytes.Buffer
	lines := []string{string(args)}
	if err := json.Indent(&indented, args, "", "  "); err == nil {
		lines = strings.Split(indented.String(), "\n")
	}
	for _, line := range lines {
		for i, part := range fold(unescape(line)) {
			if part = tools.Visible(part); i > 0 {
				part = "│ " + part
			}
			text = append(text, part)
		}
	}
	return text
}

// unescape replaces the escapes of JSON text that hide what could be read: r\u006d is shown as rm. Escapes
// of what cannot be read, and those that JSON needs, stay.
func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		switch {
		case text[i] != '\\' || i+1 == len(text):
			b.WriteByte(text[i])
			i++
		case text[i+1] == '/':
			b.WriteByte('/')
			i += 2
		default:
			r, n := escaped(text[i:])
			if n == 0 || tools.Visible(string(r)) != string(r) || r == '"' || r == '\\' {
				n = max(n, 2)
				b.WriteString(text[i : i+n])
			} else {
				b.WriteRune(r)
			}
			i += n
		}
	}
	return b.String()
}

// escaped reads the \u escape, or the pair of them for one character, that text begins with. n is 0 when
// there is none, or half a pair.
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

// fold breaks JSON text after each \n escape, which stays where it is.
func fold(text string) []string {
	var parts []string
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

// CommandText shows one effective command: words as a shell would need them quoted, and what it touches.
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

// Quoted returns a word as it is when nothing in it could be misread, else in quotes with escapes.
func Quoted(word string) string {
	for _, r := range word {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,~*", r) {
			return `"` + tools.Visible(strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word)) + `"`
		}
	}
	if word == "" {
		return `""`
	}
	return word
}

// RiskWords says, for people, what a class of risk means.
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
	return tools.Visible(class)
}

// left is the time until the call is denied.
func left(f *ToolApproveRequest, now time.Time) string {
	seconds := max(0, int(f.ExpiresAt.Sub(now).Seconds()))
	return strconv.Itoa(seconds) + " s"
}
