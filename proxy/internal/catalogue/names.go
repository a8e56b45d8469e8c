package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"callgate/gate/tools"
	"callgate/internal/lazyregexp"
)

// OwnName is the alias of the server that callgate itself is. Nothing else may have it, also where callgate offers
// no tool: rules that allow callgate's own would allow those of whoever took the name.
const OwnName = "callgate"

// maxName is the longest name that every host and model takes.
const maxName = 64

// Sanitize returns name with everything but letters, digits, _ and - replaced by _.
func Sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// CheckAliases reports aliases that would make a qualified name mean two things: one that could form the
// name of a kind, which rules trust, or one that begins like another.
func CheckAliases(aliases []string) error {
	for i, a := range aliases {
		if a == "" || Sanitize(a) != a {
			return fmt.Errorf("server name %q: use letters, digits, - and _ only", a)
		}
		for _, kind := range tools.Kinds() {
			if strings.HasPrefix(kind, a+"_") {
				return fmt.Errorf("server name %q: one of its tools could be called %q, which is the name of a kind; choose another name", a, kind)
			}
		}
		for j, b := range aliases {
			if i != j && (a == b || strings.HasPrefix(b, a+"_")) {
				return fmt.Errorf("server names %q and %q: one tool name could belong to both; choose another name", a, b)
			}
		}
	}
	return nil
}

// Origin is a name at the server it comes from.
type Origin struct{ Alias, Name string }

// Qualify gives every Origin the name that hosts and rules know it by: {alias}_{name}, sanitized. Names
// that several origins would share all get a suffix made from their origin, as do names that are too
// long: the suffix depends on nothing else, so a name means the same tomorrow.
func Qualify(origins []Origin) []string {
	names := make([]string, len(origins))
	for i, o := range origins {
		names[i] = o.Plain()
	}
	suffixed := make([]bool, len(origins))
	for again := true; again; { // a server may call a tool like what another gets with its suffix
		again = false
		count := make(map[string]int, len(names))
		for _, name := range names {
			count[name]++
		}
		for i, o := range origins {
			if !suffixed[i] && (count[names[i]] > 1 || len(names[i]) > maxName) {
				names[i], suffixed[i], again = withSuffix(names[i], o), true, true
			}
		}
	}
	return names
}

// Plain is the name of a tool that shares it with no other.
func (o Origin) Plain() string { return o.Alias + "_" + Sanitize(o.Name) }

var suffixed = lazyregexp.New(`^(.+)_[0-9a-f]{8}$`)

// Plain is the name that the suffix of a qualified name was added to, if it has one; where the tools of the server are
// not known it cannot be told from a name that ends like that by itself.
func Plain(qualified string) string {
	if m := suffixed.FindStringSubmatch(qualified); m != nil {
		return m[1]
	}
	return qualified
}

func withSuffix(name string, o Origin) string {
	sum := sha256.Sum256([]byte(o.Alias + "\x00" + o.Name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(suffix))] + suffix
}
