package walk

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/word"
)

// stmts walks a list. After each statement it allows for a cd that failed.
func (a *Walker) stmts(list []*syntax.Stmt, sc *word.Scope) {
	for _, st := range list {
		a.stmt(st, sc)
		sc.SettleDirs()
	}
}

// sub walks a list in a child shell: its changes end with it.
func (a *Walker) sub(list []*syntax.Stmt, sc *word.Scope) {
	child := *sc
	child.Sure = false
	a.Shell.Within(func() { a.stmts(list, &child) })
}

// branch walks a list that may run, or run several times.
func (a *Walker) branch(list []*syntax.Stmt, sc *word.Scope) {
	if len(list) == 0 {
		return
	}
	before := *sc
	sc.Sure = false
	a.Shell.Within(func() { a.stmts(list, sc) })
	sc.Sure = before.Sure
	sc.OrAt(&before)
}

// loop walks a body that runs several times.
func (a *Walker) loop(list []*syntax.Stmt, sc *word.Scope) {
	if changesDir(a.Shell, list) {
		sc.Lose()
	}
	a.branch(list, sc)
}

// stmt walks one statement.
func (a *Walker) stmt(st *syntax.Stmt, sc *word.Scope) {
	if sc.Depth++; sc.Depth > maxDepth {
		a.Found.Problem("too-deep", "The text nests too deeply.")
		sc.Depth--
		return
	}
	defer func() { sc.Depth-- }()
	if st.Negated {
		defer sc.SettleDirs() // what follows && runs if a cd failed
	}
	if st.Background || st.Coprocess || st.Disown {
		child := *st
		child.Background, child.Coprocess, child.Disown = false, false, false
		a.sub([]*syntax.Stmt{&child}, sc)
		return
	}
	if call, ok := st.Cmd.(*syntax.CallExpr); ok {
		a.simple(call, st.Redirs, st, sc)
		return
	}
	if st.Cmd == nil && len(st.Redirs) == 0 {
		return
	}
	if len(st.Redirs) == 0 {
		a.compound(st, sc)
		return
	}
	before, inner := *sc, *sc
	if !mayFail(st.Redirs) {
		new(redirs).around(a, st, sc, &inner)
		sc.Follow(&inner)
		return
	}
	inner.Sure = false
	a.Shell.Within(func() { new(redirs).around(a, st, sc, &inner) })
	sc.Follow(&inner)
	sc.OrAt(&before)
}

// compound walks a statement that is not a simple command.
func (a *Walker) compound(st *syntax.Stmt, sc *word.Scope) {
	switch cmd := st.Cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		control{a, sc}.binary(cmd)
	case *syntax.Block:
		a.stmts(cmd.Stmts, sc)
	case *syntax.Subshell:
		a.sub(cmd.Stmts, sc)
	case *syntax.IfClause:
		control{a, sc}.ifClause(cmd)
	case *syntax.WhileClause:
		control{a, sc}.whileClause(cmd)
	case *syntax.ForClause:
		control{a, sc}.forClause(cmd)
	case *syntax.CaseClause:
		control{a, sc}.caseClause(cmd)
	case *syntax.FuncDecl:
		a.functions.define(a, cmd, sc)
	case *syntax.DeclClause:
		new(declaration).walk(a, cmd, sc)
	case *syntax.TestClause:
		inner := *sc
		inner.Testing = true
		expansion{a, &inner}.test(cmd.X)
	case *syntax.ArithmCmd:
		expansion{a, sc}.arithm(cmd.X)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			expansion{a, sc}.arithm(x)
		}
		raw := sc.Raw
		if raw == "" {
			raw = sc.Text(st)
		}
		a.Emit(&Call{Argv: []word.Word{word.Lit("let")}, Sc: sc, raw: raw})
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			child := *sc
			child.Via = append(slices.Clip(sc.Via), "time")
			a.stmt(cmd.Stmt, &child)
			sc.Follow(&child)
		}
	case *syntax.CoprocClause:
		child := *sc
		child.Sure = false
		child.Via = append(slices.Clip(sc.Via), "coproc")
		if cmd.Name != nil {
			a.Words.Sets(cmd.Name.Lit(), word.Word{})
		}
		a.Shell.Within(func() { a.stmt(cmd.Stmt, &child) })
	default:
		a.Found.Problem("unparsable", "The text has a construct that is not known: "+findings.Quote(sc.Text(st))+".")
	}
}
