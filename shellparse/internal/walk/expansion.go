package walk

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/script"
)

// arithm walks an arithmetic expression. The shell evaluates a variable in it as another expression, whose subscripts
// can run commands, so only numbers and variables with a known number are certain.
func (x expansion) arithm(e syntax.ArithmExpr) {
	switch e := e.(type) {
	case nil:
	case *syntax.Word:
		if e == nil {
			return
		}
		x.word(e)
		if !x.a.Words.Numeric(e) {
			x.a.Found.Problem("dynamic", "Arithmetic evaluates a value that is not known, which can run code: "+findings.Quote(x.sc.Text(e))+".")
		}
	case *syntax.BinaryArithm:
		if word.Assigns(e.Op) {
			if w, ok := e.X.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
				x.assigned(w.Lit())
				x.arithm(e.Y)
				return
			}
		}
		x.arithm(e.X)
		x.arithm(e.Y)
	case *syntax.UnaryArithm:
		x.arithm(e.X)
	case *syntax.ParenArithm:
		x.arithm(e.X)
	default:
		x.a.Found.Problem("dynamic", "Arithmetic evaluates a value that is not known, which can run code: "+findings.Quote(x.sc.Text(e))+".")
	}
}

func (x expansion) assigned(name string) {
	x.a.Words.Sets(name, word.Word{Text: name})
}

// subscript walks the subscript of an array: arithmetic, unless the array is keyed by text. An old bash has no such
// arrays and evaluates the key, so only a name that the text does not assign is certain.
func (x expansion) subscript(name string, e syntax.ArithmExpr) {
	if w, ok := e.(*syntax.Word); ok && x.a.Shell.Keyed[name] {
		if key := w.Lit(); syntax.ValidName(key) && !x.a.Shell.Assigned[key] && x.a.Shell.Once[word.Anything] == 0 {
			return
		}
	}
	x.arithm(e)
}

// test walks a [[ ]] expression. Operands of -eq and similar operators are arithmetic; -v and -R take subscripts.
func (x expansion) test(e syntax.TestExpr) {
	switch e := e.(type) {
	case *syntax.Word:
		x.word(e)
	case *syntax.ParenTest:
		x.test(e.X)
	case *syntax.UnaryTest:
		x.test(e.X)
		if w, ok := e.X.(*syntax.Word); ok && (e.Op == syntax.TsVarSet || e.Op == syntax.TsRefVar) {
			if v := x.a.Words.Value(w, x.sc); !v.Known || strings.ContainsAny(v.Text, "[$`") {
				x.a.Found.Problem("dynamic", "A test evaluates a subscript, which can run code: "+findings.Quote(x.sc.Text(e))+".")
			}
		}
	case *syntax.BinaryTest:
		x.test(e.X)
		x.test(e.Y)
		switch e.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{e.X, e.Y} {
				w, ok := side.(*syntax.Word)
				if !ok || !x.a.Words.NumericTest(w, x.sc) {
					x.a.Found.Problem("dynamic", "A test evaluates a value that is not known, which can run code: "+findings.Quote(x.sc.Text(e))+".")
				}
			}
		}
	}
}

// expansion walks what the shell runs to expand a word: substitutions, subscripts, arithmetic.
type expansion struct {
	a  *Walker
	sc *word.Scope
}

// nested walks what the shell runs to expand w.
func nested(a *Walker, w *syntax.Word, sc *word.Scope) { expansion{a, sc}.word(w) }

func (x expansion) word(w *syntax.Word) {
	if w != nil {
		x.parts(w.Parts)
	}
}

func (x expansion) parts(parts []syntax.WordPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if x.a.Words.Dialect == script.Zsh && strings.IndexByte(p.Value, '(') >= 0 && !strings.Contains(p.Value, `\(`) {
				x.a.Found.Problem("disagreement", "A glob qualifier can run code: "+findings.Quote(p.Value)+".")
			}
		case *syntax.DblQuoted:
			x.quoted(p.Parts)
		case *syntax.CmdSubst:
			x.substitution(p)
		case *syntax.ProcSubst:
			child := *x.sc
			child.Raw, child.Sure, child.Bounded = "", false, false
			if p.Op != syntax.CmdIn {
				child.Input = &word.Input{Kind: word.InputPipe}
			} else {
				child.Input = word.NoInput
			}
			expansion{x.a, &child}.deeper(p.Stmts)
		case *syntax.ArithmExp:
			x.arithm(p.X)
			x.a.Shell.MayEnd() // it may divide by zero
		case *syntax.ParamExp:
			x.param(p)
		case *syntax.ExtGlob:
			// The parser takes the pattern as one literal, so substitutions in it are not nodes. In zsh it is a
			// qualifier, which can run code, unless it is a choice or an operand of a test.
			if strings.ContainsAny(p.Pattern.Value, "$`:'\"\\<>;&") || !x.sc.Testing && !strings.Contains(p.Pattern.Value, "|") {
				x.a.Found.Problem("disagreement", "Shells read this pattern differently: "+findings.Quote(x.sc.Text(p))+".")
			}
		}
	}
}

