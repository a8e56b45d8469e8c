package hooks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"callgate/internal/lazyregexp"
)

// placeholders lists what can stand in a hook's words, and its value for an event. No value begins with a dash,
// whatever the model or a server says. So a value that is a whole word of a command is never an option.
var placeholders = []struct {
	name  string
	value func(h *hook, e *Event) string
}{
	{"toolName", func(_ *hook, e *Event) string { return safeName(e.Tool) }},
	{"args", func(h *hook, e *Event) string { return string(h.json(e.Arguments)) }}, // an object
	{"agentId", func(_ *hook, e *Event) string { return safeName(e.Agent) }},
	{"sessionId", func(_ *hook, e *Event) string { return safeName(e.SessionID) }},
	{"risk", func(_ *hook, e *Event) string { return safeName(e.Risk) }},
	{"decision", func(_ *hook, e *Event) string { return safeName(e.Decision) }},
	{"error", func(h *hook, e *Event) string { return sentence(h.text(e.Error)) }},
	{"durationMs", func(_ *hook, e *Event) string { return strconv.FormatInt(max(0, e.Duration.Milliseconds()), 10) }},
	{"workerId", func(_ *hook, e *Event) string { return safeName(e.Worker) }},
}

// maxValue bounds a value in a word, in bytes: systems limit words, and standard input has the whole value.
const maxValue = 8 << 10

// sentence returns s so that it cannot be taken for an option.
func sentence(s string) string {
	if strings.HasPrefix(s, "-") {
		return " " + s
	}
	return s
}

// template is text with placeholders.
type template struct {
	parts []templatePart
}

type templatePart struct {
	literal string
	value   func(h *hook, e *Event) string // nil for a literal
}

var placeholder = lazyregexp.New(`\{\{\s*([^{}]*?)\s*\}\}`)

func parseTemplate(text string) (template, error) {
	var t template
	from := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		wanted := text[at[2]:at[3]]
		i := slices.IndexFunc(placeholders, func(p struct {
			name  string
			value func(h *hook, e *Event) string
		},
		) bool {
			return p.name == wanted
		})
		if i < 0 {
			return t, fmt.Errorf("placeholder {{%s}} is not known: use %s", wanted, placeholderNames())
		}
		t.parts = append(t.parts, templatePart{literal: text[from:at[0]]}, templatePart{value: placeholders[i].value})
		from = at[1]
	}
	t.parts = append(t.parts, templatePart{literal: text[from:]})
	return t, nil
}

func placeholderNames() string {
	names := make([]string, len(placeholders))
	for i, p := range placeholders {
		names[i] = "{{" + p.name + "}}"
	}
	return strings.Join(names, " ")
}

// dynamic reports whether the text depends on the event.
func (t template) dynamic() bool {
	return slices.ContainsFunc(t.parts, func(p templatePart) bool { return p.value != nil })
}

// render fills in the placeholders. It replaces characters that a system cannot pass in a word.
func (t template) render(h *hook, e *Event) string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.literal)
		if p.value != nil {
			b.WriteString(safeWord(p.value(h, e)))
		}
	}
	return b.String()
}

// safeWord makes a value fit for one word: bounded, valid, and without control characters.
func safeWord(s string) string {
	if len(s) > maxValue {
		s = s[:maxValue] + "…"
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return ' '
		}
		return r
	}, s)
}
