package shellparse

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// stmts walks a list. Between statements the failure of a cd is possible.
func (a *analysis) stmts(list []*syntax.Stmt, sc *scope) {
	for _, st := range list {
		a.stmt(st, sc)
		sc.settleDirs()
	}
}

// sub walks a list in a child shell: what it changes ends with it.
func (a *analysis) sub(list []*syntax.Stmt, sc *scope) {
	child := *sc
	child.sure = false
	a.within(func() { a.stmts(list, &child) })
}

// branch walks a list that runs perhaps, or several times.
func (a *analysis) branch(list []*syntax.Stmt, sc *scope) {
	if len(list) == 0 {
		return
	}
	before, sure := sc.dirs, sc.sure
	sc.sure = false
	a.within(func() { a.stmts(list, sc) })
	sc.sure = sure
	sc.failed = sc.union(sc.failed, before)
	sc.settleDirs()
}

// loop walks a body that runs several times.
func (a *analysis) loop(list []*syntax.Stmt, sc *scope) {
	if changesDir(list) {
		sc.lost = true
	}
	a.branch(list, sc)
}

// changesDir says that a body changes the directory, so that its next run begins elsewhere.
func changesDir(list []*syntax.Stmt) bool {
	found := false
	for _, st := range list {
		syntax.Walk(st, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
				name, known := unquoted(c.Args[0])
				switch name {
				case "cd", "pushd", "popd", "eval", "command", "builtin":
					found = true
				}
				found = found || !known
			}
			return !found
		})
	}
	return found
}

// settleDirs ends the part of a list in which the last cd is known to have succeeded.
func (sc *scope) settleDirs() {
	sc.lost, sc.astray = sc.lost || sc.astray, false
	if len(sc.failed) > 0 {
		sc.dirs = sc.union(sc.dirs, sc.failed)
		sc.failed = nil
	}
}

// stmt walks one statement.
func (a *analysis) stmt(st *syntax.Stmt, sc *scope) {
	if sc.depth++; sc.depth > maxDepth {
		a.problem("too-deep", "The text nests too deeply.")
		sc.depth--
		return
	}
	defer func() { sc.depth-- }()
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
	inner := *sc
	a.compoundRedirs(st, sc, &inner)
	sc.follow(&inner)
}

func (a *analysis) caseClause(cmd *syntax.CaseClause, sc *scope) {
	a.nested(cmd.Word, sc)
	for _, item := range cmd.Items {
		for _, p := range item.Patterns {
			a.nested(p, sc)
		}
		a.branch(item.Stmts, sc)
	}
}

// compound walks a statement that is no simple command.
func (a *analysis) compound(st *syntax.Stmt, sc *scope) {
	switch cmd := st.Cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		a.binary(cmd, sc)
	case *syntax.Block:
		a.stmts(cmd.Stmts, sc)
	case *syntax.Subshell:
		a.sub(cmd.Stmts, sc)
	case *syntax.IfClause:
		a.ifClause(cmd, sc)
	case *syntax.WhileClause:
		a.loop(slices.Concat(cmd.Cond, cmd.Do), sc)
	case *syntax.ForClause:
		a.forClause(cmd, sc)
	case *syntax.CaseClause:
		a.caseClause(cmd, sc)
	case *syntax.FuncDecl:
		a.function(cmd, sc)
	case *syntax.DeclClause:
		a.declare(cmd, sc)
	case *syntax.TestClause:
		inner := *sc
		inner.testing = true
		expansion{a, &inner}.test(cmd.X)
	case *syntax.ArithmCmd:
		expansion{a, sc}.arithm(cmd.X)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			expansion{a, sc}.arithm(x)
		}
		raw := sc.raw
		if raw == "" {
			raw = sc.text(st)
		}
		a.emit(&call{argv: []word{lit("let")}, sc: sc, raw: raw})
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			child := *sc
			child.via = append(slices.Clip(sc.via), "time")
			a.stmt(cmd.Stmt, &child)
			sc.follow(&child)
		}
	case *syntax.CoprocClause:
		child := *sc
		child.sure = false
		child.via = append(slices.Clip(sc.via), "coproc")
		a.within(func() { a.stmt(cmd.Stmt, &child) })
	default:
		a.problem("unparsable", "The text has a construct that is not known: "+quote(sc.text(st))+".")
	}
}

// binary walks the two sides of a pipe, && or ||.
func (a *analysis) binary(cmd *syntax.BinaryCmd, sc *scope) {
	switch cmd.Op {
	case syntax.Pipe, syntax.PipeAll:
		side := *sc
		side.sure = false
		a.within(func() { a.stmt(cmd.X, &side) })
		side = *sc // nothing keeps the scope of the left side
		side.sure = false
		side.input = &input{kind: inputPipe, certain: true, text: a.printed(cmd.X, sc), list: a.listed(cmd.X, sc)}
		a.within(func() { a.stmt(cmd.Y, &side) })
	case syntax.AndStmt:
		a.stmt(cmd.X, sc)
		sure := sc.sure
		sc.sure = false
		a.within(func() { a.stmt(cmd.Y, sc) })
		sc.sure = sure
	default:
		a.stmt(cmd.X, sc)
		sc.settleDirs()
		before, sure := sc.dirs, sc.sure
		sc.sure = false
		a.within(func() { a.stmt(cmd.Y, sc) })
		sc.sure = sure
		sc.failed = sc.union(sc.failed, before)
	}
}

