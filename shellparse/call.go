package shellparse

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/programs"
)

// call is one simple command on its way through its wrappers.
type call struct {
	argv       []word
	globals    []word
	raw        string
	reads      []File
	writes     []File
	effects    []Effect
	connects   []string // addresses that its redirections open
	op         int      // words that name the operation where an inspector knows better than the tables, else 0
	lists      []Listing
	began      []string // where it ran before its own options moved it
	sc         *scope   // where it runs; the call's own
	outer      *scope   // the shell that it runs in, whose directory a cd changes; nil in a child process
	name       string   // argv[0] as the table knows the program, when known
	about      *programs.Command
	statements []word  // of SQL, that a database client is given
	words      scanned // what its words say by its row
	inside     bool    // it is the operand of a program that runs it in place of a shell
}

// frame is the room for a simple command while it is analysed. Nothing keeps it: the records of commands are copies.
type frame struct {
	call call
	own  scope
}

// frames are those that are free.
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

// simple analyses a simple command: assignments, words, redirections.
func (a *analysis) simple(ce *syntax.CallExpr, rds []*syntax.Redirect, st *syntax.Stmt, sc *scope) {
	for _, w := range ce.Args {
		if len(w.Parts) != 1 || !isLit(w.Parts[0]) || a.dialect == Zsh {
			a.nested(w, sc)
		}
	}
	both := a.frames.take()
	defer a.frames.put(both)
	c, child := &both.call, &both.own
	*child = *sc
	c.sc, c.outer = child, sc
	child.env, child.effects = slices.Clip(sc.env), slices.Clip(sc.effects) // assignments are appended
	reads := len(ce.Args) > 0 && ce.Args[0].Lit() == "read"
	for _, as := range ce.Assigns {
		if reads && as.Name != nil && as.Name.Value == "IFS" {
			a.nested(as.Value, sc) // only read splits by it
			continue
		}
		a.assign(as, c, len(ce.Args) > 0, sc)
	}
	var r redirs
	if len(rds) > 0 {
		r.open(a, rds, sc)
		if r.input != nil {
			child.input = r.input
		}
		c.reads, c.writes, c.effects, c.connects = r.reads, r.writes, r.effects, r.connects
	}
	if len(ce.Args) == 0 {
		if !r.none() {
			r.null(a, st, sc)
		}
		return
	}
	if c.raw = sc.raw; c.raw == "" {
		c.raw = rawText(ce, rds, sc)
		child.raw = c.raw
	}
	c.argv = make([]word, 0, len(ce.Args))
	for _, w := range ce.Args {
		c.argv = a.fields(c.argv, w, sc)
	}
	c.argv = append(c.argv, r.words...)
	if len(c.argv) == 0 { // every word expanded to nothing
		if !r.none() {
			r.null(a, st, sc)
		}
		return
	}
	a.run(c)
}

func isLit(p syntax.WordPart) bool {
	_, ok := p.(*syntax.Lit)
	return ok
}

// rawText is the source of a simple command with its redirections, without here-document bodies.
func rawText(ce *syntax.CallExpr, rds []*syntax.Redirect, sc *scope) string {
	lo, hi := ce.Pos().Offset(), ce.End().Offset()
	for _, r := range rds {
		lo = min(lo, r.Pos().Offset())
		hi = max(hi, r.Word.End().Offset())
	}
	if int(hi) > len(sc.src) || lo > hi {
		return ""
	}
	return sc.src[lo:hi]
}

// expandsAsItRuns reports whether a shell reads the value of a variable as code.
func expandsAsItRuns(name string, v word) bool {
	switch name {
	case "PROMPT_COMMAND":
		return true
	case "PS4", "PS0":
		return !v.known || strings.ContainsAny(v.text, "$`")
	}
	return false
}

// elements notes what an array is made of.
func (a *analysis) elements(name string, array *syntax.ArrayExpr, sc *scope) {
	for _, e := range array.Elems {
		if e.Index != nil {
			expansion{a, sc}.subscript(name, e.Index)
		}
		a.nested(e.Value, sc)
		a.gives(name, a.value(e.Value, sc))
	}
}

