package inspect

import (
	"slices"
	"strings"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// RunProgram runs the inner command of a program that is a launcher, has a handler, or is a wrapper. It reports whether
// it recorded the command.
func RunProgram(a *walk.Walker, c *walk.Call) bool {
	switch name := programs.LauncherOf(c.Name); name {
	case "":
	case "ld.so":
		c.Name = name
		c.Argv = append([]word.Word{word.Lit(name)}, c.Argv[1:]...)
	default:
		if runLauncher(a, c) {
			return true
		}
	}
	if h := c.Facts().Handler; h != "" && Handlers[h](a, c) {
		return true
	}
	if p := a.Words.Tables.Row(c.Name); p != nil && len(p.Subcommands) > 0 {
		takeGlobals(a, c)
	}
	w, n := wrapperFor(a, c)
	return w != nil && unwrap(a, w, c, n)
}

// wrapperFor returns the wrapper row of a command and how many words name it ("uv run", "docker compose exec"). The row
// is nil if the command runs no other.
func wrapperFor(a *walk.Walker, c *walk.Call) (*programs.Wrapper, int) {
	t := a.Words.Tables
	if len(c.Argv) > 2 && c.Argv[1].Known && c.Argv[2].Known {
		if w := t.Wrapper(c.Name, c.Argv[1].Text, c.Argv[2].Text); w != nil {
			return w, 3
		}
	}
	if len(c.Argv) > 1 && c.Argv[1].Known {
		if w := t.Wrapper(c.Name, c.Argv[1].Text); w != nil {
			return w, 2
		}
	}
	return t.Wrapper(c.Name), 1
}

// wrapperEffect records what a wrapper does besides running the inner command.
func wrapperEffect(c *walk.Call, w *programs.Wrapper) {
	switch {
	case w.Effect == "":
	case w.Role == "instead" || w.Role == "download":
		c.Operates(w.Effect)
	default:
		c.Effect(w.Effect)
	}
}

// wrapsNothing records the effects of a wrapper without an inner command.
func wrapsNothing(a *walk.Walker, w *programs.Wrapper, c *walk.Call, n int, hits []word.Hit) {
	if w.Role == "escalates" {
		c.Sc.Escalates = true
	}
	for _, h := range hits {
		if h.Opt.Does == 'c' && h.Has {
			optionCode(a, h, c, n)
		}
	}
}

// unwrap removes one wrapper from a command. The first n words name the wrapper. It returns false if no inner command
// follows; then the wrapper counts as a command itself.
func unwrap(a *walk.Walker, w *programs.Wrapper, c *walk.Call, n int) bool {
	s := (*word.Options)(w.Options).Scan(c.Argv[n:], w.Style)
	at := n + s.Rest
	begin := at
	if unclear(w, &s, c.Argv[n:at]) || !skips(w, c, &at) {
		a.Uncertain(c, n)
		return true
	}
	for _, h := range s.Hits {
		apply(a, h, c)
		if h.Opt.Does == 'c' && h.Has && at < len(c.Argv) {
			optionCode(a, h, c, n)
		}
	}
	var env []script.Assignment
	if w.Assigns {
		at, env = assignments(a, c, at)
	}
	if at < len(c.Argv) && c.Argv[at].Known && c.Argv[at].Text == "--" {
		at++
	}
	if at >= len(c.Argv) {
		wrapsNothing(a, w, c, n, s.Hits)
		return false
	}
	if !c.Argv[at].Known && at == begin && !c.Argv[at].Safe() && w.Style == programs.POSIX && n == 1 {
		// Which program runs, and whether the word is an option of the wrapper, depends on the run.
		a.Uncertain(c, n)
		return true
	}
	wrapperEffect(c, w)
	inner := c.Inner(c.Argv[at:], word.JoinTexts(c.Argv[:at]))
	inner.Sc.Env = append(slices.Clip(inner.Sc.Env), env...)
	if w.Script {
		a.RunWords(inner, c.Argv[at:])
		return w.Role == ""
	}
	return runWrapped(a, w, c, inner)
}

// unclear reports whether the end of a wrapper's options depends on the run.
func unclear(w *programs.Wrapper, s *word.Scanned, options []word.Word) bool {
	return s.Unknown != "" && w.Style == programs.POSIX && !s.Dashes || s.Vague != "" && !word.AllKnown(options)
}

// skips moves at past the wrapper's operands before the program. It returns false if their number depends on the run.
func skips(w *programs.Wrapper, c *walk.Call, at *int) bool {
	for skip := w.Skip; skip > 0 && *at < len(c.Argv); skip-- {
		if !c.Argv[*at].Known && c.Argv[*at].Many {
			return false
		}
		*at++
	}
	if w.Skip > 0 && *at < len(c.Argv) && strings.HasPrefix(c.Argv[*at].Text, "-") {
		// kubectl takes options after the pod, up to --.
		dashes := slices.IndexFunc(c.Argv[*at:], func(w word.Word) bool { return w.Known && w.Text == "--" })
		if dashes < 0 {
			return false
		}
		*at += dashes
	}
	return true
}

// runWrapped runs the inner command according to the role of its wrapper.
func runWrapped(a *walk.Walker, w *programs.Wrapper, c, inner *walk.Call) bool {
	switch w.Role {
	case "", "escalates":
		if w.Role != "" {
			inner.Sc.Escalates = true
		}
		inner.Outer = keepsShell(c)
		inner.Inside = !(c.Name == "noglob" || c.Name == "nocorrect") // zsh runs a function after these
		a.Run(inner)
		return true
	case "also":
		inner.Reads, inner.Writes, inner.Outer = nil, nil, nil
		a.Emit(c)
		inner.Sc.Effects = c.Sc.Effects
		inner.Sc.Remote = inner.Sc.Remote || c.Is(programs.RunsElsewhere)
		a.Run(inner)
		return true
	}
	return instead(a, w, c, inner)
}

// keepsShell returns the scope whose directory a cd after this wrapper changes: the shell's for builtins, nil for
// programs.
func keepsShell(c *walk.Call) *word.Scope {
	if c.Name == "builtin" || c.Name == "command" || c.Name == "noglob" || c.Name == "nocorrect" {
		return c.Outer
	}
	return nil
}

// instead records a wrapper whose rule is written with the inner words: "uv run pytest *". The inner command follows it
// for deny rules and risk, and determines how many words name the operation.
func instead(a *walk.Walker, w *programs.Wrapper, c *walk.Call, inner *walk.Call) bool {
	mark := len(a.Found.Script.Commands)
	inner.Reads, inner.Writes, inner.Outer = nil, nil, nil
	inner.Sc.Effects = nil
	name := inner.Argv[0]
	// The rule for the wrapper covers a program of the project. A system tool needs a rule of its own.
	inner.Sc.DenyOnly = !(name.Known && a.Words.Tables.SystemTool(name.Text))
	if w.Role == "download" && !(name.Known && programs.Find(name.Text).Has(programs.ProjectTool)) {
		c.Operates("package " + name.Text)
	}
	if name.Known && remote(name.Text) {
		c.Operates("remote code " + name.Text)
	}
	a.Found.Script.Commands = append(a.Found.Script.Commands, script.Command{})
	a.Run(inner)
	at := len(c.Argv) - len(inner.Argv)
	for i := mark + 1; i < len(a.Found.Script.Commands); i++ {
		for _, e := range a.Found.Script.Commands[i].Effects {
			findings.AddEffect(&c.Effects, findings.Behind(e, at, i == mark+1 && len(a.Found.Script.Commands[i].Argv) == len(c.Argv)-at))
		}
		c.Writes = append(c.Writes, a.Found.Script.Commands[i].Writes...)
	}
	c.Wraps = at + 1
	if list := a.Found.Script.Commands[mark+1:]; len(list) > 0 && len(list[0].Argv) <= len(c.Argv)-at {
		c.Wraps = len(c.Argv) - len(list[0].Argv) + max(list[0].Operation, 1)
	}
	a.Found.Script.Commands[mark] = c.Named(a.Words.Tables)
	return true
}

// assignments reads NAME=value words and returns the index of the first other word.
func assignments(a *walk.Walker, c *walk.Call, at int) (int, []script.Assignment) {
	var env []script.Assignment
	for ; at < len(c.Argv); at++ {
		w := c.Argv[at]
		text := w.Text
		if !w.Known && !(strings.HasPrefix(text, "~") && !strings.ContainsAny(text, "$`\"'\\/*?[{")) { // no user is called A=1
			text = w.Head
		}
		name, val, ok := strings.Cut(text, "=")
		if !ok || strings.HasPrefix(name, "-") { // env also accepts an empty name
			break
		}
		v := word.Word{Text: val, Known: w.Known}
		env = append(env, script.Assignment{Name: name, Value: script.Word{Value: val, Known: w.Known}})
		if e := walk.ExportEffect(a, name, v, c.Sc); e != "" {
			c.Effect(e)
		}
	}
	return at, env
}

// optionCode records the shell code in an option of a wrapper, and its effects.
func optionCode(a *walk.Walker, h word.Hit, c *walk.Call, n int) {
	switch {
	case !h.Value.Known:
		c.Effect("code " + h.Value.Text)
	default:
		inner := c.Inner(nil, word.JoinTexts(c.Argv[:n])+" "+h.Name)
		inner.Reads, inner.Writes = nil, nil
		inner.Sc.DenyOnly = true
		mark := len(a.Found.Script.Commands)
		a.RunText(inner, h.Value.Text)
		for _, cmd := range a.Found.Script.Commands[mark:] {
			for _, e := range cmd.Effects {
				c.Effect(e.Text)
			}
		}
		c.Effect("option " + h.Name)
	}
}
