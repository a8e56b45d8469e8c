package floor

import (
	"fmt"
	"slices"
	"strings"

	"callgate/audit"
	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/permissions"
)

// tellsTokens looks for credentials themselves in what is sent: an issuer's token that its form gives away, a private
// key, and in headers also what only its name gives away.
func (f *check) tellsTokens() string {
	if len(f.a.Commands) == 0 {
		if f.a.Risk == permissions.ReadOnly || facts.FileKind(f.call.Tool.Kind) && f.call.Tool.Bound {
			return ""
		}
		texts := f.call.Said()
		for i := range texts {
			if texts[i].HoldsSecret() && audit.Token(texts[i].Said) != "" { // a token is a secret, too
				return "hands a credential to a tool that may send it away"
			}
		}
		return ""
	}
	sender := f.sender
	if sender == "" {
		return ""
	}
	for _, c := range f.a.Commands {
		if len(c.Argv) == 0 || slices.ContainsFunc(c.Argv, staysHere) {
			continue
		}
		for i, word := range c.Argv[1:] {
			if audit.Token(word) != "" || header(c.Argv, i+1) && holdsSecret(word) {
				return fmt.Sprintf("spells out a credential, and %s can send it away", tools.Visible(sender))
			}
		}
	}
	return ""
}

// header reports whether the word at i is a header of a request.
func header(argv []string, i int) bool {
	return i > 0 && (argv[i-1] == "-H" || argv[i-1] == "--header") || strings.HasPrefix(argv[i], "-H") || strings.HasPrefix(argv[i], "--header=")
}

// holdsSecret reports whether a word spells out a secret instead of taking it from a variable.
func holdsSecret(word string) bool {
	if strings.ContainsAny(word, "$`") {
		return false
	}
	for range audit.Secrets(word) {
		return true
	}
	return false
}

// staysHere reports whether a word is an address of this machine.
func staysHere(word string) bool {
	_, rest, ok := strings.Cut(word, "://")
	if !ok {
		rest = word
	}
	host, _, _ := strings.Cut(rest, "/")
	name, _, _ := strings.Cut(host, ":")
	return name == "localhost" || name == "127.0.0.1" || strings.HasPrefix(host, "[::1]")
}