// assign notes one assignment, before a command or alone.
func (a *analysis) assign(as *syntax.Assign, c *call, prefix bool, sc *scope) {
	if as.Name == nil {
		return
	}
	name := as.Name.Value
	v := word{text: name}
	if as.Index != nil {
		expansion{a, sc}.subscript(name, as.Index)
	}
	if as.Array != nil {
		a.elements(name, as.Array, sc)
	} else {
		a.nested(as.Value, sc)
		if v = a.value(as.Value, sc); !v.known {
			a.copies(name, v.text)
		}
	}
	effect := a.envEffect(name, v)
	if v.known && v.text != "" {
		if effect != "" && (strings.ContainsAny(v.text, " \t\n;|&`$") || a.tables.systemTool(v.text)) {
			a.deniesOf(v.text, sc)
		}
		if !prefix {
			a.gives(name, v)
		}
	}
	if prefix {
		c.sc.env = append(c.sc.env, Assignment{name, Word{Value: v.text, Known: v.known}})
		if effect != "" {
			c.sc.effects = append(c.sc.effects, Effect{Text: effect})
		}
		return
	}
	if expandsAsItRuns(name, v) {
		a.problem("dynamic", "The shell expands "+name+" as it runs, which can run code: "+quote(v.text)+".")
	}
	if as.Append || as.Index != nil || as.Array != nil {
		v.known = false
	}
	if effect != "" {
		a.poison(effect)
	}
	if v.known {
		a.settle(name, v)
	}
}

// gives notes a value that a variable is given, "@" for the positional parameters.
func (a *shell) gives(name string, v word) {
	if !v.known || v.text == "" || len(a.given[name]) == maxCandidates {
		return
	}
	if a.given == nil {
		a.given = map[string][]string{}
	}
	a.given[name] = append(a.given[name], v.text)
}

// deniesOf adds, for denials, what a text runs that a program may take for commands.
func (a *analysis) deniesOf(text string, sc *scope) {
	mark := len(a.script.Problems)
	own := *sc
	a.guess(text, &own)
	a.script.Problems = a.script.Problems[:mark]
}

// zshPrefix returns how many words stand before a command that zsh runs in another way; 0 in other shells.
func (c *call) zshPrefix(dialect Dialect) int {
	switch {
	case dialect != Zsh || c.inside:
		return 0
	case c.name == "-":
		return 1
	case c.name == "repeat":
		return 2
	}
	return 0
}

// run unwraps a command until the program that does the work stands alone, and records it.
func (a *analysis) run(c *call) {
	if c.sc.depth++; c.sc.depth > maxDepth {
		a.problem("too-deep", "The text nests too deeply.")
		return
	}
	if !a.findProgram(c) {
		return
	}
	if skip := c.zshPrefix(a.dialect); skip > 0 && len(c.argv) > skip {
		a.run(c.inner(c.argv[skip:], texts(c.argv[:skip])))
		return
	}
	if a.funcs[c.name] && !c.inside {
		a.callFunction(c)
		return
	}
	if !a.runs(a, c) {
		a.emit(c)
	}
}

// findProgram finds the name of the program that a command runs. It is false where there is none that a rule could name: then
// the command is recorded.
func (a *analysis) findProgram(c *call) bool {
	w := c.argv[0]
	if !w.known && strings.HasPrefix(w.text, "~") && !isGlob(w.text) && w.head == "~" && !strings.ContainsAny(w.text, "$`'\"\\") {
		// The home directory is not known, but the program is certain: it is written as it is.
		w = lit(w.text)
		c.argv[0] = w
	}
	if !w.known {
		a.problem("dynamic", "Which program runs depends on "+quote(w.text)+".")
		a.emit(c)
		a.maybe(c)
		return false
	}
	c.name = programName(w.text)
	if w.text == "" || strings.ContainsAny(w.text, " \t\n*?[]") && w.text != "[" && w.text != "[[" {
		c.effect("program " + quote(w.text))
		a.emit(c)
		return false
	}
	if c.name != w.text {
		c.argv[0] = lit(c.name)
	}
	c.name = programs.Canonical(c.name)
	return true
}

// expansions are those of variables in the source of a word.
var expansions = lazyregexp.New(`["']|\$\{[^}]*\}|\$\w+`)

