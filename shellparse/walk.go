package shellparse

import (
	"path"
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
	a.stmts(list, &child)
}

// branch walks a list that runs perhaps, or several times.
func (a *analysis) branch(list []*syntax.Stmt, sc *scope) {
	if len(list) == 0 {
		return
	}
	before, sure := sc.dirs, sc.sure
	sc.sure = false
	a.stmts(list, sc)
	sc.sure = sure
	sc.failed = union(sc.failed, before)
	sc.settleDirs()
}

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
				switch c.Args[0].Lit() {
				case "cd", "pushd", "popd", "eval", "command", "builtin":
					found = true
				}
			}
			return !found
		})
	}
	return found
}

func (sc *scope) settleDirs() {
	if len(sc.failed) > 0 {
		sc.dirs = union(sc.dirs, sc.failed)
		sc.failed = nil
	}
}

func union(x, y []string) []string {
	for _, s := range y {
		if !slices.Contains(x, s) {
			x = append(slices.Clip(x), s)
		}
	}
	return x
}

func (a *analysis) stmt(st *syntax.Stmt, sc *scope) {
	if sc.depth++; sc.depth > maxDepth {
		a.problem("too-deep", "The text nests too deeply.")
		sc.depth--
		return
	}
	defer func() { sc.depth-- }()
	if st.Background || st.Coprocess || st.Disown {
		child := *sc
		child.sure = false
		sc = &child
	}
	if call, ok := st.Cmd.(*syntax.CallExpr); ok {
		a.simple(call, st.Redirs, st, sc)
		return
	}
	if st.Cmd == nil && len(st.Redirs) == 0 {
		return
	}
	inner := *sc
	if len(st.Redirs) > 0 {
		a.compoundRedirs(st, sc, &inner)
	} else {
		a.compound(st, sc)
		return
	}
	sc.dirs, sc.failed, sc.lost = inner.dirs, inner.failed, inner.lost
}

// compoundRedirs walks a compound command with redirections. The files belong to its first command, or to
// a null command when it has none, so that no file is lost.
func (a *analysis) compoundRedirs(st *syntax.Stmt, sc, inner *scope) {
	mark := len(a.script.Commands)
	r := a.redirs(st.Redirs, sc)
	if r.input.kind != inputNone {
		inner.input = r.input
	}
	first := len(a.script.Commands)
	a.compound(st, inner)
	if len(r.reads)+len(r.writes)+len(r.effects) == 0 {
		return
	}
	if len(a.script.Commands) == first {
		a.null(st, sc, r)
		return
	}
	c := &a.script.Commands[max(first, mark)]
	c.Reads = append(c.Reads, r.reads...)
	c.Writes = append(c.Writes, r.writes...)
	for _, e := range r.effects {
		addEffect(&c.Effects, e)
	}
}

// null records redirections that stand alone, as those of the null command, which is what they are.
func (a *analysis) null(st syntax.Node, sc *scope, r redirs) {
	raw := sc.raw
	if raw == "" {
		raw = sc.text(st)
	}
	a.script.Commands = append(a.script.Commands, Command{Argv: []Word{{":", true}}, Raw: raw, Via: sc.via, Env: sc.env,
		Reads: r.reads, Writes: r.writes, Effects: append(slices.Clip(sc.effects), r.effects...), Escalates: sc.escalates, Dir: sc.dir()})
}

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
		a.nested(cmd.Word, sc)
		for _, item := range cmd.Items {
			for _, p := range item.Patterns {
				a.nested(p, sc)
			}
			a.branch(item.Stmts, sc)
		}
	case *syntax.FuncDecl:
		a.function(cmd, sc)
	case *syntax.DeclClause:
		a.declare(cmd, st, sc)
	case *syntax.TestClause:
		a.test(cmd.X, sc)
	case *syntax.ArithmCmd:
		a.arithm(cmd.X, sc)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			a.arithm(x, sc)
		}
		a.emitBare("let", st, sc)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			child := *sc
			child.via = append(slices.Clip(sc.via), "time")
			a.stmt(cmd.Stmt, &child)
			sc.dirs, sc.failed, sc.lost = child.dirs, child.failed, child.lost
		}
	case *syntax.CoprocClause:
		child := *sc
		child.sure = false
		child.via = append(slices.Clip(sc.via), "coproc")
		a.stmt(cmd.Stmt, &child)
	default:
		a.problem("unparsable", "The text has a construct that is not known: "+quote(sc.text(st))+".")
	}
}

