package walk

import (
	"slices"
	"strings"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
	"callgate/shellparse/tables"
)

// Call is one simple command on its way through its wrappers.
type Call struct {
	Argv       []word.Word
	Globals    []word.Word
	raw        string
	Reads      []script.File
	Writes     []script.File
	Effects    []script.Effect
	connects   []string // addresses that its redirections open
	Op         int      // how many words name the operation, if an inspector knows better than the tables; else 0
	Wraps      int      // how many words of a wrapper, up to those that name what it runs; else 0
	Lists      []script.Listing
	Began      []string    // its directories before its own options changed them
	Sc         *word.Scope // where it runs; not shared with other calls
	Outer      *word.Scope // the scope of the shell, whose directory a cd changes; nil in a child process
	Name       string      // the table's name of the program, if known
	about      *programs.Command
	Statements []word.Word  // SQL that a database client gets
	Computes   bool         // the code of an interpreter is known whole
	Imports    []string     // the modules that this code imports
	Words      word.Scanned // its words, scanned by its table row
	Inside     bool         // another program runs it as its operand, not the shell
}

// frame is the memory for analysing one simple command. It can be reused, because the records of commands are copies.
type frame struct {
	call Call
	own  word.Scope
}

// frames is the list of free frames.
type frames []*frame

func (free *frames) take() *frame {
	if n := len(*free); n > 0 {
		f := (*free)[n-1]
		*free = (*free)[:n-1]
		return f
	}
	return new(frame)
}

func (free *frames) put(f *frame) {
	*f = frame{}
	*free = append(*free, f)
}

// zshPrefix returns how many words stand before a command that zsh runs in another way. It is 0 in other shells.
func (c *Call) zshPrefix(dialect script.Dialect) int {
	switch {
	case dialect != script.Zsh || c.Inside:
		return 0
	case c.Name == "-":
		return 1
	case c.Name == "repeat":
		return 2
	}
	return 0
}

// Facts returns the table's entry for the program.
func (c *Call) Facts() *programs.Command {
	if c.about == nil || c.about.Name != c.Name {
		c.about = programs.Find(c.Name)
	}
	return c.about
}

// Is reports whether the program has a trait.
func (c *Call) Is(t programs.Trait) bool { return c.Facts().Has(t) }

// Reads records a file that the command's program reads.
func (a *Walker) Reads(c *Call, w word.Word) { c.Reads = a.Words.File(c.Reads, w, c.Name, c.Sc) }

// Writes records a file that the command's program writes.
func (a *Walker) Writes(c *Call, w word.Word) { c.Writes = a.Words.File(c.Writes, w, c.Name, c.Sc) }

// Named returns the record of a call, including how many words name it and its operation.
func (c *Call) Named(t *tables.Tables) script.Command {
	cmd := c.Command("")
	cmd.Wants = tables.Wanted(cmd.Argv, t.Arities)
	cmd.Operation = max(tables.Operation(cmd.Argv, cmd.Wants, t.Arities), c.Wraps)
	cmd.Wants = max(cmd.Wants, c.Wraps)
	cmd.Named = tables.Arity(cmd.Argv, cmd.Wants)
	if c.Op > 0 {
		cmd.Operation = c.Op
	}
	for i := range cmd.Effects {
		if e := &cmd.Effects[i]; e.Named == findings.OfOperation {
			e.Named = cmd.Operation
		}
	}
	return cmd
}

// Command returns the record of a call. If argv0 is not empty, it replaces all the words.
func (c *Call) Command(argv0 string) script.Command {
	cmd := script.Command{Raw: c.raw, Via: c.Sc.Via, Env: c.Sc.Env, Reads: c.Reads, Writes: c.Writes, Connects: c.connects, Lists: c.Lists, DenyOnly: c.Sc.DenyOnly || c.Sc.Remote, Remote: c.Sc.Remote, Concludes: c.Sc.Concludes, Computes: c.Computes, Imports: c.Imports,
		Escalates: c.Sc.Escalates || c.Is(programs.Escalates), Dir: c.Sc.Dir(), Dirs: c.Sc.Dirs, Within: c.Sc.Within, Anywhere: c.Sc.Anywhere}
	if argv0 != "" {
		cmd.Argv = []script.Word{{Value: argv0, Known: true}}
	} else {
		cmd.Argv = make([]script.Word, len(c.Argv))
		for i := range c.Argv {
			w := &c.Argv[i]
			cmd.Argv[i] = script.Word{Value: w.Text, Known: w.Known, NoOption: !w.Known && (w.NoOption || w.Safe()), Vanishes: w.Vanishes}
		}
	}
	cmd.Piped = c.Sc.Input.Certain || c.Sc.Input.Kind == word.InputText
	if in := c.Sc.Input; in.Text.Known && (in.Kind == word.InputText || in.Kind == word.InputPipe) {
		cmd.Input = script.Word{Value: in.Text.Text, Known: true}
	}
	for _, w := range c.Statements {
		cmd.Statements = append(cmd.Statements, script.Word{Value: w.Text, Known: w.Known})
	}
	for _, g := range c.Globals {
		cmd.Globals = append(cmd.Globals, script.Word{Value: g.Text, Known: g.Known})
	}
	for _, e := range c.Sc.Effects {
		if e.Named != findings.OfProject || !c.runsProject() {
			findings.AddEffect(&cmd.Effects, script.Effect{Text: e.Text})
		}
	}
	for _, e := range c.Effects {
		findings.AddEffect(&cmd.Effects, e)
	}
	return cmd
}

