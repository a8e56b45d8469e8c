package tools

import (
	"fmt"
	"strings"

	"callgate/internal/jsonx"

	"github.com/go-json-experiment/json/jsontext"
)

// readsPacked reports whether servers are known to read a text where an argument of the role is expected as the
// JSON that it holds: a list of paths that came as one text, say.
func (r Role) readsPacked() bool {
	switch r {
	case ReadPath, ReadFolder, WritePath, DeletePath, ListFolder, PatternPath, Command, URL, URLText, URI, Name, Revision:
		return true
	}
	return false
}

// looksPacked reports whether text begins as JSON that holds others does.
func looksPacked(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && (s[0] == '[' || s[0] == '{' || s[0] == '"')
}

// unpacked returns the texts in JSON that a text holds, at any depth, names included and texts in texts; none
// when it is no JSON.
func unpacked(s string) (inner []string) {
	for level := []string{s}; len(level) > 0; {
		var next []string
		for _, s := range level {
			if !looksPacked(s) || !jsontext.Value(s).IsValid() {
				continue
			}
			for text := range jsonx.Strings([]byte(s)) {
				if next = append(next, text); len(inner)+len(next) > maxArguments {
					break
				}
			}
		}
		inner, level = append(inner, next...), next
	}
	return inner
}

// packed looks at the texts that an argument's text holds as JSON, in the argument's own role: some servers
// parse what they are given as text, others take it as it is, and it has to be harmless either way.
func (b *builder) packed(a argument, role Role, s string) {
	if !role.readsPacked() || !looksPacked(s) {
		return
	}
	inner := unpacked(s)
	if len(inner) == 0 && (role == Command || !strings.ContainsAny(s, `"'`)) {
		return // a word in brackets is a name like any other, and shells have braces and quotes of their own
	}
	b.mark("ambiguous", fmt.Sprintf("The argument %s is a text that holds others: some servers read it as a list.", quote(a.name)))
	for _, text := range inner {
		if !b.count() {
			return
		}
		b.value(role, text)
	}
}