func (a *analysis) binary(cmd *syntax.BinaryCmd, sc *scope) {
	switch cmd.Op {
	case syntax.Pipe, syntax.PipeAll:
		left := *sc
		left.sure = false
		a.stmt(cmd.X, &left)
		right := *sc
		right.sure = false
		right.input = input{kind: inputPipe, text: a.printed(cmd.X, sc)}
		a.stmt(cmd.Y, &right)
	case syntax.AndStmt:
		a.stmt(cmd.X, sc)
		sure := sc.sure
		sc.sure = false
		a.stmt(cmd.Y, sc)
		sc.sure = sure
	default:
		a.stmt(cmd.X, sc)
		sc.settleDirs()
		before, sure := sc.dirs, sc.sure
		sc.sure = false
		a.stmt(cmd.Y, sc)
		sc.sure = sure
		sc.failed = union(sc.failed, before)
	}
}

// printed returns the text that a plain echo or printf statement writes, unknown for everything else.
func (a *analysis) printed(st *syntax.Stmt, sc *scope) word {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) < 2 || len(st.Redirs) > 0 || len(call.Assigns) > 0 {
		return word{}
	}
	name := call.Args[0].Lit()
	if name != "echo" && name != "printf" {
		return word{}
	}
	var argv []word
	for _, w := range call.Args[1:] {
		for _, p := range w.Parts {
			switch p.(type) {
			case *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted:
			default:
				return word{}
			}
		}
		argv = a.fields(argv, w, sc)
	}
	var b strings.Builder
	for i, w := range argv {
		if !w.known || strings.ContainsAny(w.text, `\%`) || i == 0 && strings.HasPrefix(w.text, "-") {
			return word{}
		}
		if i > 0 {
			if name == "printf" {
				return word{}
			}
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
		}
		if l.InPos.IsValid() {
			a.loopVar(l.Name.Value, items, cmd.Select)
		}
		a.loop(cmd.Do, sc)
		delete(a.vars, l.Name.Value)
		return
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			a.arithm(x, sc)
		}
	}
	a.loop(cmd.Do, sc)
}

// loopVar notes what is known of a loop variable: that it holds names of files, or values that are no options.
func (a *analysis) loopVar(name string, items []word, choice bool) {
	if choice || a.once[name] != 1 || a.once["*"] != 0 {
		return
	}
	for i := range items {
		if w := &items[i]; !w.files && !w.safe() {
			return
		}
	}
	if len(items) == 1 && items[0].known {
		a.vars[name] = items[0]
		return
	}
	a.vars[name] = word{files: true}
}

// function walks a body where it is defined. Where and how often it runs is not known.
func (a *analysis) function(cmd *syntax.FuncDecl, sc *scope) {
	if cmd.Name == nil {
		a.problem("disagreement", "Shells read this function definition differently: "+quote(sc.text(cmd))+".")
		return
	}
	child := *sc
	child.sure = false
	child.input = input{}
	if len(sc.dirs) != 1 || changesDir([]*syntax.Stmt{cmd.Body}) || strings.Contains(sc.src, "cd ") {
		child.lost = true
	}
	a.stmt(cmd.Body, &child)
	if sc.sure && sc.start {
		a.funcs[cmd.Name.Value] = true
	}
}

// nested walks what a word runs before its value is known: substitutions, subscripts, arithmetic.
func (a *analysis) nested(w *syntax.Word, sc *scope) {
	if w == nil {
		return
	}
	a.nestedParts(w.Parts, sc)
}

