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
	words, physical := c.Argv[1:], false
	for len(words) > 0 && words[0].Known && cdOptions[words[0].Text] {
		physical = physical || words[0].Text == "-P"
		words = words[1:]
	}
	outer := c.Outer
	if outer == nil {
		outer = &word.Scope{}
	}
	if a.Shell.Defines(c.Name) {
		outer.Stray() // a function of the text may run in its place
	}
	before, lost, stack := outer.Dirs, outer.Lost, outer.Stack
	outer.Astray = outer.Astray || outer.Lost
	if rest, returned := goBack(a, c, outer, words); returned {
		stack = rest
	} else {
		goOn(a, c, outer, words)
	}
	if physical {
		toTarget(outer, words)
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

// goBack follows a change back to an earlier directory, and returns what is left of the stack of pushd. returned is false
// if the words name another directory.
func goBack(a *walk.Walker, c *walk.Call, outer *word.Scope, words []word.Word) (stack [][]string, returned bool) {
	changed := a.Shell.Wanders || a.Shell.Assigned["OLDPWD"] || a.Shell.Assigned["DIRSTACK"] || a.Shell.Once[word.Anything] > 0
	pops := c.Name == "popd"
	last := len(outer.Stack) - 1
	switch {
	case !changed && len(outer.Old) > 0 && c.Name == "cd" && len(words) == 1 && words[0].Known && words[0].Text == "-":
		outer.Return(outer.Old)
		return outer.Stack, true
	case !changed && last >= 0 && pops && len(words) == 0:
		outer.Return(outer.Stack[last])
		return outer.Stack[:last], true
	case pops, len(words) == 1 && words[0].Known && word.HasPrefix(words[0].Text, "-", "+"), len(words) == 0 && c.Name == "pushd":
		outer.Lose()
		outer.Anywhere = outer.Anywhere || changed
		return nil, true
	}
	return nil, false
}

// goOn follows a change to the directory that the words name; no words mean the home directory.
func goOn(a *walk.Walker, c *walk.Call, outer *word.Scope, words []word.Word) {
	switch {
	case len(words) == 1 && !words[0].Known:
		enterUnknown(a, c, outer, words[0])
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
}

// toTarget corrects a change of directory for the option -P: each .. leads to the parent of where links lead.
func toTarget(outer *word.Scope, words []word.Word) {
	if slices.ContainsFunc(words, func(w word.Word) bool { return !w.Known || slices.Contains(strings.Split(w.Text, "/"), "..") }) {
		outer.Stray()
	}
	outer.Base = outer.Dirs
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
