package shellparse

import (
	"slices"
	"strings"

	"callgate/shellparse/programs"
)

// runProgram runs what a program runs in its place: it is a launcher, it has a handler, or it is a wrapper.
func runProgram(a *analysis, c *call) bool {
	switch name := launcher(c.name); name {
	case "":
	case "ld.so":
		c.name = name
		c.argv = append([]word{lit(name)}, c.argv[1:]...)
	default:
		if a.runLauncher(c) {
			return true
		}
	}
	if h := c.facts().Handler; h != "" && handlers[h](a, c) {
		return true
	}
	if p := a.tables.row(c.name); p != nil && len(p.Subcommands) > 0 {
		a.takeGlobals(c)
	}
	w, n := a.wrapperFor(c)
	return w != nil && a.unwrap(w, c, n)
}

// wrapperFor returns how a command runs another one, and how many words name it: "uv run", "docker compose exec".
func (a *analysis) wrapperFor(c *call) (*programs.Wrapper, int) {
	t := a.tables
	if len(c.argv) > 2 && c.argv[1].known && c.argv[2].known {
		if w := t.wrapper(c.name, c.argv[1].text, c.argv[2].text); w != nil {
			return w, 3
		}
	}
	if len(c.argv) > 1 && c.argv[1].known {
		if w := t.wrapper(c.name, c.argv[1].text); w != nil {
			return w, 2
		}
	}
	return t.wrapper(c.name), 1
}

// wrapperEffect notes what a wrapper does beside running the inner command.
func (c *call) wrapperEffect(w *programs.Wrapper) {
	switch {
	case w.Effect == "":
	case w.Role == "instead" || w.Role == "download":
		c.operates(w.Effect)
	default:
		c.effect(w.Effect)
	}
}

// wrapsNothing records a wrapper that no inner command follows.
func (a *analysis) wrapsNothing(w *programs.Wrapper, c *call, n int, hits []hit) {
	if w.Role == "escalates" {
		c.sc.escalates = true
	}
	for _, h := range hits {
		if h.opt.Does == 'c' && h.has {
			a.code(h, c, n)
		}
	}
}

// unwrap takes one wrapper off a command whose first words, n of them, name the wrapper. It returns false
// where no inner command follows, so that the wrapper is a command of its own.
func (a *analysis) unwrap(w *programs.Wrapper, c *call, n int) bool {
	s := (*optset)(w.Options).scan(c.argv[n:], w.Style)
	at := n + s.rest
	begin := at
	if s.unknown != "" && w.Style == programs.POSIX && !s.dashes || s.vague != "" && at > n && !allKnown(c.argv[n:at]) || !skips(w, c, &at) {
		a.uncertain(c, n)
		return true
	}
	for _, h := range s.hits {
		a.apply(h, c)
	}
	var env []Assignment
	if w.Assigns {
		at, env = a.assignments(c, at)
	}
	if at < len(c.argv) && c.argv[at].known && c.argv[at].text == "--" {
		at++
	}
	if at >= len(c.argv) {
		a.wrapsNothing(w, c, n, s.hits)
		return false
	}
	if !c.argv[at].known && at == begin && !c.argv[at].safe() && w.Style == programs.POSIX && n == 1 {
		// Which program runs, and whether the word is an option of the wrapper, depends on the run.
		a.uncertain(c, n)
		return true
	}
	c.wrapperEffect(w)
	inner := c.inner(c.argv[at:], texts(c.argv[:at]))
	inner.sc.env = append(slices.Clip(inner.sc.env), env...)
	if w.Script {
		a.scriptWords(inner, c.argv[at:])
		return w.Role == ""
	}
	return a.runWrapped(w, c, inner)
}

// skips moves at over the operands of a wrapper before the program. It returns false where that depends on the run.
func skips(w *programs.Wrapper, c *call, at *int) bool {
	for skip := w.Skip; skip > 0 && *at < len(c.argv); skip-- {
		if !c.argv[*at].known && c.argv[*at].many {
			return false
		}
		*at++
	}
	if w.Skip > 0 && *at < len(c.argv) && strings.HasPrefix(c.argv[*at].text, "-") {
		// kubectl takes options after the pod, up to the dashes.
		dashes := slices.IndexFunc(c.argv[*at:], func(w word) bool { return w.known && w.text == "--" })
		if dashes < 0 {
			return false
		}
		*at += dashes
	}
	return true
}

// runWrapped runs the inner command as the role of its wrapper says.
func (a *analysis) runWrapped(w *programs.Wrapper, c, inner *call) bool {
	switch w.Role {
	case "", "escalates":
		if w.Role != "" {
			inner.sc.escalates = true
		}
		inner.outer = a.keepsShell(c)
		a.run(inner)
		return true
	case "also":
		inner.reads, inner.writes, inner.outer = nil, nil, nil
		a.emit(c)
		inner.sc.effects = c.sc.effects
		inner.sc.remote = inner.sc.remote || c.is(programs.RunsElsewhere)
		a.run(inner)
		return true
	}
	return a.instead(w, c, inner)
}

// keepsShell returns the shell whose directory a cd behind this wrapper changes: builtins keep it, programs
// do not.
func (a *analysis) keepsShell(c *call) *scope {
	if c.name == "builtin" || c.name == "command" || c.name == "noglob" || c.name == "nocorrect" {
		return c.outer
	}
	return nil
}

