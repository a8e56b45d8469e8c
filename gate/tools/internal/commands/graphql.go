package commands

import (
	"strings"

	"callgate/permissions"
)

// GraphQL says what a document may do: one of queries and fragments alone reads. What else there is, or what cannot be
// read to its end, is UNKNOWN.
func GraphQL(text string) permissions.Risk {
	text = strings.ReplaceAll(text, "\r", "\n") // either ends a line
	depth, begins := 0, true                    // begins: the next word outside of brackets says what the definition is
	for text != "" {
		switch c := text[0]; {
		case c == '#':
			_, text, _ = strings.Cut(text, "\n")
			continue
		case c == '"':
			n := graphQLString(text)
			if n == 0 {
				return permissions.Unknown
			}
			text = text[n:]
			continue
		case c == '{' || c == '(' || c == '[':
			if depth++; c == '{' {
				begins = false
			} else if begins {
				return permissions.Unknown
			}
		case c == '}' || c == ')' || c == ']':
			if depth--; depth < 0 {
				return permissions.Unknown
			}
			begins = c == '}' && depth == 0
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_':
			n := strings.IndexFunc(text, func(r rune) bool {
				return r != '_' && !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
			})
			if n < 0 {
				return permissions.Unknown // no definition ends so
			}
			if begins && text[:n] != "query" && text[:n] != "fragment" {
				return permissions.Unknown
			}
			begins, text = false, text[n:]
			continue
		case begins && c != ' ' && c != '\n' && c != '\t' && c != ',':
			return permissions.Unknown
		}
		text = text[1:]
	}
	if depth != 0 || !begins {
		return permissions.Unknown
	}
	return permissions.ReadOnly
}

// graphQLString returns how long the string is that a text begins with, 0 if it does not end.
func graphQLString(text string) int {
	quote := `"`
	if strings.HasPrefix(text, `"""`) {
		quote = `"""`
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case quote == `"""` && strings.HasPrefix(text[i:], `\"""`):
			i += 3
		case quote == `"` && text[i] == '\\':
			i++
		case quote == `"` && text[i] == '\n':
			return 0
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		}
	}
	return 0
}