func (a *analysis) nestedParts(parts []syntax.WordPart, sc *scope) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if a.opts.Dialect == Zsh && strings.IndexByte(p.Value, '(') >= 0 && !strings.Contains(p.Value, `\(`) {
				a.problem("disagreement", "A glob qualifier can run code: "+quote(p.Value)+".")
			}
		case *syntax.DblQuoted:
			a.nestedQuoted(p.Parts, sc)
		case *syntax.CmdSubst:
			a.substitution(p, sc)
		case *syntax.ProcSubst:
			child := *sc
			child.raw, child.sure = "", false
			if p.Op != syntax.CmdIn {
				child.input = input{kind: inputPipe}
			} else {
				child.input = input{}
			}
			a.deeper(p.Stmts, &child)
		case *syntax.ArithmExp:
			a.arithm(p.X, sc)
		case *syntax.ParamExp:
			a.nestedParam(p, sc)
		case *syntax.ExtGlob:
			// The pattern is one literal for the parser. In zsh it can be a qualifier that runs code, and
			// substitutions within it are not nodes.
			if strings.ContainsAny(p.Pattern.Value, "$`:'\"\\<>;&") {
				a.problem("disagreement", "Shells read this pattern differently: "+quote(sc.text(p))+".")
			}
		}
	}
}

// nestedQuoted is nestedParts between double quotes, where literal text is only text.
func (a *analysis) nestedQuoted(parts []syntax.WordPart, sc *scope) {
	for i, p := range parts {
		if !isLit(p) {
			a.nestedParts(parts[i:i+1], sc)
		}
	}
}

// deeper walks the statements of a substitution, whose commands are judged like any other.
func (a *analysis) deeper(list []*syntax.Stmt, sc *scope) {
	if sc.depth++; sc.depth > maxDepth {
		a.problem("too-deep", "The text nests too deeply.")
		return
	}
	sc.effects, sc.env, sc.via, sc.denyOnly = nil, nil, nil, false
	a.stmts(list, sc)
}

func (a *analysis) substitution(p *syntax.CmdSubst, sc *scope) {
	child := *sc
	child.raw, child.sure, child.input = "", false, input{}
	if !p.Backquotes {
		a.deeper(p.Stmts, &child)
		return
	}
	// In backquotes a shell removes one level of backslashes and reads the rest as a new text, which the
	// syntax tree does not do.
	body := sc.text(p)
	if len(body) < 2 || strings.IndexByte(body, '\\') < 0 {
		a.deeper(p.Stmts, &child)
		return
	}
	if p.Right.Offset() < p.Left.Offset() {
		a.problem("unparsable", "The text has backquotes that do not match.")
		return
	}
	child.effects, child.env, child.via, child.denyOnly = nil, nil, nil, false
	a.parseString(unbackquote(body[1:len(body)-1]), &child)
}

func unbackquote(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte("$`\\\"", s[i+1]) >= 0 {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

func (a *analysis) nestedParam(p *syntax.ParamExp, sc *scope) {
	if p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 {
		a.problem("dynamic", "An expansion can run code: "+quote(sc.text(p))+".")
	}
	if p.Index != nil {
		a.arithm(p.Index, sc)
	}
	if p.Excl && p.Names == 0 {
		// ${!x} expands the variable that x names, and a name can hold a subscript that runs a command.
		a.problem("dynamic", "An indirect expansion can run code: "+quote(sc.text(p))+".")
	}
	if p.Slice != nil {
		a.arithm(p.Slice.Offset, sc)
		a.arithm(p.Slice.Length, sc)
	}
	if p.Repl != nil {
		a.nested(p.Repl.Orig, sc)
		a.nested(p.Repl.With, sc)
	}
	if p.Exp != nil {
		a.nested(p.Exp.Word, sc)
		if p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && p.Exp.Word.Lit() != "Q" {
			a.problem("dynamic", "An expansion can run code: "+quote(sc.text(p))+".")
		}
		if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
			if p.Param != nil {
				v := a.value(p.Exp.Word, sc)
				if e := a.tables.envEffect(p.Param.Value, v); e != "" {
					addEffect(&a.poisons, e)
				}
			}
		}
	}
}

// arithm walks an arithmetic expression. A variable in it is evaluated as an expression of its own, whose
// subscripts can run commands, so that only numbers and variables with a known number are certain.
func (a *analysis) arithm(x syntax.ArithmExpr, sc *scope) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		if x == nil {
			return
		}
		a.nested(x, sc)
		if !a.numeric(x, sc) {
			a.problem("dynamic", "Arithmetic evaluates a value that is not known, which can run code: "+quote(sc.text(x))+".")
		}
	case *syntax.BinaryArithm:
		if assigns(x.Op) {
			if w, ok := x.X.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
				a.assignArithm(w.Lit(), sc)
				a.arithm(x.Y, sc)
				return
			}
		}
		a.arithm(x.X, sc)
		a.arithm(x.Y, sc)
	case *syntax.UnaryArithm:
		a.arithm(x.X, sc)
	case *syntax.ParenArithm:
		a.arithm(x.X, sc)
	default:
		a.problem("dynamic", "Arithmetic evaluates a value that is not known, which can run code: "+quote(sc.text(x))+".")
	}
}

