package inspect

import (
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/script"
)

// cdOptions lists the options of cd, none of which names a directory.
var cdOptions = map[string]bool{"-P": true, "-L": true, "-e": true, "--": true, "-q": true}

// runCd follows a change of directory. A change that stays below the start needs no rule.
func runCd(a *walk.Walker, c *walk.Call) bool {
	words := c.Argv[1:]
	for len(words) > 0 && words[0].Known && cdOptions[words[0].Text] {
		words = words[1:]
	}
	outer := c.Outer
	if outer == nil {
		outer = &word.Scope{}
	}
	if a.Shell.Defines(c.Name) {
		outer.Stray() // a function of the text may run in its place
	}
	before, lost, old, stack := outer.Dirs, outer.Lost, outer.Old, outer.Stack
	changed := a.Shell.Wanders || a.Shell.Assigned["OLDPWD"] || a.Shell.Assigned["DIRSTACK"] || a.Shell.Once[word.Anything] > 0
	outer.Astray = outer.Astray || outer.Lost
	switch {
	case len(old) > 0 && !changed && c.Name == "cd" && len(words) == 1 && words[0].Known && words[0].Text == "-":
		outer.Return(old)
	case len(stack) > 0 && !changed && c.Name == "popd" && len(words) == 0:
		outer.Return(stack[len(stack)-1])
		stack = stack[:len(stack)-1]
	case len(words) == 1 && c.Name != "popd" && !words[0].Known:
		enterUnknown(a, c, outer, words[0])
	case c.Name == "popd", len(words) == 1 && word.HasPrefix(words[0].Text, "-", "+"),
		len(words) == 0 && c.Name == "pushd":
		outer.Lose()
		outer.Anywhere = outer.Anywhere || changed
		stack = nil
	case len(words) > 1, len(words) == 0 && a.Words.Home == "":
		outer.Stray()
	case len(words) == 0:
		outer.Dirs = []string{word.Clean(a.Words.Home)}
	case words[0].Text == "":
		outer.Lose()
	default:
		outer.Enter(words[0].Text)
		if a.Shell.Assigned["CDPATH"] {
			outer.Stray()
		}
	}
	switch {
	case lost && a.Shell.Wanders:
		outer.Stray() // a trap may change it at once
	case !lost && !outer.Lost:
		if outer.Old, outer.Stack = before, stack; c.Name == "pushd" && a.Words.Dialect == script.Bash {
			outer.Stack = append(slices.Clip(stack), before)
		}
	}
	outer.Failed = outer.Union(outer.Failed, before)
	followed(a, c, outer)
	return false
}

// enterUnknown follows a change to an unknown directory.
func enterUnknown(a *walk.Walker, c *walk.Call, outer *word.Scope, to word.Word) {
	switch {
	case isProject(a, to.Text):
		outer.Lose()
	case len(to.Globs) > 0 && !a.Shell.Assigned["CDPATH"]:
		outer.EnterAny(to.Globs)
		intoFolders(c, to)
	default:
		outer.Stray()
		if strings.HasPrefix(to.Text, "~") {
			outer.Dirs = []string{to.Text}
		}
	}
}

// intoFolders limits the patterns of a word to folders, because cd enters only those.
func intoFolders(c *walk.Call, w word.Word) {
	for i, o := range c.Argv {
		if o.Known || o.Text != w.Text {
			continue
		}
		folders := make([]string, len(w.Globs))
		for k, g := range w.Globs {
			folders[k] = strings.TrimSuffix(g, "/") + "/"
		}
		c.Argv[i].Globs = folders
	}
}

// isProject reports whether a word is the project's directory: the top of the repository, or a variable with a typical
// name that the text does not set.
func isProject(a *walk.Walker, text string) bool {
	m := projectWord.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	name := m[1] + m[2]
	return name == "" || !a.Shell.Assigned[name] && a.Shell.Once[word.Anything] == 0
}

var projectWord = lazyregexp.New(`^"?(?:\$\(git rev-parse --show-toplevel\)|\$(\w*(?:PROJECT|REPO|WORKSPACE)\w*)|\$\{(\w*(?:PROJECT|REPO|WORKSPACE)\w*)(?::?-\.?)?\})"?$`)

// followed marks a change of directory that needs no rule.
func followed(a *walk.Walker, c *walk.Call, outer *word.Scope) {
	if len(c.Writes)+len(c.Reads)+len(c.Effects)+len(c.Sc.Effects)+len(c.Sc.Via) == 0 && !outer.Lost && !a.Outside(outer.Dirs) {
		c.Sc.DenyOnly = true
	}
}
