package shellparse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// expansion walks what words run before their values are known: substitutions, subscripts, arithmetic.
type expansion struct {
	a  *analysis
	sc *scope
}

// nested walks what a word runs before its value is known.
func (a *analysis) nested(w *syntax.Word, sc *scope) { expansion{a, sc}.word(w) }

func (x expansion) word(w *syntax.Word) {
	if w != nil {
		x.parts(w.Parts)
	}
}

func (x expansion) parts(parts []syntax.WordPart) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if x.a.dialect == Zsh && strings.IndexByte(p.Value, '(') >= 0 && !strings.Contains(p.Value, `\(`) {
				x.a.problem("disagreement", "A glob qualifier can run code: "+quote(p.Value)+".")
			}
		case *syntax.DblQuoted:
			x.quoted(p.Parts)
		case *syntax.CmdSubst:
			x.substitution(p)
		case *syntax.ProcSubst:
			child := *x.sc
			child.raw, child.sure = "", false
			if p.Op != syntax.CmdIn {
				child.input = &input{kind: inputPipe}
			} else {
				child.input = noInput
			}
			expansion{x.a, &child}.deeper(p.Stmts)
		case *syntax.ArithmExp:
			x.arithm(p.X)
		case *syntax.ParamExp:
			x.param(p)
		case *syntax.ExtGlob:
			// The pattern is one literal for the parser, so that substitutions within it are not nodes. In zsh
			// it is a qualifier, which can run code, unless it is a choice or an operand of a test.
			if strings.ContainsAny(p.Pattern.Value, "$`:'\"\\<>;&") || !x.sc.testing && !strings.Contains(p.Pattern.Value, "|") {
				x.a.problem("disagreement", "Shells read this pattern differently: "+quote(x.sc.text(p))+".")
			}
		}
	}
}

// quoted is parts between double quotes, where literal text is only text.
func (x expansion) quoted(parts []syntax.WordPart) {
	for i, p := range parts {
		if !isLit(p) {
			x.parts(parts[i : i+1])
		}
	}
}

// deeper walks the statements of a substitution, whose commands are judged like any other.
func (x expansion) deeper(list []*syntax.Stmt) {
	x.sc.testing = false
	if x.sc.depth++; x.sc.depth > maxDepth {
		x.a.problem("too-deep", "The text nests too deeply.")
		return
	}
	x.sc.effects, x.sc.env, x.sc.via, x.sc.denyOnly = nil, nil, nil, false
	x.a.within(func() { x.a.stmts(list, x.sc) })
}

// substitution walks a command substitution.
func (x expansion) substitution(p *syntax.CmdSubst) {
	child := *x.sc
	child.raw, child.sure, child.input = "", false, noInput
	if !p.Backquotes {
		expansion{x.a, &child}.deeper(p.Stmts)
		return
	}
	// In backquotes a shell removes one level of backslashes and reads the rest as a new text, which the
	// syntax tree does not do.
	body := x.sc.text(p)
	if len(body) < 2 || strings.IndexByte(body, '\\') < 0 {
		expansion{x.a, &child}.deeper(p.Stmts)
		return
	}
	if p.Right.Offset() < p.Left.Offset() {
		x.a.problem("unparsable", "The text has backquotes that do not match.")
		return
	}
	child.effects, child.env, child.via, child.denyOnly = nil, nil, nil, false
	other := child
	x.a.parseString(unbackquote(body[1:len(body)-1], "$`\\"), &child)
	if strings.Contains(body, `\"`) {
		// Between double quotes a shell removes the backslash of \" too. What runs either way is listed.
		x.a.parseString(unbackquote(body[1:len(body)-1], "$`\\\""), &other)
	}
}

// unbackquote removes the backslashes before the characters of escapes.
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
		x.a.problem("dynamic", "An expansion can run code: "+quote(x.sc.text(p))+".")
	}
	if p.Index != nil {
		name := ""
		if p.Param != nil {
			name = p.Param.Value
		}
		x.subscript(name, p.Index)
	}
	if p.Excl && p.Names == 0 {
		// ${!x} expands the variable that x names, and a name can hold a subscript that runs a command.
		x.a.problem("dynamic", "An indirect expansion can run code: "+quote(x.sc.text(p))+".")
	}
	if p.Slice != nil {
		x.arithm(p.Slice.Offset)
		x.arithm(p.Slice.Length)
	}
	if p.Repl != nil {
		x.word(p.Repl.Orig)
		x.word(p.Repl.With)
	}
	if p.Exp != nil {
		x.word(p.Exp.Word)
		if p.Exp.Op == syntax.OtherParamOps && p.Exp.Word != nil && p.Exp.Word.Lit() != "Q" {
			x.a.problem("dynamic", "An expansion can run code: "+quote(x.sc.text(p))+".")
		}
		if p.Exp.Op == syntax.AssignUnset || p.Exp.Op == syntax.AssignUnsetOrNull {
			if p.Param != nil {
				v := x.a.value(p.Exp.Word, x.sc)
				x.a.sets(p.Param.Value, v)
			}
		}
	}
}
