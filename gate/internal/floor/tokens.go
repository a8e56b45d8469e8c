package floor

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"callgate/audit"
	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/loopback"
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
		if len(c.Argv) == 0 || staysHere(c) {
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

// staysHere reports whether a command names an address of this machine and none elsewhere.
func staysHere(c tools.CommandView) bool {
	if slices.ContainsFunc(slices.Concat(c.Argv[1:], c.Around), reroutes.MatchString) {
		return false
	}
	here := false
	for _, word := range c.Argv[1:] {
		host, certain := hostIn(word)
		switch {
		case loopback.Host(host):
			here = true
		case certain || (facts.Value{Text: word}).LooksLikeAddress():
			return false
		}
	}
	return here
}

// hostIn returns the host of a word as if it were an address. certain is false if it may be no address.
func hostIn(word string) (host string, certain bool) {
	before, rest, ok := strings.Cut(word, "://")
	if ok = ok && !strings.ContainsAny(before, "/? "); !ok { // else an address within another, or in a header
		rest = word
	}
	u, err := url.Parse("//" + rest)
	if err != nil {
		return "", ok
	}
	_, failed := netip.ParseAddr(u.Hostname())
	return u.Hostname(), ok || failed == nil
}