// plainParts reports whether a word is made of text and variables alone.
func plainParts(w *syntax.Word) bool {
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ParamExp:
		default:
			return false
		}
	}
	return true
}

// printed returns the text that a plain echo or printf statement writes, unknown for everything else.
func (a *reader) printed(st *syntax.Stmt, sc *scope) word {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(st.Redirs) > 0 || len(call.Assigns) > 0 {
		return word{}
	}
	if program := call.Args[0].Lit(); program != "" && program != "echo" && program != "printf" && !strings.Contains(program, `\`) {
		return word{}
	}
	var argv []word
	for _, w := range call.Args {
		if !plainParts(w) {
			return word{}
		}
		argv = a.fields(argv, w, sc)
	}
	if len(argv) == 0 || !argv[0].known {
		return word{}
	}
	name := argv[0].text
	if _, shadowed := a.bodies[name]; shadowed || name != "echo" && name != "printf" {
		return word{}
	}
	if name == "printf" && len(argv) > 2 {
		return word{}
	}
	return echoed(argv[1:])
}

// echoed returns the words as echo writes them, unknown where echos differ.
func echoed(words []word) word {
	var b strings.Builder
	for i, w := range words {
		if !w.known || strings.ContainsAny(w.text, `\%`) || i == 0 && strings.HasPrefix(w.text, "-") {
			return word{}
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return lit(b.String())
}

func (a *analysis) ifClause(cmd *syntax.IfClause, sc *scope) {
	for ; cmd != nil; cmd = cmd.Else {
		a.branch(cmd.Cond, sc)
		a.branch(cmd.Then, sc)
	}
}

func (a *analysis) forClause(cmd *syntax.ForClause, sc *scope) {
	switch l := cmd.Loop.(type) {
	case *syntax.WordIter:
		var items []word
		for _, w := range l.Items {
			a.nested(w, sc)
			items = a.fields(items, w, sc)
			a.copies(l.Name.Value, sc.text(w))
		}
		if l.InPos.IsValid() {
			a.loopVar(l.Name.Value, items, cmd.Select)
		}
		a.sets(l.Name.Value, word{})
		a.loop(cmd.Do, sc)
		delete(a.vars, l.Name.Value)
		return
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			expansion{a, sc}.arithm(x)
		}
	}
	a.loop(cmd.Do, sc)
}

// loopVar notes what is known of a loop variable: that it holds names of files, or values that are no options.
func (a *shell) loopVar(name string, items []word, choice bool) {
	if choice || a.once[name] != 1 || a.once["*"] != 0 {
		return
	}
	value, names := word{files: true}, len(items) > 0
	for i := range items {
		w := &items[i]
		if !w.files && !w.safe() {
			return
		}
		value.split = value.split || w.split
		names = names && w.safe() && !w.files && (!w.known || !strings.ContainsAny(w.text, " \t\n"))
	}
	if names && !a.assigned["IFS"] {
		value.head = "n" // no item can be an option, nor a part of one
	}
	if len(items) == 1 && items[0].known {
		a.vars[name] = items[0]
		return
	}
	for i := range items {
		switch w := &items[i]; {
		case w.known:
			value.globs = append(value.globs, literal(w.text))
		case len(w.globs) == 0:
			value.globs = nil
			a.vars[name] = value
			return
		default:
			value.globs = append(value.globs, w.globs...)
		}
	}
	if len(value.globs) > maxGlobs {
		value.globs = nil
	}
	a.vars[name] = value
}

// function walks a body where it is defined. Where and how often it runs is not known.
func (a *analysis) function(cmd *syntax.FuncDecl, sc *scope) {
	if cmd.Name == nil {
		a.problem("disagreement", "Shells read this function definition differently: "+quote(sc.text(cmd))+".")
		return
	}
	child := *sc
	child.sure = false
	child.input = &input{kind: inputPipe} // whatever its callers give it
	if len(sc.dirs) != 1 || changesDir([]*syntax.Stmt{cmd.Body}) || strings.Contains(sc.src, "cd ") {
		child.lost = true
	}
	a.within(func() { a.stmt(cmd.Body, &child) })
	if sc.sure && sc.start {
		a.funcs[cmd.Name.Value] = true
	}
}

// dir returns the only directory that the scope can run in, "" when it is not certain.
func (sc *scope) dir() string {
	if sc.lost || len(sc.dirs) != 1 {
		return ""
	}
	return sc.dirs[0]
}

// maxDepth is how deep syntax, wrappers and re-parsed strings may lie within each other.
const maxDepth = 48
