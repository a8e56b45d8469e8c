package shellparse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arithm walks an arithmetic expression. A variable in it is evaluated as an expression of its own, whose
// subscripts can run commands, so that only numbers and variables with a known number are certain.
func (x expansion) arithm(e syntax.ArithmExpr) {
	switch e := e.(type) {
	case nil:
	case *syntax.Word:
		if e == nil {
			return
		}
		x.word(e)
		if !x.a.numeric(e) {
			x.a.problem("dynamic", "Arithmetic evaluates a value that is not known, which can run code: "+quote(x.sc.text(e))+".")
		}
	case *syntax.BinaryArithm:
		if assigns(e.Op) {
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
		x.a.problem("dynamic", "Arithmetic evaluates a value that is not known, which can run code: "+quote(x.sc.text(e))+".")
	}
}

func assigns(op syntax.BinAritOperator) bool { return op == syntax.Assgn }

func (x expansion) assigned(name string) {
	x.a.sets(name, word{text: name})
}

// subscript walks the subscript of an array: arithmetic, unless the array is keyed by text. An old bash has no
// such arrays and evaluates the key, so that only a name which the text does not assign is certain.
func (x expansion) subscript(name string, e syntax.ArithmExpr) {
	if w, ok := e.(*syntax.Word); ok && x.a.keyed[name] {
		if key := w.Lit(); syntax.ValidName(key) && !x.a.assigned[key] && x.a.once[anything] == 0 {
			return
		}
	}
	x.arithm(e)
}

// numeric says that an arithmetic operand is certainly a number.
func (a *reader) numeric(w *syntax.Word) bool {
	if s := w.Lit(); s != "" {
		return s[0] >= '0' && s[0] <= '9' || s == "@" || s == "*" || s == "-1" || a.number(s) || a.holdsNumber(s)
	}
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !isNumber(p.Value) {
				return false
			}
		case *syntax.ArithmExp:
		case *syntax.CmdSubst:
			if !a.printsNumber(p) {
				return false
			}
		case *syntax.ParamExp:
			if p.Param == nil {
				return false
			}
			name := p.Param.Value
			if !p.Length && !isNumberParam(p) && !a.number(name) && !a.holdsNumber(name) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// isNumberParam reports whether the shell itself gives a parameter a number.
func isNumberParam(p *syntax.ParamExp) bool {
	switch p.Param.Value {
	case "#", "?", "$":
		return true
	case "!":
		return !p.Excl
	}
	return false
}

// holdsNumber says that the script itself gave a variable a number.
func (a *shell) holdsNumber(name string) bool {
	v, ok := a.vars[name]
	return ok && v.known && isNumber(v.text)
}

// number says that a variable only ever holds numbers: each value that the text assigns is one.
func (a *shell) number(name string) bool { return a.numbers[name] }

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
func (x expansion) test(e syntax.TestExpr) {
	switch e := e.(type) {
	case *syntax.Word:
		x.word(e)
	case *syntax.ParenTest:
		x.test(e.X)
	case *syntax.UnaryTest:
		x.test(e.X)
		if w, ok := e.X.(*syntax.Word); ok && (e.Op == syntax.TsVarSet || e.Op == syntax.TsRefVar) {
			if v := x.a.value(w, x.sc); !v.known || strings.ContainsAny(v.text, "[$`") {
				x.a.problem("dynamic", "A test evaluates a subscript, which can run code: "+quote(x.sc.text(e))+".")
			}
		}
	case *syntax.BinaryTest:
		x.test(e.X)
		x.test(e.Y)
		switch e.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{e.X, e.Y} {
				w, ok := side.(*syntax.Word)
				if !ok || !x.a.numericTest(w, x.sc) {
					x.a.problem("dynamic", "A test evaluates a value that is not known, which can run code: "+quote(x.sc.text(e))+".")
				}
			}
		}
	}
}

func (a *reader) numericTest(w *syntax.Word, sc *scope) bool {
	if a.numeric(w) {
		return true
	}
	if len(w.Parts) == 1 {
		if q, ok := w.Parts[0].(*syntax.DblQuoted); ok && len(q.Parts) > 0 {
			return a.numeric(&syntax.Word{Parts: q.Parts})
		}
	}
	v := a.value(w, sc)
	return v.known && isNumber(strings.TrimPrefix(v.text, "-"))
}
