package tui

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// replacement is a passage that a call replaces.
type replacement struct{ before, after string }

// pairs are the names that editing tools of common servers give to a passage and its replacement.
var pairs = [...][2]string{
	{"old_text", "new_text"}, {"oldText", "newText"}, {"old_string", "new_string"}, {"oldString", "newString"}, {"old_str", "new_str"},
}

// replacements finds what a call would replace: pairs in its arguments and in each object of its lists of edits. This
// is only an aid: the screen always shows the arguments too.
func replacements(raw json.RawMessage) (found []replacement) {
	var arguments map[string]json.RawMessage
	if json.Unmarshal(raw, &arguments) != nil {
		return nil
	}
	found = appendPair(found, arguments)
	for _, name := range []string{"edits", "replacements"} {
		var edits []map[string]json.RawMessage
		if json.Unmarshal(arguments[name], &edits) != nil {
			continue
		}
		for _, edit := range edits {
			found = appendPair(found, edit)
		}
	}
	return found
}

func appendPair(found []replacement, object map[string]json.RawMessage) []replacement {
	for _, pair := range pairs {
		var before, after *string
		if json.Unmarshal(object[pair[0]], &before) == nil && json.Unmarshal(object[pair[1]], &after) == nil && before != nil && after != nil {
			found = append(found, replacement{*before, *after})
		}
	}
	return found
}

// diffLines returns lines of at most width columns that show how after differs from before.
func (s *styles) diffLines(before, after string, width int) (lines []string) {
	text := diff.Diff("before", ended(before), "after", ended(after))
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		sign, rest := line[:min(1, len(line))], line[min(1, len(line)):]
		style := s.faint
		switch {
		case strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "--- before") || strings.HasPrefix(line, "+++ after"):
			continue
		case sign == "@":
			lines = append(lines, s.faint.Styled(cut(line, width)))
			continue
		case sign == "+":
			style = s.good
		case sign == "-":
			style = s.bad
		}
		rest = shown(strings.ReplaceAll(rest, "\t", "→   "))
		for _, piece := range gutters(rest, sign+" ", width) {
			lines = append(lines, style.Styled(piece))
		}
	}
	return lines
}

// ended ends text with a line break, so that a missing one does not count as a difference.
func ended(text string) []byte {
	if text == "" || strings.HasSuffix(text, "\n") {
		return []byte(text)
	}
	return append(bytes.Clone([]byte(text)), '\n')
}
