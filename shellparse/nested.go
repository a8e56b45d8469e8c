package shellparse

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
				child.input = &input{kind: inputPipe}
			} else {
				child.input = noInput
			}
			a.deeper(p.Stmts, &child)
		case *syntax.ArithmExp:
			a.arithm(p.X, sc)
		case *syntax.ParamExp:
			a.nestedParam(p, sc)
		case *syntax.ExtGlob:
			// The pattern is one literal for the parser, so that substitutions within it are not nodes. In zsh
			// it is a qualifier, which can run code, unless it is a choice or an operand of a test.
			if strings.ContainsAny(p.Pattern.Value, "$`:'\"\\<>;&") || !sc.testing && !strings.Contains(p.Pattern.Value, "|") {
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
	sc.testing = false
	if sc.depth++; sc.depth > maxDepth {
		a.problem("too-deep", "The text nests too deeply.")
		return
	}
	sc.effects, sc.env, sc.via, sc.denyOnly = nil, nil, nil, false
	a.within(func() { a.stmts(list, sc) })
}

// substitution walks a command substitution.
func (a *analysis) substitution(p *syntax.CmdSubst, sc *scope) {
	child := *sc
	child.raw, child.sure, child.input = "", false, noInput
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
	other := child
	a.parseString(unbackquote(body[1:len(body)-1], "$`\\"), &child)
	if strings.Contains(body, `\"`) {
		// Between double quotes a shell removes the backslash of \" too. What runs either way is listed.
		a.parseString(unbackquote(body[1:len(body)-1], "$`\\\""), &other)
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

// nestedParam walks a parameter expansion: its subscript, its words, and the forms that evaluate a value.
func (a *analysis) nestedParam(p *syntax.ParamExp, sc *scope) {
	if p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 {
		a.problem("dynamic", "An expansion can run code: "+quote(sc.text(p))+".")
	}
	if p.Index != nil {
		name := ""
		if p.Param != nil {
			name = p.Param.Value
		}
		a.subscript(name, p.Index, sc)
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
					addEffect(&a.poisons, Effect{Text: e})
				}
			}
		}
	}
}
