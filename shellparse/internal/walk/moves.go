package walk

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/word"
)

// changesDir reports whether a body may change the directory, so that its next round begins elsewhere.
func changesDir(sh *word.Shell, list []*syntax.Stmt) bool {
	return calls(sh, list, movers...)
}

// movers lists the builtins that change the directory.
var movers = []string{"cd", "pushd", "popd"}

// calls reports whether a body may call one of the named builtins in its own shell: by name, or through something that
// runs a text or a function.
func calls(sh *word.Shell, list []*syntax.Stmt, names ...string) bool {
	found, seen := false, map[string]bool{}
	var visit func(n syntax.Node) bool
	visit = func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				break
			}
			name := program(sh, n.Args)
			found = found || slices.Contains(names, name) || runsText(name) || name == "trap"
			if !seen[name] {
				seen[name] = true
				for _, body := range sh.Bodies(name) {
					syntax.Walk(body, visit)
				}
			}
		}
		return !found
	}
	for _, st := range list {
		syntax.Walk(st, visit)
	}
	return found
}

// program returns the program that words run, without the builtins before it that only look it up, or "" if it is
// unknown.
func program(sh *word.Shell, words []*syntax.Word) string {
	for i, w := range words {
		text, _ := word.Unquoted(w)
		switch {
		case i == 0 && (text == "-" || text == "repeat"), strings.ContainsAny(text, "{*?[") && text != "[":
			return "" // zsh runs the words after it, or the shell expands it to other words
		case i > 0 && strings.HasPrefix(text, "-"):
		case text != "command" && text != "builtin" && text != "noglob" && text != "nocorrect" || sh.Defines(text):
			return text
		}
	}
	return "command"
}

// runsText reports whether a program, "" if it is unknown, may run a text in its own shell at once.
func runsText(name string) bool {
	return name == "" || name == "eval" || name == "source" || name == "."
}

// Moves reports whether the text, or one around it, may change the directory of a shell.
func (a *Walker) Moves() (moves bool) {
	for _, st := range a.text {
		syntax.Walk(st, func(n syntax.Node) bool {
			if n, ok := n.(*syntax.CallExpr); ok && len(n.Args) > 0 {
				name := program(a.Shell, n.Args)
				moves = moves || runsText(name) || slices.Contains(movers, name)
			}
			return !moves
		})
	}
	return moves
}