// runsProject reports whether the program, or the module that it is given, runs code of the project.
func (c *Call) runsProject() bool {
	if len(c.Argv) > 2 && c.Is(programs.Interpreter) && c.Argv[1].Text == "-m" && c.Argv[2].Known {
		return programs.Find(c.Argv[2].Text).Has(programs.RunsProject)
	}
	return c.Is(programs.RunsProject)
}

// Effect records an effect that no rule for the command's words names. Use Operates if the operation itself has the
// effect, and EffectAt or EffectOf if an argument causes it.
func (c *Call) Effect(text string) { findings.AddEffect(&c.Effects, script.Effect{Text: text}) }

// Operates records an effect of the operation itself: a rule that names the operation names it too.
func (c *Call) Operates(text string) {
	findings.AddEffect(&c.Effects, script.Effect{Text: text, Named: findings.OfOperation})
}

// RunsInput records that the command runs its input. Only a rule that names the command without more words covers that.
func (c *Call) RunsInput() {
	findings.AddEffect(&c.Effects, script.Effect{Text: "runs its standard input", Named: script.Whole})
}

// EffectAt records an effect that a word causes: a rule that spells out the words up to this word names it.
func (c *Call) EffectAt(text string, w word.Word) { c.EffectOf(text, word.Hit{Value: w, Has: true}) }

// EffectOf is EffectAt for an option with its value.
func (c *Call) EffectOf(text string, h word.Hit) {
	findings.AddEffect(&c.Effects, script.Effect{Text: text, Named: c.UpTo(h)})
}

// UpTo returns the number of leading words up to the last word that can hold the option or its value, or 0 if none can.
func (c *Call) UpTo(h word.Hit) int {
	for i := len(c.Argv) - 1; i > 0; i-- {
		t := c.Argv[i].Text
		switch {
		case h.Has && t == h.Value.Text,
			h.Name != "" && strings.HasPrefix(t, h.Name),
			len(h.Name) == 2 && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.IndexByte(t, h.Name[1]) > 0,
			len(h.Name) > 2 && len(t) > 2 && strings.HasPrefix(h.Name, t):
			return i + 1
		}
	}
	return 0
}

// Inner returns the call of a wrapper's operand, which has the words argv, in a scope that knows the wrapper.
func (c *Call) Inner(argv []word.Word, via string) *Call {
	sc := *c.Sc
	sc.Via = append(slices.Clip(sc.Via), via)
	sc.Concludes = sc.Concludes && c.Is(programs.KeepsStatus) && endsAlike(via)
	sc.Effects = append(slices.Clip(sc.Effects), findings.Unnamed(c.Effects)...)
	return &Call{Argv: argv, raw: c.raw, Reads: c.Reads, Writes: c.Writes, connects: c.connects, Sc: &sc, Outer: c.Outer, Inside: true}
}

// endsAlike reports whether a wrapper with these words runs its program and succeeds only if the program does. That
// excludes --help, --version, and timeout's --preserve-status.
func endsAlike(via string) bool {
	return !slices.ContainsFunc([]string{" --h", " --v", " --p", " -p"}, func(option string) bool {
		return strings.Contains(via, option)
	})
}

// Child returns the call of a command started in a child process, which takes over no files.
func (c *Call) Child(argv []word.Word, via string) *Call {
	in := c.Inner(argv, via)
	in.Reads, in.Writes, in.Outer = nil, nil, nil
	return in
}
