package inspect

import (
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
)

// cdOptions do not say where to.
var cdOptions = map[string]bool{"-P": true, "-L": true, "-e": true, "--": true, "-q": true}

// runCd follows a change of directory. One that stays below the start needs no rule.
func runCd(a *walk.Walker, c *walk.Call) bool {
	words := c.Argv[1:]
	for len(words) > 0 && words[0].Known && cdOptions[words[0].Text] {
		words = words[1:]
	}
	outer := c.Outer
	if outer == nil {
		outer = &word.Scope{}
	}
	before := outer.Dirs
	outer.Astray = outer.Astray || outer.Lost
	switch {
	case c.Name == "popd" || len(words) > 1:
		outer.Lost = true
	case len(words) == 0 && (a.Words.Home == "" || c.Name != "cd"):
		outer.Lost = true
	case len(words) == 0:
		outer.Dirs = []string{word.Clean(a.Words.Home)}
	case !words[0].Known:
		outer.Lost = true
		if strings.HasPrefix(words[0].Text, "~") {
			outer.Dirs = []string{words[0].Text}
		}
	case words[0].Text == "-" || strings.HasPrefix(words[0].Text, "+") || words[0].Text == "":
		outer.Lost = true
	default:
		outer.Enter(words[0].Text)
		outer.Lost = outer.Lost || a.Shell.Assigned["CDPATH"]
	}
	outer.Failed = outer.Union(outer.Failed, before)
	followed(a, c, outer)
	return false
}

// followed notes whether a change of directory needs a rule.
func followed(a *walk.Walker, c *walk.Call, outer *word.Scope) {
	if len(c.Writes)+len(c.Reads)+len(c.Effects)+len(c.Sc.Effects)+len(c.Sc.Via) == 0 && !outer.Lost && !a.Outside(outer.Dirs) {
		c.Sc.DenyOnly = true
	}
}