// instead records a wrapper whose rule is written with the inner words: "uv run pytest *". The inner command
// follows it for deny rules and risk.
func (a *analysis) instead(w *programs.Wrapper, c *call, inner *call) bool {
	mark := len(a.script.Commands)
	inner.reads, inner.writes, inner.outer = nil, nil, nil
	inner.sc.effects = nil
	name := inner.argv[0]
	// A program of the project is part of what the rule names; one of the system needs its own.
	inner.sc.denyOnly = !(name.known && a.tables.systemTool(name.text))
	if w.Role == "download" && !(name.known && programs.Find(name.text).Has(programs.ProjectTool)) {
		c.operates("package " + name.text)
	}
	if name.known && remote(name.text) {
		c.operates("remote code " + name.text)
	}
	a.script.Commands = append(a.script.Commands, Command{})
	a.run(inner)
	at := len(c.argv) - len(inner.argv)
	for i := mark + 1; i < len(a.script.Commands); i++ {
		for _, e := range a.script.Commands[i].Effects {
			addEffect(&c.effects, e.behind(at, i == mark+1 && len(a.script.Commands[i].Argv) == len(c.argv)-at))
		}
		c.writes = append(c.writes, a.script.Commands[i].Writes...)
	}
	a.script.Commands[mark] = c.named(a.tables)
	return true
}

// systemTool says that a name is one of a program that is not part of a project.
func (t *Tables) systemTool(name string) bool {
	name = programs.Canonical(programName(name))
	known := programs.Find(name)
	if known.Has(programs.ProjectTool) || languageOf(name) != nil {
		return false
	}
	return t.row(name) != nil || t.wrapper(name) != nil || known.Handler != "" || known.Inspector != ""
}

// uncertain records a command of which it is not known where the inner command begins. Every word that could
// be its beginning is recorded too, so that deny rules see it.
func (a *analysis) uncertain(c *call, n int) {
	a.problem("dynamic", "Which command "+quote(c.name)+" runs is not certain: "+quote(c.raw)+".")
	if c.is(programs.Escalates) {
		c.sc.escalates = true
	}
	a.script.Commands = append(a.script.Commands, c.command(""))
	for i := n; i < len(c.argv) && i < n+maxCandidates; i++ {
		if w := c.argv[i]; w.known && !strings.HasPrefix(w.text, "-") && w.text != "" {
			in := c.inner(c.argv[i:], texts(c.argv[:i]))
			in.argv = slices.Clone(in.argv)
			in.argv[0] = lit(programName(w.text))
			in.name = in.argv[0].text
			a.script.Commands = append(a.script.Commands, in.command(""))
		}
	}
}

// assignments reads NAME=value words and returns the index of the first other word.
func (a *analysis) assignments(c *call, at int) (int, []Assignment) {
	var env []Assignment
	for ; at < len(c.argv); at++ {
		w := c.argv[at]
		text := w.text
		if !w.known {
			text = w.head
		}
		name, val, ok := strings.Cut(text, "=")
		if !ok || strings.HasPrefix(name, "-") { // an empty name is one to env
			break
		}
		v := word{text: val, known: w.known}
		env = append(env, Assignment{name, Word{Value: val, Known: w.known}})
		if e := a.envEffect(name, v); e != "" {
			c.effect(e)
		}
	}
	return at, env
}

// scriptWords runs words that a program joins to a shell text.
func (a *analysis) scriptWords(inner *call, words []word) {
	if !allKnown(words) {
		a.problem("dynamic", "The text that "+quote(texts(inner.argv))+" gives to a shell depends on the run.")
		inner.argv = words
		if words[0].known {
			inner.name = words[0].text
		}
		a.script.Commands = append(a.script.Commands, inner.command(""))
		return
	}
	a.script1(inner, texts(words))
}

// script1 parses a literal shell text in the scope of an inner call.
func (a *analysis) script1(inner *call, text string) {
	sc := *inner.sc
	mark := len(a.script.Commands)
	a.parseString(text, &sc)
	if len(inner.reads)+len(inner.writes)+len(inner.effects) == 0 {
		return
	}
	if mark == len(a.script.Commands) {
		a.script.Commands = append(a.script.Commands, inner.command(":"))
		return
	}
	cmd := &a.script.Commands[mark]
	cmd.Reads = append(cmd.Reads, inner.reads...)
	cmd.Writes = append(cmd.Writes, inner.writes...)
	for _, e := range inner.effects {
		addEffect(&cmd.Effects, e)
	}
}

// code handles an option whose argument is code, where the wrapper has no operands.
func (a *analysis) code(h hit, c *call, n int) {
	switch {
	case !h.value.known:
		c.effect("code " + h.value.text)
	default:
		inner := c.inner(nil, texts(c.argv[:n])+" "+h.name)
		inner.reads, inner.writes = nil, nil
		inner.sc.denyOnly = true
		mark := len(a.script.Commands)
		a.script1(inner, h.value.text)
		for _, cmd := range a.script.Commands[mark:] {
			for _, e := range cmd.Effects {
				c.effect(e.Text)
			}
		}
		c.effect("option " + h.name)
	}
}
