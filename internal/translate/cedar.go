package translate

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"callgate/permissions"
)

// exportCedar writes policies with the vocabulary of docs/policy.md. Cedar has no order, so each policy excludes calls
// that a later rule with another action matches.
func exportCedar(e *Export) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Made of callgate's rules.\n")
	conditions := make([]string, len(e.Rules))
	for i := range e.Rules {
		r := &e.Rules[i]
		if !e.plain(r) {
			continue
		}
		condition, why := cedarCondition(r)
		if why != "" {
			e.leave(r, "%s", why)
			continue
		}
		conditions[i] = condition
	}
	for i := range e.Rules {
		r := &e.Rules[i]
		if conditions[i] == "" {
			continue
		}
		var unless []string
		whole := true
		for k := i + 1; k < len(e.Rules); k++ {
			later := &e.Rules[k]
			if same := later.Action == r.Action; same || !overlap(r, later) {
				continue
			}
			if conditions[k] == "" {
				whole = whole && r.Action != permissions.Allow
				continue
			}
			unless = append(unless, conditions[k])
		}
		if !whole {
			e.leave(r, "a later rule that overlaps it does not translate")
			continue
		}
		fmt.Fprintf(&b, "\n// %s\n", strings.ReplaceAll(r.String(), "\n", " "))
		effect := "forbid"
		switch r.Action {
		case permissions.Allow:
			effect = "permit"
		case permissions.Ask, permissions.Confirm:
			b.WriteString("@callgate(\"ask\")\n")
		}
		fmt.Fprintf(&b, "%s (principal, action, resource)\nwhen { %s }%s;\n", effect, conditions[i], cedarUnless(unless))
	}
	return b.Bytes(), nil
}

func cedarUnless(conditions []string) string {
	if len(conditions) == 0 {
		return ""
	}
	return "\nunless { " + strings.Join(conditions, "\n      || ") + " }"
}

// cedarCondition returns the condition of a rule in Cedar, or why it does not translate.
func cedarCondition(r *permissions.Rule) (condition, why string) {
	var parts []string
	if r.Tool != "*" {
		covered, own := covers(r)
		var tools []string
		for _, kind := range covered {
			tools = append(tools, "context.kind == "+cedarText(kind))
		}
		if own {
			names, ok := permissions.Texts(r.Tool)
			if !ok {
				return "", "the program does not know the wildcards in the tool's pattern"
			}
			for _, name := range names {
				tools = append(tools, cedarMatch("resource.name", name))
			}
		}
		parts = append(parts, anyOf(tools))
	}
	if r.Pattern != "*" {
		values, ok := texts(r)
		if !ok {
			return "", "the program does not know the pattern's wildcards"
		}
		var alternatives []string
		for _, v := range values {
			if before, ok := strings.CutSuffix(v, " *"); ok {
				alternatives = append(alternatives, cedarMatch("context.value", before))
			}
			alternatives = append(alternatives, cedarMatch("context.value", v))
		}
		parts = append(parts, anyOf(alternatives))
	}
	if len(parts) == 0 {
		return "true", ""
	}
	return strings.Join(parts, " && "), ""
}

func anyOf(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return "(" + strings.Join(slices.Compact(list), " || ") + ")"
}

func cedarMatch(name, text string) string {
	if !strings.Contains(text, "*") {
		return name + " == " + cedarText(text)
	}
	return name + " like " + cedarText(text)
}

// cedarText returns a Cedar string. In a pattern for "like" a star is a wildcard; text has no other stars.
func cedarText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\u{%x}", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
