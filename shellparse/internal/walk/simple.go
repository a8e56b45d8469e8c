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

// simple analyses a simple command: assignments, words, redirections.
func (a *Walker) simple(ce *syntax.CallExpr, rds []*syntax.Redirect, st *syntax.Stmt, sc *word.Scope) {
	for _, w := range ce.Args {
		if len(w.Parts) != 1 || !word.IsLit(w.Parts[0]) || a.Words.Dialect == script.Zsh {
			nested(a, w, sc)
		}
	}
	both := a.frames.take()
	defer a.frames.put(both)
	c, child := &both.call, &both.own
	*child = *sc
	c.Sc, c.Outer = child, sc
	child.Concludes = ce == a.ends
	child.Env, child.Effects = slices.Clip(sc.Env), slices.Clip(sc.Effects) // the assignments are appended
	reads := len(ce.Args) > 0 && ce.Args[0].Lit() == "read"
	settled := a.Shell.Settled()
	for _, as := range ce.Assigns {
		if reads && as.Name != nil && as.Name.Value == "IFS" {
			nested(a, as.Value, sc) // only read uses it
			continue
		}
		a.assign(as, c, len(ce.Args) > 0, sc)
	}
	var r redirs
	if len(rds) > 0 {
		r.open(a, rds, sc)
		if r.input != nil {
			child.Input = r.input
		}
		c.Reads, c.Writes, c.Effects, c.connects = r.reads, append(c.Writes, r.writes...), r.effects, r.connects
	}
	if len(ce.Args) == 0 {
		if mayFail(rds) {
			a.Shell.Unsettle(settled) // some shells open the files first
		}
		if !r.none() {
			r.null(a, st, sc)
		}
		return
	}
	if c.raw = sc.Raw; c.raw == "" {
		c.raw = rawText(ce, rds, sc)
		child.Raw = c.raw
	}
	c.Argv = make([]word.Word, 0, len(ce.Args))
	for _, w := range ce.Args {
		c.Argv = a.Words.Fields(c.Argv, w, sc)
	}
	c.Argv = append(c.Argv, r.words...)
	if len(c.Argv) == 0 { // every word expanded to nothing
		if !r.none() {
			r.null(a, st, sc)
		}
		return
	}
	before := *sc
	a.Run(c)
	if mayFail(rds) {
		sc.FailsAt(&before) // it runs nothing then
	}
}

// rawText returns the source of a simple command with its redirections, without here-document bodies.
func rawText(ce *syntax.CallExpr, rds []*syntax.Redirect, sc *word.Scope) string {
	lo, hi := ce.Pos().Offset(), ce.End().Offset()
	for _, r := range rds {
		lo = min(lo, r.Pos().Offset())
		hi = max(hi, r.Word.End().Offset())
	}
	if int(hi) > len(sc.Src) || lo > hi {
		return ""
	}
	return sc.Src[lo:hi]
}

// ExportEffect returns the effect of setting a variable that programs see: it names another machine, for example, or a
// folder elsewhere that code comes from. It returns "" if there is none.
func ExportEffect(a *Walker, name string, v word.Word, sc *word.Scope) string {
	effect := a.Words.EnvEffect(name, v)
	if effect == "" {
		effect = a.Words.Tables.EnvRemoteEffect(name, script.Word{Value: v.Text, Known: v.Known})
	}
	if effect == "" && v.Known && a.Words.Tables.EnvLocatesCode(name) {
		for path := range strings.SplitSeq(v.Text, ":") {
			if word.HasPrefix(path, "/", "~", "..") && a.Outside(word.JoinDirs(sc.Dirs, path)) {
				return "env " + name
			}
		}
	}
	return effect
}

// loadsOwn reports whether a variable makes programs load only code of the project.
func loadsOwn(a *Walker, as *syntax.Assign, sc *word.Scope) bool {
	moved := sc.Lost || a.Outside(sc.Dirs) || a.Shell.Assigned["PWD"] || a.Shell.Defines("pwd") || a.Shell.Once[word.Anything] > 0
	return as.Value != nil && !as.Append && !moved &&
		a.Words.Tables.EnvLoadsOwn(as.Name.Value, sc.Text(as.Value))
}

