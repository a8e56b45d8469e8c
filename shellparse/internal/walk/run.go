package walk

import (
	"slices"
	"strings"
	"unicode"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/parse"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// DeniesOf adds, for denials, the commands in a text that a program may run. It reports no problems.
func (a *Walker) DeniesOf(text string, sc *word.Scope) {
	mark := len(a.Found.Script.Problems)
	own := *sc
	a.Guess(text, &own)
	a.Found.Script.Problems = a.Found.Script.Problems[:mark]
}

// Run unwraps a command down to the program that does the work, and records it.
func (a *Walker) Run(c *Call) {
	if c.Sc.Depth++; c.Sc.Depth > maxDepth {
		a.Found.Problem("too-deep", "The text nests too deeply.")
		return
	}
	name := c.Argv[0] // before its folder is removed
	if !a.findProgram(c) {
		return
	}
	if skip := c.zshPrefix(a.Words.Dialect); skip > 0 && len(c.Argv) > skip {
		if skip == 2 && !c.Argv[1].IsNumber() {
			a.Found.Problem("dynamic", "repeat evaluates "+findings.Quote(c.Argv[1].Text)+", which can run code.")
		}
		a.Run(c.Inner(c.Argv[skip:], word.JoinTexts(c.Argv[:skip])))
		return
	}
	a.Shell.Jumps = a.Shell.Jumps || jumps[c.Name]
	if !c.Inside && c.Outer != nil && name.Known && a.functions.call(a, c, name.Text) {
		return
	}
	if !a.runs(a, c) {
		a.Emit(c)
	}
}

// findProgram sets the name of the command's program. If no rule could name it, it records the command and returns
// false.
func (a *Walker) findProgram(c *Call) bool {
	w := c.Argv[0]
	if !w.Known && strings.HasPrefix(w.Text, "~") && !word.IsGlob(w.Text) && w.Head == "~" && !strings.ContainsAny(w.Text, "$`'\"\\") {
		// The home directory is unknown, but the program is certain as written.
		w = word.Lit(w.Text)
		c.Argv[0] = w
	}
	if !w.Known {
		a.Found.Problem("dynamic", "Which program runs depends on "+findings.Quote(w.Text)+".")
		a.Emit(c)
		a.guessPrograms(c)
		return false
	}
	c.Name = programs.NameOf(w.Text)
	if w.Text == "" || strings.ContainsAny(w.Text, " \t\n*?[]") && w.Text != "[" && w.Text != "[[" {
		c.Effect("program " + findings.Quote(w.Text))
		a.Emit(c)
		return false
	}
	if c.Name != w.Text {
		c.Argv[0] = word.Lit(c.Name)
	}
	c.Name = programs.Canonical(c.Name)
	return true
}

// expansions matches quotes and variables in the source of a word.
var expansions = lazyregexp.New(`["']|\$\{[^}]*\}|\$\w+`)

// guessPrograms adds, for denials, what a command with a dynamic program may be: each name that the program's source
// spells, or that a variable in it receives, with the words after it.
func (a *Walker) guessPrograms(c *Call) {
	if c.Sc.DenyOnly {
		return
	}
	source := c.Argv[0].Text
	if own := *c.Sc; strings.Contains(source, `"`) {
		a.Guess(c.raw, &own) // $"rm" is rm unless a translation changes it
	}
	names := []string{expansions.ReplaceAllString(source, "")} // what is left if the variables are empty
	for name := range strings.FieldsFuncSeq(source, func(r rune) bool { return !letterOrDigit(r) && !strings.ContainsRune("./-+", r) }) {
		for _, value := range a.Shell.Given[name] {
			names = append(names, value)
			names = append(names, strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) })...)
		}
		if !strings.Contains(source, "$"+name) && !strings.Contains(source, "${"+name) {
			names = append(names, name)
		}
	}
	if strings.Contains(source, "@") || strings.Contains(source, "*") {
		names = append(names, a.Shell.Given["@"]...)
	}
	for _, name := range names[:min(len(names), word.MaxCandidates)] {
		in := c.Inner(slices.Clone(c.Argv), "")
		if k := strings.LastIndexByte(name, '/'); k >= 0 {
			name = name[k+1:]
		}
		if name == "" {
			continue
		}
		in.Argv[0], in.Name, in.Sc.DenyOnly = word.Lit(name), name, true
		in.Sc.Via = c.Sc.Via
		in.Reads, in.Writes = nil, nil
		a.Found.Script.Commands = append(a.Found.Script.Commands, in.Command(""))
	}
}

// letterOrDigit reports whether a rune can be part of a name.
func letterOrDigit(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// Emit records a command as it stands, after checking what its words do.
func (a *Walker) Emit(c *Call) {
	if c.Argv[0].Known {
		if p := parse.ForeignProgram(c.Argv[0].Text); p != "" {
			a.Found.Problem("foreign", p)
		}
		a.looks(a, c)
		c.Sc.DenyOnly = c.Sc.DenyOnly || c.steers()
	}
	if a.Found.Script.Commands == nil {
		a.Found.Script.Commands = make([]script.Command, 0, 4)
	}
	a.Found.Script.Commands = append(a.Found.Script.Commands, c.Named(a.Words.Tables))
}

// steers reports whether a call only steers the script, and needs no rule: `exit 1`, `[ -f go.mod ]`, `exec 2>&1`.
func (c *Call) steers() bool {
	return c.Is(programs.Control) && len(c.Reads)+len(c.Writes)+len(c.connects)+len(c.Effects)+len(c.Sc.Effects)+len(c.Sc.Via) == 0
}