// quoted walks parts between double quotes, where literals are only text.
func (x expansion) quoted(parts []syntax.WordPart) {
	for i, p := range parts {
		if !word.IsLit(p) {
			x.parts(parts[i : i+1])
		}
	}
}

// deeper walks the statements of a substitution. Their commands are judged like any others.
func (x expansion) deeper(list []*syntax.Stmt) {
	x.sc.Testing = false
	if x.sc.Depth++; x.sc.Depth > maxDepth {
		x.a.Found.Problem("too-deep", "The text nests too deeply.")
		return
	}
	x.sc.Effects, x.sc.Env, x.sc.Via, x.sc.DenyOnly = nil, nil, nil, false
	x.a.Shell.Within(func() { x.a.stmts(list, x.sc) })
}

// substitution walks a command substitution.
func (x expansion) substitution(p *syntax.CmdSubst) {
	child := *x.sc
	child.Raw, child.Sure, child.Bounded, child.Input = "", false, false, word.NoInput
	if !p.Backquotes {
		expansion{x.a, &child}.deeper(p.Stmts)
		return
	}
	// A shell removes one level of backslashes in backquotes and reads the rest as a new text; the syntax tree does
	// not.
	body := x.sc.Text(p)
	if len(body) < 2 || strings.IndexByte(body, '\\') < 0 {
		expansion{x.a, &child}.deeper(p.Stmts)
		return
	}
	if p.Right.Offset() < p.Left.Offset() {
		x.a.Found.Problem("unparsable", "The text has backquotes that do not match.")
		return
	}
	child.Effects, child.Env, child.Via, child.DenyOnly = nil, nil, nil, false
	other := child
	x.a.parseString(unbackquote(body[1:len(body)-1], "$`\\"), &child)
	if strings.Contains(body, `\"`) {
		// Between double quotes a shell also removes the backslash of \". List what runs either way.
		x.a.parseString(unbackquote(body[1:len(body)-1], "$`\\\""), &other)
	}
}

// unbackquote removes the backslashes before the characters in escapes.
func unbackquote(s, escapes string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(escapes, s[i+1]) >= 0 {
			i++
		}
		b = append(b, s[i])
	}
	return string(b)
}

// param walks a parameter expansion: its subscript, its words, and the forms that evaluate a value.
func (x expansion) param(p *syntax.ParamExp) {
	if p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 {
		x.a.Found.Problem("dynamic", "An expansion can run code: "+findings.Quote(x.sc.Text(p))+".")
	}
	if p.Index != nil {
		name := ""
		if p.Param != nil {
			name = p.Param.Value
		}
		x.subscript(name, p.Index)
		x.a.Shell.MayEnd()
	}
	if p.Excl && p.Names == 0 {
		// ${!x} expands the variable that x names, and that name can hold a subscript that runs a command.
		x.a.Found.Problem("dynamic", "An indirect expansion can run code: "+findings.Quote(x.sc.Text(p))+".")
	}
	if p.Slice != nil {
		x.arithm(p.Slice.Offset)
		x.arithm(p.Slice.Length)
		x.a.Shell.MayEnd()
	}
	if p.Repl != nil {
		x.word(p.Repl.Orig)
		x.word(p.Repl.With)
	}
	if p.Exp != nil {
		x.word(p.Exp.Word)
		if p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && p.Exp.Word.Lit() != "Q" {
			x.a.Found.Problem("dynamic", "An expansion can run code: "+findings.Quote(x.sc.Text(p))+".")
		}
		if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
			if p.Param != nil {
				v := x.a.Words.Value(p.Exp.Word, x.sc)
				x.a.Words.Sets(p.Param.Value, v)
			}
			if x.a.Shell.Locks {
				x.a.Shell.MayEnd() // it may be read-only
			}
		}
	}
}
