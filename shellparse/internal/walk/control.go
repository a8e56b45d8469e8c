package walk

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// control walks what decides which statements run, in a scope: lists, conditions and loops.
type control struct {
	a  *Walker
	sc *word.Scope
}

// binary walks the two sides of a pipe, && or ||.
func (x control) binary(cmd *syntax.BinaryCmd) {
	a, sc := x.a, x.sc
	switch cmd.Op {
	case syntax.Pipe, syntax.PipeAll:
		side := *sc
		side.Sure, side.Bounded = false, sc.Bounded || bounds(a.Shell, cmd.Y)
		a.Shell.Within(func() { a.stmt(cmd.X, &side) })
		side = *sc // nothing keeps a pointer to the left side's scope
		side.Sure = false
		side.Input = &word.Input{Kind: word.InputPipe, Certain: true, Text: a.Words.Printed(cmd.X, sc), List: a.Words.Listed(cmd.X, sc)}
		a.Shell.Within(func() { a.stmt(cmd.Y, &side) })
		if a.Words.Dialect != script.Bash && !side.SamePlace(sc) {
			sc.Stray() // some shells run the last part of a pipe themselves
		}
	case syntax.AndStmt:
		a.stmt(cmd.X, sc)
		before := *sc
		sc.Sure = false
		a.Shell.Within(func() { a.stmt(cmd.Y, sc) })
		sc.Sure = before.Sure
		sc.FailsAt(&before)
	default:
		a.stmt(cmd.X, sc)
		done := *sc
		sc.SettleDirs()
		before := *sc
		sc.Sure = false
		a.Shell.Within(func() { a.stmt(cmd.Y, sc) })
		sc.Sure = before.Sure
		if !a.Shell.Jumps && !a.Shell.Ends() && leaves(a.Shell, cmd.Y) {
			done.Failed, done.Astray = nil, false
			sc.Follow(&done)
			return
		}
		sc.OrAt(&before)
	}
}

// jumps holds the builtins that leave a function or a loop before its end.
var jumps = word.Set("return break continue")

// leaves reports whether a statement certainly ends the shell that runs it: exit, or a block that prints and exits.
func leaves(sh *word.Shell, st *syntax.Stmt) bool {
	if len(st.Redirs) > 0 || st.Negated || st.Background || st.Coprocess || st.Disown {
		return false
	}
	switch cmd := st.Cmd.(type) {
	case *syntax.CallExpr:
		if len(cmd.Args) == 0 || len(cmd.Args) > 2 || cmd.Args[0].Lit() != "exit" {
			return false
		}
		return len(cmd.Args) == 1 || word.IsNumber(cmd.Args[1].Lit())
	case *syntax.Block:
		for _, st := range cmd.Stmts[:len(cmd.Stmts)-1] {
			call, ok := st.Cmd.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 || sh.Defines(call.Args[0].Lit()) || !programs.Find(call.Args[0].Lit()).Has(programs.Prints) {
				return false
			}
		}
		return leaves(sh, cmd.Stmts[len(cmd.Stmts)-1])
	}
	return false
}

// ifClause walks an if with its else branches.
func (x control) ifClause(cmd *syntax.IfClause) {
	a, sc := x.a, x.sc
	for ; cmd != nil; cmd = cmd.Else {
		a.branch(cmd.Cond, sc)
		a.branch(cmd.Then, sc)
	}
}

// whileClause walks a while or until loop. If the loop reads a list of files, the value of its variable is known.
func (x control) whileClause(cmd *syntax.WhileClause) {
	a, sc := x.a, x.sc
	if len(cmd.Cond) == 1 && cmd.Cond[0].Cmd != nil && endless(sc.Text(cmd.Cond[0].Cmd), cmd.Until, cmd.Do) {
		a.Found.Poison("repeats without end")
	}
	name, item := a.Words.Line(cmd, sc)
	if name == "" || calls(a.Shell, cmd.Do, "exec") { // exec may redirect the loop's input
		a.loop(slices.Concat(cmd.Cond, cmd.Do), sc)
		return
	}
	a.loop(cmd.Cond, sc)
	a.Shell.Vars[name] = item
	a.loop(cmd.Do, sc)
	delete(a.Shell.Vars, name)
}

// forClause walks a for or select loop.
func (x control) forClause(cmd *syntax.ForClause) {
	a, sc := x.a, x.sc
	switch l := cmd.Loop.(type) {
	case *syntax.WordIter:
		var items []word.Word
		for _, w := range l.Items {
			nested(a, w, sc)
			items = a.Words.Fields(items, w, sc)
			a.Shell.Copies(l.Name.Value, sc.Text(w))
		}
		if l.InPos.IsValid() {
			a.Shell.LoopVar(l.Name.Value, items, cmd.Select)
		}
		a.Words.Sets(l.Name.Value, word.Word{})
		a.loop(cmd.Do, sc)
		delete(a.Shell.Vars, l.Name.Value)
		return
	case *syntax.CStyleLoop:
		if l.Cond == nil && endless("", false, cmd.Do) {
			a.Found.Poison("repeats without end")
		}
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			expansion{a, sc}.arithm(x)
		}
	}
	a.loop(cmd.Do, sc)
}

// caseClause walks the branches of a case.
func (x control) caseClause(cmd *syntax.CaseClause) {
	a, sc := x.a, x.sc
	nested(a, cmd.Word, sc)
	for _, item := range cmd.Items {
		for _, p := range item.Patterns {
			nested(a, p, sc)
		}
		a.branch(item.Stmts, sc)
	}
}