// expandsAsItRuns reports whether the shell reads the value of a variable as code.
func expandsAsItRuns(name string, v word.Word) bool {
	switch name {
	case "PROMPT_COMMAND":
		return true
	case "PS4", "PS0":
		return !v.Known || strings.ContainsAny(v.Text, "$`")
	}
	return false
}

// elements records the elements of an array.
func (a *Walker) elements(name string, array *syntax.ArrayExpr, sc *word.Scope) {
	for _, e := range array.Elems {
		if e.Index != nil {
			expansion{a, sc}.subscript(name, e.Index)
		}
		nested(a, e.Value, sc)
		a.Shell.Gives(name, a.Words.Value(e.Value, sc))
	}
}

// assign records one assignment, before a command (prefix) or alone.
func (a *Walker) assign(as *syntax.Assign, c *Call, prefix bool, sc *word.Scope) {
	if as.Name == nil {
		return
	}
	name := as.Name.Value
	v := assigned(a, as, sc)
	effect := assignEffect(a, as, v, prefix, sc)
	if prefix && effect != "" && as.Array == nil && !as.Append && v.Known && v.Text != "" && a.Words.Tables.EnvWrites(name) {
		a.Writes(c, v)
		effect = ""
	}
	own := prefix && effect != "" && loadsOwn(a, as, sc)
	if effect != "" && !own && mayBeDenied(a, v) {
		a.DeniesOf(v.Text, sc)
	}
	if !prefix {
		recordAssignment(a, as, v, effect)
		return
	}
	c.Sc.Env = append(c.Sc.Env, script.Assignment{Name: name, Value: script.Word{Value: v.Text, Known: v.Known}})
	if effect != "" {
		e := script.Effect{Text: effect}
		if own {
			e.Named = findings.OfProject
		}
		c.Sc.Effects = append(c.Sc.Effects, e)
	}
}

// assignEffect returns what an assignment can do besides giving the variable its value, or "".
func assignEffect(a *Walker, as *syntax.Assign, v word.Word, prefix bool, sc *word.Scope) string {
	name := as.Name.Value
	switch {
	case name == "PATH" && as.Value != nil && !as.Append && programs.OnlyTrusted(sc.Text(as.Value)):
		return ""
	case prefix || a.Shell.Exported[name]:
		return ExportEffect(a, name, v, sc)
	}
	return a.Words.EnvEffect(name, v)
}

// mayBeDenied reports whether a value could be a command that a rule denies.
func mayBeDenied(a *Walker, v word.Word) bool {
	return v.Known && v.Text != "" && (strings.ContainsAny(v.Text, " \t\n;|&`$") || a.Words.Tables.SystemTool(v.Text))
}

// assigned returns the value of an assignment. For an array it records the elements and returns the array's name.
func assigned(a *Walker, as *syntax.Assign, sc *word.Scope) word.Word {
	name := as.Name.Value
	if as.Index != nil {
		expansion{a, sc}.subscript(name, as.Index)
	}
	if as.Array != nil {
		a.elements(name, as.Array, sc)
		return word.Word{Text: name}
	}
	nested(a, as.Value, sc)
	v := a.Words.Value(as.Value, sc)
	if !v.Known {
		a.Shell.Copies(name, v.Text)
	}
	return v
}

// recordAssignment records what an assignment without a command does to the shell.
func recordAssignment(a *Walker, as *syntax.Assign, v word.Word, effect string) {
	name := as.Name.Value
	if v.Known && v.Text != "" {
		a.Shell.Gives(name, v)
	}
	if expandsAsItRuns(name, v) {
		a.Found.Problem("dynamic", "The shell expands "+name+" as it runs, which can run code: "+findings.Quote(v.Text)+".")
	}
	if effect != "" {
		a.Found.Poison(effect)
	}
	if !as.Append && as.Index == nil && as.Array == nil {
		if names := a.Words.Names(as.Value); !v.Known && names.Head != "" {
			v = names
		}
		a.Shell.Settle(name, v)
	} else {
		a.Shell.MayEnd()
	}
}