// maybe adds, for denials, what a command may be whose program depends on the run: each name that the source of the
// program spells, or that a variable in it is given, with the words behind it.
func (a *analysis) maybe(c *call) {
	if c.sc.denyOnly {
		return
	}
	source := c.argv[0].text
	if own := *c.sc; strings.Contains(source, `"`) {
		a.guess(c.raw, &own) // $"rm" is rm in most languages
	}
	names := []string{expansions.ReplaceAllString(source, "")} // what they leave of it when they are empty
	for name := range strings.FieldsFuncSeq(source, func(r rune) bool { return !letterOrDigit(r) && !strings.ContainsRune("./-+", r) }) {
		for _, value := range a.given[name] {
			names = append(names, value)
			names = append(names, strings.FieldsFunc(value, func(r rune) bool { return !unicode.IsLetter(r) })...)
		}
		if !strings.Contains(source, "$"+name) && !strings.Contains(source, "${"+name) {
			names = append(names, name)
		}
	}
	if strings.Contains(source, "@") || strings.Contains(source, "*") {
		names = append(names, a.given["@"]...)
	}
	for _, name := range names[:min(len(names), maxCandidates)] {
		in := c.inner(slices.Clone(c.argv), "")
		if k := strings.LastIndexByte(name, '/'); k >= 0 {
			name = name[k+1:]
		}
		if name == "" {
			continue
		}
		in.argv[0], in.name, in.sc.denyOnly = lit(name), name, true
		in.sc.via = c.sc.via
		in.reads, in.writes = nil, nil
		a.script.Commands = append(a.script.Commands, in.command(""))
	}
}

