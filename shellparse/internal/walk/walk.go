// Package walk visits every statement that a text can run, and records its commands. It knows shells but no programs.
package walk

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/parse"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
	"callgate/shellparse/tables"
)

// Outside reports whether one of the directories is, or may be, outside the start directory.
func (a *Walker) Outside(dirs []string) bool {
	root := word.Clean(a.start)
	for _, d := range dirs {
		switch {
		case strings.HasPrefix(d, "/"):
			if root == "" || d != root && !beneath(d, strings.TrimSuffix(root, "/")) {
				return true
			}
		case d == ".." || strings.HasPrefix(d, "../") || strings.HasPrefix(d, "~"):
			return true
		}
	}
	return false
}

// beneath reports whether a path is below a folder. The folder MUST NOT end with a slash.
func beneath(p, folder string) bool {
	return len(p) > len(folder) && p[len(folder)] == '/' && p[:len(folder)] == folder
}

// Walker is the state of one Parse: it walks the statements of a text.
type Walker struct {
	Words  *word.Reader
	Found  *findings.Findings // what is known of the text
	Shell  *word.Shell        // what is known of the shell that runs it
	start  string             // absolute working directory, "" if unknown
	ends   *syntax.CallExpr   // the command that the text ends with; may be nil
	frames frames

	text      []*syntax.Stmt // the text that is walked now, and those around it
	functions functions
	traps     traps

	runs  func(*Walker, *Call) bool // runs the inner command of a program; reports whether it recorded the command
	looks func(*Walker, *Call)      // records what the words of a command do
}

// Setting says how a text is read: by which shell, where, and which functions know the programs.
type Setting struct {
	Dialect script.Dialect
	Dir     string // absolute working directory, "" if unknown
	Home    string // the value of ~, "" if unknown
	Tables  *tables.Tables
	Runs    func(*Walker, *Call) bool // runs the inner command of a program; reports whether it recorded the command
	Looks   func(*Walker, *Call)      // records what the words of a command do
}

// Scope describes where a piece of text runs.
type Scope = word.Scope

// New returns a walker for a text, and the scope of the text itself.
func New(text string, s Setting) (*Walker, *Scope) {
	r := word.NewReader(text, s.Dialect, s.Home, s.Tables)
	a := &Walker{Words: r, Found: r.Found, Shell: &r.Shell, start: s.Dir, runs: s.Runs, looks: s.Looks}
	sc := &Scope{Src: text, Sure: true, Start: true, Input: word.NoInput, Dirs: word.Here}
	if s.Dir != "" {
		sc.Dirs = []string{word.Clean(s.Dir)}
	}
	return a, sc
}

// Parse analyses a whole text in a scope: the command line itself, or a string given to a shell.
func (a *Walker) Parse(text string, sc *word.Scope) {
	f, text, problems := parse.Text(text, a.Words.Dialect)
	for _, p := range problems {
		a.Found.Problem(p.Code, p.Text)
	}
	if f == nil {
		a.Guess(text, sc)
		return
	}
	sc.Src = text
	if sc.Start {
		a.Found.Script.Plain, a.ends = parse.Plain(f), parse.Concluding(f)
	}
	a.Words.Collect(f, text)
	around := a.text
	a.text = append(slices.Clip(around), f.Stmts...)
	if a.Shell.Ends() {
		a.lines(f.Stmts, sc, false)
	} else {
		a.Shell.EndsOf(func() { a.lines(f.Stmts, sc, true) })
	}
	a.text = around
}

// lines walks the statements of a text. alone means that no line around the text can have ended before it.
func (a *Walker) lines(list []*syntax.Stmt, sc *word.Scope, alone bool) {
	for i, st := range list {
		if i > 0 {
			lo, hi := int(list[i-1].End().Offset()), int(st.Pos().Offset())
			if gap := sc.Src[min(lo, hi):hi]; strings.Contains(gap, "\n") {
				a.Shell.NextLine(alone && !strings.Contains(gap, `\`))
			}
		}
		a.stmts(list[i:i+1], sc)
	}
}

// parseString analyses a literal string that runs as a script in the scope of a command.
func (a *Walker) parseString(text string, sc *word.Scope) {
	if sc.Depth++; sc.Depth > maxDepth {
		a.Found.Problem("too-deep", "The text nests too deeply.")
		return
	}
	if !a.Found.Reparse(len(text)) {
		return
	}
	if p := parse.Guard(text); p != nil {
		a.Found.Problem(p.Code, p.Text)
		a.Guess(text, sc)
		return
	}
	sc.Start, sc.Sure, sc.Concludes, sc.Input = false, false, false, word.NoInput
	a.Shell.Within(func() { a.Parse(text, sc) })
}

// maxDepth limits how deeply syntax, wrappers and re-parsed strings may nest.
const maxDepth = 48

// Uncertain records a command whose inner command begins at an unknown word. It also records every word from n on that
// could be the beginning, so that deny rules see it.
func (a *Walker) Uncertain(c *Call, n int) {
	a.Found.Problem("dynamic", "Which command "+findings.Quote(c.Name)+" runs is not certain: "+findings.Quote(c.raw)+".")
	if c.Is(programs.Escalates) {
		c.Sc.Escalates = true
	}
	a.Found.Script.Commands = append(a.Found.Script.Commands, c.Command(""))
	for i := n; i < len(c.Argv) && i < n+word.MaxCandidates; i++ {
		if w := c.Argv[i]; w.Known && !strings.HasPrefix(w.Text, "-") && w.Text != "" {
			in := c.Inner(c.Argv[i:], word.JoinTexts(c.Argv[:i]))
			in.Argv = slices.Clone(in.Argv)
			in.Argv[0] = word.Lit(programs.NameOf(w.Text))
			in.Name = in.Argv[0].Text
			a.Found.Script.Commands = append(a.Found.Script.Commands, in.Command(""))
		}
	}
}

// RunWords runs words that a program joins into a shell text. It returns the scope at the end of the text, or nil if the
// text is unknown.
func (a *Walker) RunWords(inner *Call, words []word.Word) *word.Scope {
	if !word.AllKnown(words) {
		a.Found.Problem("dynamic", "The text that "+findings.Quote(word.JoinTexts(inner.Argv))+" gives to a shell depends on the run.")
		inner.Argv = words
		if words[0].Known {
			inner.Name = words[0].Text
		}
		a.Found.Script.Commands = append(a.Found.Script.Commands, inner.Command(""))
		return nil
	}
	return a.RunText(inner, word.JoinTexts(words))
}

// RunText parses a literal shell text in the scope of an inner call. It returns the scope at the end of the text.
func (a *Walker) RunText(inner *Call, text string) *word.Scope {
	sc := *inner.Sc
	if inner.Outer == nil {
		sc.Old, sc.Stack = nil, nil // another shell may have others
	}
	mark := len(a.Found.Script.Commands)
	a.parseString(text, &sc)
	touched := redirs{reads: inner.Reads, writes: inner.Writes, effects: inner.Effects, connects: inner.connects}
	switch {
	case touched.none():
	case mark == len(a.Found.Script.Commands):
		a.Found.Script.Commands = append(a.Found.Script.Commands, inner.Command(":"))
	default:
		touched.addTo(&a.Found.Script.Commands[mark])
	}
	return &sc
}