func assigns(op syntax.BinAritOperator) bool { return op == syntax.Assgn }

func (a *analysis) assignArithm(name string, sc *scope) {
	if e := a.tables.envEffect(name, word{text: name}); e != "" {
		addEffect(&a.poisons, e)
	}
}

// numeric says that an arithmetic operand is certainly a number.
func (a *analysis) numeric(w *syntax.Word, sc *scope) bool {
	if s := w.Lit(); s != "" {
		if s[0] >= '0' && s[0] <= '9' || s == "@" || s == "*" || s == "-1" {
			return true
		}
		if a.number(s) {
			return true
		}
		v, ok := a.vars[s]
		return ok && v.known && isNumber(v.text)
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !isNumber(p.Value) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.CmdSubst:
			if !a.prints(p, numberPrinters) {
				return false
			}
		case *syntax.ParamExp:
			if p.Param == nil {
				return false
			}
			name := p.Param.Value
			if p.Length || name == "#" || name == "?" || name == "$" || name == "!" && !p.Excl || a.number(name) {
				continue
			}
			if v, ok := a.vars[name]; !ok || !v.known || !isNumber(v.text) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// number says that a variable only ever holds numbers: each value that the text assigns is one.
func (a *analysis) number(name string) bool { return a.numbers[name] }

func isNumber(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// test walks a [[ ]] expression. Operands of -eq and its kin are arithmetic; -v and -R take subscripts.
func (a *analysis) test(x syntax.TestExpr, sc *scope) {
	switch x := x.(type) {
	case *syntax.Word:
		a.nested(x, sc)
	case *syntax.ParenTest:
		a.test(x.X, sc)
	case *syntax.UnaryTest:
		a.test(x.X, sc)
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar) {
			if v := a.value(w, sc); !v.known || strings.ContainsAny(v.text, "[$`") {
				a.problem("dynamic", "A test evaluates a subscript, which can run code: "+quote(sc.text(x))+".")
			}
		}
	case *syntax.BinaryTest:
		a.test(x.X, sc)
		a.test(x.Y, sc)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				w, ok := side.(*syntax.Word)
				if !ok || !a.numericTest(w, sc) {
					a.problem("dynamic", "A test evaluates a value that is not known, which can run code: "+quote(sc.text(x))+".")
				}
			}
		}
	}
}

func (a *analysis) numericTest(w *syntax.Word, sc *scope) bool {
	if a.numeric(w, sc) {
		return true
	}
	if len(w.Parts) == 1 {
		if q, ok := w.Parts[0].(*syntax.DblQuoted); ok && len(q.Parts) > 0 {
			return a.numeric(&syntax.Word{Parts: q.Parts}, sc)
		}
	}
	v := a.value(w, sc)
	return v.known && isNumber(strings.TrimPrefix(v.text, "-"))
}

// emitBare records a command that the parser takes for syntax, by its source text.
func (a *analysis) emitBare(name string, st *syntax.Stmt, sc *scope, more ...word) {
	argv := []word{lit(name)}
	argv = append(argv, more...)
	raw := sc.raw
	if raw == "" {
		raw = sc.text(st)
	}
	a.emit(&call{argv: argv, sc: sc, raw: raw})
}

// redirs are the files and the input that redirections give to a command.
type redirs struct {
	reads, writes []File
	effects       []string
	input         input
}

