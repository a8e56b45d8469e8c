package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"callgate/gate/tools"
	"callgate/internal/lazyregexp"
)

// OwnName is the alias of the server that callgate itself is. Nothing else may have it, even where callgate offers no
// tool: rules that allow callgate's own tools would also allow those of whoever took the name.
const OwnName = "callgate"

// maxName is the longest name that every host and model takes.
const maxName = 64

// Sanitize returns name with every character except letters, digits, _ and - replaced by _.
func Sanitize(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// CheckAliases returns an error for an alias that would make a qualified name ambiguous: it could form the name of a
// kind, which rules trust, or it begins like another alias.
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

// Origin is a name at the server that it comes from.
type Origin struct{ Alias, Name string }

// Qualify returns for each Origin the name that hosts and rules use: {alias}_{name}, sanitized. Names that several
// origins would share all get a suffix made from their origin. So do names that are too long. The suffix depends on
// nothing else, so a name means the same tomorrow.
func Qualify(origins []Origin) []string {
	names := make([]string, len(origins))
	for i, o := range origins {
		names[i] = o.Plain()
	}
	suffixed := make([]bool, len(origins))
	for again := true; again; { // a server's tool may have the name that another gets with its suffix
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

// Plain returns the qualified name without a suffix. A tool has it if no other tool shares it.
func (o Origin) Plain() string { return o.Alias + "_" + Sanitize(o.Name) }

var suffixed = lazyregexp.New(`^(.+)_[0-9a-f]{8}$`)

// Plain returns a qualified name without its suffix, if it has one. Without the server's tools, a suffix cannot be told
// from a name that just ends like one.
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
