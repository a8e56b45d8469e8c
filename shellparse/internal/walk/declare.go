package walk

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/word"
)

// declaration is a use of export, declare, local, readonly or typeset.
type declaration struct {
	a     *Walker
	c     *Call
	name  string // the builtin's name
	flags string // the options so far
}

// walk analyses a declaration, which is syntax to the parser. It records a command only if a rule has to cover the
// effect.
func (d *declaration) walk(a *Walker, cmd *syntax.DeclClause, sc *word.Scope) {
	argv := []word.Word{word.Lit(cmd.Variant.Value)}
	c := &Call{Sc: sc, raw: sc.Raw}
	if c.raw == "" {
		c.raw = sc.Text(cmd)
	}
	d.a, d.c, d.name = a, c, cmd.Variant.Value
	for _, as := range cmd.Args {
		argv = append(argv, d.word(as))
	}
	flags := d.flags
	if strings.Contains(flags, "A") && sc.Sure && sc.Start {
		for _, as := range cmd.Args {
			if as.Name != nil {
				a.Shell.Keyed[as.Name.Value] = true
			}
		}
	}
	if strings.Contains(flags, "f") && cmd.Variant.Value == "export" {
		a.Found.Poison("export -f")
		argv = append(argv[:1:1], word.Lit("-f"))
		a.Emit(&Call{Argv: argv, raw: c.raw, Sc: sc})
		return
	}
	if strings.Contains(flags, "n") && !strings.Contains(flags, "+n") && cmd.Variant.Value != "export" {
		a.Found.Problem("dynamic", "A name reference can run code: "+findings.Quote(c.raw)+".")
	}
	named := slices.ContainsFunc(argv[1:], func(w word.Word) bool { return !word.HasPrefix(w.Text, "-", "+") })
	if listing := len(cmd.Args) == 0 || strings.Contains(flags, "p") || strings.Contains(flags, "x") && !named; listing {
		a.Emit(&Call{Argv: argv, raw: c.raw, Sc: sc})
	}
}

// word analyses one word of a declaration and returns it. An option adds to the flags for the words after it.
func (d *declaration) word(as *syntax.Assign) word.Word {
	a, sc := d.a, d.c.Sc
	switch {
	case as.Naked && as.Name == nil:
		// An option, or a name that is not certain.
		nested(a, as.Value, sc)
		w := a.Words.Value(as.Value, sc)
		switch {
		case !w.Known:
			a.Found.Problem("dynamic", "What "+d.name+" declares depends on "+findings.Quote(w.Text)+".")
		case word.HasPrefix(w.Text, "-", "+"):
			d.flags += w.Text
		default:
			d.operand(w.Text)
		}
		return w
	case as.Naked:
		name := as.Name.Value
		if e := a.Words.EnvEffect(name, word.Word{}); e != "" && (d.flags != "" || name != "PATH" && name != "HOME" && name != "SHELL") {
			a.Found.Poison(e)
		}
		d.exports(name)
		return word.Lit(name)
	}
	d.exports(as.Name.Value)
	a.assign(as, d.c, false, sc)
	w := word.Word{Text: sc.Text(as)}
	if as.Value == nil {
		return w
	}
	source := w.Text
	if w = a.Words.Value(as.Value, sc); w.Known {
		w.Text = as.Name.Value + "=" + w.Text
	} else {
		w.Text = source
	}
	if strings.Contains(d.flags, "i") && !a.Words.NumericTest(as.Value, sc) {
		a.Found.Problem("dynamic", "An integer declaration evaluates its value, which can run code: "+findings.Quote(source)+".")
	}
	return w
}

// exports records that programs see a variable, if the declaration exports it.
func (d *declaration) exports(name string) {
	if d.name != "export" && !strings.Contains(d.flags, "x") {
		return
	}
	d.a.Shell.Exports(name)
	for _, value := range d.a.Shell.Given[name] {
		if e := ExportEffect(d.a, name, word.Lit(value), d.c.Sc); e != "" {
			d.a.Found.Poison(e)
		}
	}
}

// operand checks a quoted operand, which the shell evaluates like an assignment.
func (d *declaration) operand(s string) {
	name, val, ok := strings.Cut(s, "=")
	if strings.ContainsAny(name, "[$`") || ok && strings.Contains(d.flags, "i") && !word.IsNumber(val) {
		d.a.Found.Problem("dynamic", "An operand of "+d.name+" is evaluated, which can run code: "+findings.Quote(s)+".")
	}
	if e := ExportEffect(d.a, name, word.Lit(val), d.c.Sc); ok && e != "" {
		d.a.Found.Poison(e)
	}
}