// letterOrDigit says that a rune may stand in a name.
func letterOrDigit(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// callFunction notes what a call gives a function of the text, whose body was looked at where it is defined.
func (a *analysis) callFunction(c *call) {
	for i := range c.argv {
		if name := a.secretIn(c.argv[i].text); name != "" && !c.argv[i].known {
			a.poison("gives the function " + c.name + " the variable " + name)
		}
	}
	for _, e := range c.sc.effects {
		a.poison(e.Text) // the body runs under the assignments before its name
	}
	if len(c.reads)+len(c.writes)+len(c.connects) > 0 {
		a.script.Commands = append(a.script.Commands, c.command(":"))
	}
}

// facts are what the table says of the program.
func (c *call) facts() *programs.Command {
	if c.about == nil || c.about.Name != c.name {
		c.about = programs.Find(c.name)
	}
	return c.about
}

// is says that the program has a trait.
func (c *call) is(t programs.Trait) bool { return c.facts().Has(t) }

// trustedDirs hold programs that only an administrator changes.
var trustedDirs = map[string]bool{"/bin": true, "/usr/bin": true, "/usr/local/bin": true, "/sbin": true, "/usr/sbin": true,
	"/usr/local/sbin": true, "/opt/homebrew/bin": true}

// programName reduces a path to its last element where only an administrator could have put it there.
func programName(s string) string {
	if !strings.HasPrefix(s, "/") {
		return s
	}
	p := path.Clean(s)
	if dir, base := path.Split(p); trustedDirs[strings.TrimSuffix(dir, "/")] {
		return base
	}
	return s
}

// emit records a command as it stands, after looking at what its words do.
func (a *analysis) emit(c *call) {
	if c.argv[0].known {
		if p := foreignProgram(c.argv[0].text); p != "" {
			a.problem("foreign", p)
		}
		a.looks(a, c)
	}
	if a.script.Commands == nil {
		a.script.Commands = make([]Command, 0, 4)
	}
	a.script.Commands = append(a.script.Commands, c.named(a.tables))
}

// reads notes a file that the program of a command reads.
func (a *analysis) reads(c *call, w word) { c.reads = a.file(c.reads, w, c.name, c.sc) }

// writes notes a file that the program of a command writes.
func (a *analysis) writes(c *call, w word) { c.writes = a.file(c.writes, w, c.name, c.sc) }

// named makes the record of a call, with how many of its words name it and what it does.
func (c *call) named(t *Tables) Command {
	cmd := c.command("")
	cmd.wants = wanted(cmd.Argv, t.arities)
	cmd.Named = arity(cmd.Argv, cmd.wants)
	cmd.Operation = operation(cmd.Argv, cmd.wants, t.arities)
	if c.op > 0 {
		cmd.Operation = c.op
	}
	for i := range cmd.Effects {
		if e := &cmd.Effects[i]; e.Named == ofOperation {
			e.Named = cmd.Operation
		}
	}
	return cmd
}

// command makes the record of a call, with another program name when argv0 is not empty.
func (c *call) command(argv0 string) Command {
	cmd := Command{Raw: c.raw, Via: c.sc.via, Env: c.sc.env, Reads: c.reads, Writes: c.writes, Connects: c.connects, Lists: c.lists, DenyOnly: c.sc.denyOnly || c.sc.remote, Remote: c.sc.remote,
		Escalates: c.sc.escalates || c.is(programs.Escalates), Dir: c.sc.dir(), Dirs: c.sc.dirs}
	if argv0 != "" {
		cmd.Argv = []Word{{Value: argv0, Known: true}}
	} else {
		cmd.Argv = make([]Word, len(c.argv))
		for i := range c.argv {
			cmd.Argv[i] = Word{c.argv[i].text, c.argv[i].known, !c.argv[i].known && c.argv[i].safe()}
		}
	}
	cmd.Piped = c.sc.input.certain || c.sc.input.kind == inputText
	if in := c.sc.input; in.text.known && (in.kind == inputText || in.kind == inputPipe) {
		cmd.Input = Word{Value: in.text.text, Known: true}
	}
	for _, w := range c.statements {
		cmd.Statements = append(cmd.Statements, Word{Value: w.text, Known: w.known})
	}
	for _, g := range c.globals {
		cmd.Globals = append(cmd.Globals, Word{Value: g.text, Known: g.known})
	}
	for _, e := range c.sc.effects {
		addEffect(&cmd.Effects, Effect{Text: e.Text})
	}
	for _, e := range c.effects {
		addEffect(&cmd.Effects, e)
	}
	return cmd
}

// effect notes what the command does beyond its words, and no rule for the words names. Where the operation itself
// does it, or a word among the arguments makes it so, operates, effectAt and effectOf say so.
func (c *call) effect(text string) { addEffect(&c.effects, Effect{Text: text}) }

// operates notes what the operation does by itself: a rule that names it names that too.
func (c *call) operates(text string) { addEffect(&c.effects, Effect{text, ofOperation}) }

// runsInput notes that what comes in is run: only who names the command without any further word means that.
func (c *call) runsInput() { addEffect(&c.effects, Effect{"runs its standard input", Whole}) }

// effectAt notes what a word makes the command do: a rule that spells out the words up to this one names it.
func (c *call) effectAt(text string, w word) { c.effectOf(text, hit{value: w, has: true}) }

// effectOf is effectAt for an option with its value.
func (c *call) effectOf(text string, h hit) { addEffect(&c.effects, Effect{text, c.upTo(h)}) }

// upTo returns how many leading words there are up to the last one that the option or its value can stand in, 0
// where there is none.
func (c *call) upTo(h hit) int {
	for i := len(c.argv) - 1; i > 0; i-- {
		t := c.argv[i].text
		switch {
		case h.has && t == h.value.text,
			h.name != "" && strings.HasPrefix(t, h.name),
			len(h.name) == 2 && len(t) > 1 && t[0] == '-' && t[1] != '-' && strings.IndexByte(t, h.name[1]) > 0,
			len(h.name) > 2 && len(t) > 2 && strings.HasPrefix(h.name, t):
			return i + 1
		}
	}
	return 0
}

// inner makes the call of a wrapper's operand: the words from index i on, in a scope that knows the wrapper.
func (c *call) inner(argv []word, via string) *call {
	sc := *c.sc
	sc.via = append(slices.Clip(sc.via), via)
	sc.effects = append(slices.Clip(sc.effects), unnamed(c.effects)...)
	return &call{argv: argv, raw: c.raw, reads: c.reads, writes: c.writes, connects: c.connects, sc: &sc, outer: c.outer, inside: true}
}

// child makes the call of what the command starts in a process of its own, with none of its files.
func (c *call) child(argv []word, via string) *call {
	in := c.inner(argv, via)
	in.reads, in.writes, in.outer = nil, nil, nil
	return in
}

// texts joins words by blanks.
func texts(words []word) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0].text
	}
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i].text)
	}
	return b.String()
}

func allKnown(words []word) bool {
	for i := range words {
		if !words[i].known {
			return false
		}
	}
	return true
}
