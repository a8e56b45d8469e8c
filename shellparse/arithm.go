package shellparse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
		if !a.numeric(x) {
			a.problem("dynamic", "Arithmetic evaluates a value that is not known, which can run code: "+quote(sc.text(x))+".")
		}
	case *syntax.BinaryArithm:
		if assigns(x.Op) {
			if w, ok := x.X.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
				a.assignArithm(w.Lit())
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

func (a *analysis) assignArithm(name string) {
	if e := a.tables.envEffect(name, word{text: name}); e != "" {
		addEffect(&a.poisons, Effect{Text: e})
	}
}

// subscript walks the subscript of an array: arithmetic, unless the array is keyed by text. An old bash has no
// such arrays and evaluates the key, so that only a name which the text does not assign is certain.
func (a *analysis) subscript(name string, x syntax.ArithmExpr, sc *scope) {
	if w, ok := x.(*syntax.Word); ok && a.keyed[name] {
		if key := w.Lit(); syntax.ValidName(key) && !a.assigned[key] && a.once[anything] == 0 {
			return
		}
	}
	a.arithm(x, sc)
}

// numeric says that an arithmetic operand is certainly a number.
func (a *analysis) numeric(w *syntax.Word) bool {
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
func (a *analysis) holdsNumber(name string) bool {
	v, ok := a.vars[name]
	return ok && v.known && isNumber(v.text)
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
