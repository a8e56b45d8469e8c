package parse

import "mvdan.cc/sh/v3/syntax"

// ownBodies gives each function its body alone. The parser takes what follows a body after |, && or || for a part of it.
func ownBodies(f *syntax.File) {
	syntax.Walk(f, func(n syntax.Node) bool {
		if st, ok := n.(*syntax.Stmt); ok {
			ownBody(st)
		}
		return true
	})
}

// ownBody corrects the function that a statement defines, if it is one. The statement becomes the whole list.
func ownBody(st *syntax.Stmt) {
	fn, ok := st.Cmd.(*syntax.FuncDecl)
	if !ok {
		return
	}
	ownBody(fn.Body) // zsh has functions that define functions
	list, ok := fn.Body.Cmd.(*syntax.BinaryCmd)
	if !ok {
		return
	}
	st.Cmd = list
	for at := list; ; {
		first := at.X
		if at, ok = first.Cmd.(*syntax.BinaryCmd); ok {
			first.Position = fn.Position
			continue
		}
		body := *first
		*first = syntax.Stmt{Position: fn.Position, Cmd: fn}
		fn.Body = &body
		return
	}
}
