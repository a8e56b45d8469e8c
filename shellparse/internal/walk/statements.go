package walk

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
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
	before, sure := sc.Dirs, sc.Sure
	sc.Sure = false
	a.Shell.Within(func() { a.stmts(list, sc) })
	sc.Sure = sure
	sc.Failed = sc.Union(sc.Failed, before)
	sc.SettleDirs()
}

// loop walks a body that runs several times.
func (a *Walker) loop(list []*syntax.Stmt, sc *word.Scope) {
	if changesDir(a.Shell, list) {
		sc.Lose()
	}
	a.branch(list, sc)
}

// changesDir reports whether a body may change the directory, so that its next round begins elsewhere.
func changesDir(sh *word.Shell, list []*syntax.Stmt) bool {
	return calls(sh, list, "cd", "pushd", "popd")
}

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
				moves = moves || runsText(name) || name == "cd" || name == "pushd" || name == "popd"
			}
			return !moves
		})
	}
	return moves
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
	inner := *sc
	new(redirs).around(a, st, sc, &inner)
	sc.Follow(&inner)
}

func (a *Walker) caseClause(cmd *syntax.CaseClause, sc *word.Scope) {
	nested(a, cmd.Word, sc)
	for _, item := range cmd.Items {
		for _, p := range item.Patterns {
			nested(a, p, sc)
		}
		a.branch(item.Stmts, sc)
	}
}

// compound walks a statement that is not a simple command.
func (a *Walker) compound(st *syntax.Stmt, sc *word.Scope) {
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
		a.whileClause(cmd, sc)
	case *syntax.ForClause:
		a.forClause(cmd, sc)
	case *syntax.CaseClause:
		a.caseClause(cmd, sc)
	case *syntax.FuncDecl:
		a.function(cmd, sc)
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

// binary walks the two sides of a pipe, && or ||.
func (a *Walker) binary(cmd *syntax.BinaryCmd, sc *word.Scope) {
	switch cmd.Op {
	case syntax.Pipe, syntax.PipeAll:
		side := *sc
		side.Sure, side.Bounded = false, sc.Bounded || bounds(cmd.Y)
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
		sure := sc.Sure
		sc.Sure = false
		a.Shell.Within(func() { a.stmt(cmd.Y, sc) })
		sc.Sure = sure
	default:
		a.stmt(cmd.X, sc)
		done := *sc
		sc.SettleDirs()
		before, sure := sc.Dirs, sc.Sure
		sc.Sure = false
		a.Shell.Within(func() { a.stmt(cmd.Y, sc) })
		sc.Sure = sure
		if !a.Shell.Jumps && leaves(a.Shell, cmd.Y) {
			done.Failed, done.Astray = nil, false
			sc.Follow(&done)
			return
		}
		sc.Failed = sc.Union(sc.Failed, before)
		sc.SettleDirs()
	}
}

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

func (a *Walker) ifClause(cmd *syntax.IfClause, sc *word.Scope) {
	for ; cmd != nil; cmd = cmd.Else {
		a.branch(cmd.Cond, sc)
		a.branch(cmd.Then, sc)
	}
}

// whileClause walks a while or until loop. If the loop reads a list of files, the value of its variable is known.
func (a *Walker) whileClause(cmd *syntax.WhileClause, sc *word.Scope) {
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

func (a *Walker) forClause(cmd *syntax.ForClause, sc *word.Scope) {
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

// function walks a body at its definition. Where and how often it runs is unknown.
func (a *Walker) function(cmd *syntax.FuncDecl, sc *word.Scope) {
	if cmd.Name == nil {
		a.Found.Problem("disagreement", "Shells read this function definition differently: "+findings.Quote(sc.Text(cmd))+".")
		return
	}
	child := *sc
	child.Sure = false
	child.Input = &word.Input{Kind: word.InputPipe} // its callers decide
	name := cmd.Name.Value
	if a.functions == nil {
		a.functions = map[string]*function{}
	}
	f := &function{body: cmd.Body, sc: child, earlier: a.functions[name]}
	a.functions[name] = f
	if (shellCalls(name) || a.trapped[name]) && a.Moves() {
		child.Lose()
	}
	if a.trapped[name] && f.mayMove(a) {
		sc.Stray()
		a.Shell.Wanders = true
	}
	if programs.Find(name).Has(programs.Special) {
		a.Found.Problem("disagreement", "The function "+name+" has the name of a builtin that shells may prefer.")
	}
	if sc.Sure && sc.Start {
		a.Shell.Funcs[name] = true
	}
	a.Shell.Within(func() { a.stmt(cmd.Body, &child) })
	if multiplies(cmd) {
		a.Found.Problem("dynamic", "The function "+name+" starts itself without end.")
	}
}

// shellCalls reports whether shells call a function of this name by themselves, wherever they are.
func shellCalls(name string) bool {
	switch name {
	case "command_not_found_handle", "command_not_found_handler", "chpwd", "precmd", "preexec", "periodic", "zshaddhistory", "zshexit":
		return true
	}
	return strings.HasPrefix(name, "TRAP")
}

// function is one that the text has defined.
type function struct {
	body    *syntax.Stmt
	sc      word.Scope // at its definition
	earlier *function  // another definition of the same name; may be nil
	moves   bool       // it may change the directory of its caller
	among   int        // how many functions the text defined when moves was found
}

// mayMove reports whether the function may change the directory of its caller.
func (f *function) mayMove(a *Walker) bool {
	if n := a.Shell.Defined; !f.moves && f.among != n {
		f.moves, f.among = changesDir(a.Shell, []*syntax.Stmt{f.body}), n
	}
	return f.moves
}

// enter walks the function's body once more, for a call from another directory than that of its definition, or if the
// body changes the directory. sure says that the call runs the function.
func (f *function) enter(a *Walker, caller *word.Scope, sure bool) {
	if !f.mayMove(a) && caller.SamePlace(&f.sc) {
		return
	}
	child := f.sc
	child.Follow(caller)
	if child.Depth = caller.Depth + 1; child.Depth > maxDepth || !a.Found.Reparse(len(child.Text(f.body))) {
		a.Found.Problem("too-deep", "The text nests too deeply.")
		return
	}
	a.Shell.Within(func() { a.stmt(f.body, &child) })
	switch {
	case !f.moves:
	case sure:
		caller.Follow(&child)
	default:
		caller.Stray()
	}
}

// multiplies reports whether a function calls itself in a pipe or in the background (a fork bomb).
func multiplies(cmd *syntax.FuncDecl) bool {
	calls, forks := false, false
	syntax.Walk(cmd.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			calls = calls || len(n.Args) > 0 && n.Args[0].Lit() == cmd.Name.Value
		case *syntax.Stmt:
			forks = forks || n.Background
		case *syntax.BinaryCmd:
			forks = forks || n.Op == syntax.Pipe || n.Op == syntax.PipeAll
		}
		return true
	})
	return calls && forks
}
