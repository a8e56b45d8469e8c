package commands

import (
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/permissions"
)

// GraphQL returns the risk of a document. A document of only queries and fragments reads. Anything else, and a document
// that cannot be read to its end, is UNKNOWN.
func GraphQL(text string) permissions.Risk {
	text = strings.ReplaceAll(text, "\r", "\n") // either ends a line
	depth, begins := 0, true                    // begins: the next token is the first of a definition
	for text != "" {
		token, n := graphQLToken(text)
		if n == 0 {
			return permissions.Unknown
		}
		text = text[n:]
		switch token {
		case "":
			continue
		case "{", "(", "[":
			depth++
		case "}", ")", "]":
			if depth--; depth == 0 && token == "}" {
				begins = true
				continue
			}
		}
		if depth < 0 || begins && token != "query" && token != "fragment" && token != "{" {
			return permissions.Unknown
		}
		begins = false
	}
	if depth != 0 || !begins {
		return permissions.Unknown
	}
	return permissions.ReadOnly
}

var graphQLName = lazyregexp.New(`^\w+`)

// graphQLToken returns the name or sign that a text begins with, and how long it is. Blanks, comments and strings have
// no token, because they do not tell the kind of a definition. n is 0 for a string that does not end.
func graphQLToken(text string) (token string, n int) {
	switch text[0] {
	case ' ', '\t', '\n', ',':
		return "", 1
	case '#':
		line, _, _ := strings.Cut(text, "\n")
		return "", len(line)
	case '"':
		return "", graphQLString(text)
	}
	n = max(1, len(graphQLName.FindString(text)))
	return text[:n], n
}

// graphQLString returns the length of the string that a text begins with, or 0 if it does not end.
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
