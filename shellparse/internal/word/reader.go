package word

import (
	"slices"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/script"
	"callgate/shellparse/tables"
)

// Reader decodes words as far as the text itself fixes their values.
type Reader struct {
	Found   *findings.Findings
	Shell   Shell
	Dialect script.Dialect
	Home    string // the value of ~, "" if unknown
	Tables  *tables.Tables
}

// NewReader returns a reader for a text of which nothing is known yet.
func NewReader(text string, d script.Dialect, home string, t *tables.Tables) *Reader {
	return &Reader{Found: findings.New(text), Dialect: d, Home: home, Tables: t}
}

// Fields appends the words that w expands to.
func (a *Reader) Fields(argv []Word, w *syntax.Word, sc *Scope) []Word {
	if len(w.Parts) == 1 {
		if l, ok := w.Parts[0].(*syntax.Lit); ok && Plain(l.Value) && a.Dialect != script.Zsh {
			return append(argv, Lit(l.Value))
		}
	}
	src := sc.Text(w)
	if !hasBrace(w) || a.Dialect == script.POSIX {
		if strayBrace(w) {
			return append(argv, Word{Text: src, Many: true})
		}
		return a.split(argv, w, src, sc)
	}
	return a.braces(argv, &syntax.Word{Parts: slices.Clone(w.Parts)}, src, sc)
}

// braces is Fields for a word with braces. It changes w.
func (a *Reader) braces(argv []Word, w *syntax.Word, src string, sc *Scope) []Word {
	if hasBrace(w) && a.Dialect != script.POSIX && loneDollar(w) {
		return append(argv, Word{Text: src, Many: true}) // the shell expands braces first: {$,x}y is $y and xy
	}
	if hasBrace(w) && a.Dialect != script.POSIX && syntax.SplitBraces(w) {
		n := braceCount(w)
		if n > maxBraces {
			return append(argv, Word{Text: src, Many: true})
		}
		expanded := make([]*syntax.Word, 0, n)
		for one, err := range expand.BracesSeq(nil, w) {
			if err != nil || strayBrace(one) {
				return append(argv, Word{Text: src, Many: true})
			}
			expanded = append(expanded, one)
		}
		for _, one := range expanded {
			argv = a.split(argv, one, src, sc)
		}
		return argv
	}
	if strayBrace(w) {
		return append(argv, Word{Text: src, Many: true})
	}
	return a.split(argv, w, src, sc)
}

// split appends the fields of a word without braces: one field, unless the shell splits a known variable.
func (a *Reader) split(argv []Word, w *syntax.Word, src string, sc *Scope) []Word {
	if names := a.listedIn(w, sc); len(names.Globs) > 0 {
		names.Text, names.Vanishes = src, true
		return append(argv, names)
	}
	d := decoder{a: a, sc: sc, splitting: true, globbing: true}
	d.parts(w.Parts, false)
	return d.fields(argv, src)
}

// Target decodes the target of a redirection, which the shell globs and expands but does not split.
func (a *Reader) Target(w *syntax.Word, sc *Scope) Word {
	if w == nil {
		return Lit("")
	}
	if a.Dialect != script.POSIX && strayBrace(w) {
		return Word{Text: sc.Text(w)}
	}
	d := decoder{a: a, sc: sc, globbing: true}
	d.parts(w.Parts, false)
	return d.one(sc.Text(w))
}

// Document decodes the body of a here-document that the shell expands.
func (a *Reader) Document(body *syntax.Word, sc *Scope) Word {
	d := decoder{a: a, sc: sc}
	d.parts([]syntax.WordPart{&syntax.DblQuoted{Parts: body.Parts}}, false)
	return d.one(sc.Text(body))
}

// Value decodes a word that the shell does not split: an assignment or a case word.
func (a *Reader) Value(w *syntax.Word, sc *Scope) Word {
	if w == nil {
		return Lit("")
	}
	d := decoder{a: a, sc: sc}
	d.parts(w.Parts, false)
	return d.one(sc.Text(w))
}

// EnvEffect returns the effect of setting a variable, or "" if there is none.
func (a *Reader) EnvEffect(name string, v Word) string {
	return a.Tables.EnvEffect(name, script.Word{Value: v.Text, Known: v.Known})
}

// Sets records the effect of a variable that is set for everything after it.
func (a *Reader) Sets(name string, v Word) {
	if e := a.EnvEffect(name, v); e != "" {
		a.Found.Poison(e)
	}
}