func (a *analysis) redirs(list []*syntax.Redirect, sc *scope) redirs {
	var r redirs
	for _, rd := range list {
		a.nested(rd.Word, sc)
		if rd.N != nil && strings.HasPrefix(rd.N.Value, "{") && rd.N.Value != "" {
			name := strings.Trim(rd.N.Value, "{}")
			if strings.IndexByte(name, '[') >= 0 {
				a.problem("dynamic", "A redirection evaluates a subscript, which can run code: "+quote(sc.text(rd))+".")
			}
			if e := a.tables.envEffect(name, word{}); e != "" {
				addEffect(&a.poisons, e)
			}
		}
		switch rd.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			r.input = input{kind: inputText, text: a.heredoc(rd, sc)}
		case syntax.WordHdoc:
			r.input = input{kind: inputText, text: a.value(rd.Word, sc)}
		case syntax.DplIn, syntax.DplOut:
			w := a.value(rd.Word, sc)
			if w.known && (isNumber(strings.TrimSuffix(w.text, "-")) || w.text == "-") {
				if rd.Op == syntax.DplIn && w.text != "-" {
					r.input = input{kind: inputFile}
				}
				continue
			}
			if rd.Op == syntax.DplOut {
				r.writes = a.file(r.writes, w, "redirect", sc, true)
			} else {
				a.problem("dynamic", "A redirection has a target that is not known: "+quote(sc.text(rd))+".")
			}
		case syntax.RdrIn:
			w := a.value(rd.Word, sc)
			r.input = input{kind: inputFile}
			if !processSubst(rd.Word) {
				r.reads = a.file(r.reads, w, "redirect", sc, false)
				if w.known && networkDevice(w.text) {
					r.effects = append(r.effects, "network "+w.text)
				}
			} else {
				r.input = input{kind: inputPipe}
			}
		default:
			if processSubst(rd.Word) {
				continue
			}
			w := a.value(rd.Word, sc)
			if rd.Op == syntax.RdrInOut {
				r.input = input{kind: inputFile}
				r.reads = a.file(r.reads, w, "redirect", sc, false)
			}
			r.writes = a.file(r.writes, w, "redirect", sc, true)
		}
	}
	return r
}

// networkDevice says that bash itself opens a connection for the path.
func networkDevice(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

func processSubst(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	_, ok := w.Parts[0].(*syntax.ProcSubst)
	return ok
}

// heredoc walks a here-document's body and returns its text. A quoted delimiter makes it data.
func (a *analysis) heredoc(rd *syntax.Redirect, sc *scope) word {
	if rd.Hdoc == nil {
		return lit("")
	}
	if !quotedDelimiter(rd.Word) {
		a.nestedQuoted(rd.Hdoc.Parts, sc)
		d := decoder{a: a, sc: sc}
		d.parts([]syntax.WordPart{&syntax.DblQuoted{Parts: rd.Hdoc.Parts}}, false)
		return d.one(sc.text(rd.Hdoc))
	}
	body := sc.text(rd.Hdoc)
	if rd.Op == syntax.DashHdoc {
		lines := strings.Split(body, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		body = strings.Join(lines, "\n")
	}
	return lit(body)
}

// dir returns the only directory that the scope can run in, "" when it is not certain.
func (sc *scope) dir() string {
	if sc.lost || len(sc.dirs) != 1 {
		return ""
	}
	return sc.dirs[0]
}

// file appends the files that a word can name, one for each directory the command may run in.
func (a *analysis) file(list []File, w word, by string, sc *scope, write bool) []File {
	if !w.known {
		return append(list, File{Word{w.text, false}, by})
	}
	if w.text == "" || w.text == "-" && by != "redirect" {
		return list
	}
	if path.IsAbs(w.text) {
		p := path.Clean(w.text)
		if harmlessDevice(p) || by != "redirect" && strings.HasPrefix(p, "/dev/fd/") {
			return list
		}
		return append(list, File{Word{p, true}, by})
	}
	if sc.lost {
		list = append(list, File{Word{w.text, false}, by})
	}
	for _, d := range sc.dirs {
		f := File{Word{path.Join(d, w.text), true}, by}
		if harmlessDevice(f.Path.Value) {
			continue
		}
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

func harmlessDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/fd/1", "/dev/fd/2", "/dev/fd/0":
		return true
	}
	return false
}
