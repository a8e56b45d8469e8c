package walk

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
)

// bounds reports whether a command stops those before it in the pipe: head, unless it takes more than a disk holds.
func bounds(sh *word.Shell, st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return false
	}
	if name := call.Args[0].Lit(); programs.Canonical(name) != "head" || sh.Defines(name) {
		return false
	}
	var words []string
	for _, w := range call.Args[1:] {
		text, known := word.Unquoted(w)
		if !known {
			return false
		}
		words = append(words, text)
	}
	return !large.MatchString(strings.Join(words, " "))
}

// large matches words of head with a number of bytes or lines that would fill a disk, or one that counts from the end.
var large = lazyregexp.New(`(?i)(?:^| )(?:-[cnqvz]*|--[a-z]*=)?(?:[0-9]{10}|[0-9]{4,}[mb]|[0-9]+[gtpezyrq])|(?:^| )(?:-[qvz]*[cn]|--[bl][a-z]*)[ =]?-`)

// constant matches a condition that always holds.
var constant = lazyregexp.New(`^(?::|true|\[ ['"]?\w+['"]? \]|\[\[ ['"]?\w+['"]? \]\]|test \w+|\(\(\s*[0-9]+\s*\)\)|sleep [0.]+|/bin/true)?$`)

// endless reports whether a loop runs forever without waiting between its rounds. condition is "" if the loop has none.
func endless(condition string, until bool, body []*syntax.Stmt) bool {
	condition = strings.TrimSpace(condition)
	if until && condition != "false" || !until && !constant.MatchString(condition) {
		return false
	}
	ends := false
	var loops []bool // which of the enclosing nodes are loops
	for _, st := range body {
		syntax.Walk(st, func(n syntax.Node) bool {
			switch n := n.(type) {
			case nil:
				loops = loops[:len(loops)-1]
				return true
			case *syntax.WhileClause, *syntax.ForClause:
				loops = append(loops, true)
				return true
			case *syntax.CallExpr:
				ends = ends || len(n.Args) > 0 && endsRound(n, slices.Contains(loops, true))
			}
			loops = append(loops, false)
			return true
		})
	}
	return !ends
}

// endsRound reports whether a command may end the loop around it, or waits. inner means that it is in a nested loop.
func endsRound(call *syntax.CallExpr, inner bool) bool {
	more := len(call.Args) > 1
	switch call.Args[0].Lit() {
	case "exit", "return", "exec", "read", "wait":
		return true
	case "break":
		return !inner || more
	case "sleep":
		return more && strings.Trim(call.Args[1].Lit(), "0.") != ""
	}
	return false
}
