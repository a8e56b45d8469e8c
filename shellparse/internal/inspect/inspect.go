// Package inspect determines what programs do with their words. Table rows say most of it, and name functions for the
// rest.
package inspect

import (
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/internal/findings"
	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// Inspect records what a program's words do: options before its subcommand, options that execute or write, and
// operands.
func Inspect(a *walk.Walker, c *walk.Call) {
	if c.Name == "" {
		c.Name = programs.Canonical(c.Argv[0].Text)
	}
	row, n := rowOf(a, c)
	s := &c.Words
	c.Began = c.Sc.Dirs
	if row != nil {
		inspectRow(a, row, n, s, c)
	}
	mayDoBehind(a, c, row)
	inspector := c.Facts().Inspector
	if inspector != "" {
		Inspectors[inspector](a, c, s)
	}
	if len(c.Argv) > 1 && c.Argv[1].Known {
		if of := programs.Find(c.Name, c.Argv[1].Text).Inspector; of != "" {
			Inspectors[of](a, c, s)
		}
	}
	if l := programs.LanguageOf(c.Name); l != nil {
		inspectLanguage(a, l, c)
	}
	takesCode(c)
	shows(a, row, c)
	endless(c)
	for _, f := range c.Reads {
		if strings.HasPrefix(f.Path.Value, "/proc/") && strings.HasSuffix(f.Path.Value, "/environ") {
			c.Effect("prints the environment")
		}
	}
	if row == nil && inspector == "" && !c.Is(programs.OnlyNames) || programs.LanguageOf(c.Name) != nil {
		for _, w := range c.Argv[1:] {
			if !w.Known && len(w.Globs) > 0 {
				a.Reads(c, w) // what it does with them is unknown
			}
		}
	}
	inspectPackages(c)
	optionFiles(a, c)
	remoteCode(c)
	passedOn(a, c)
	installed(a, c)
	elsewhere(a, c, s)
	workspace(a, c)
}

// rowEffect records the effect that a row gives every use of a program. n words name the row. If the program runs what
// its words say, a rule has to spell out all the words.
func rowEffect(c *walk.Call, row *programs.Row, n int) {
	last := c.Argv[len(c.Argv)-1]
	switch row.Effect {
	case "runs code", "starts programs":
		if n == 1 {
			c.EffectAt(row.Effect, last)
			return
		}
	case "editor":
		for _, w := range c.Argv[1:] {
			if strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+") {
				c.EffectAt("option "+w.Text, last) // it may take commands
			}
		}
	}
	c.Operates(row.Effect)
}

// harmlessGlobals lists options before a subcommand that no table has to name.
var harmlessGlobals = map[string]bool{"--help": true, "--version": true, "-h": true}

// unclearGlobal returns the first word from n to end that may or may not be the subcommand, or nil.
func unclearGlobal(c *walk.Call, n, end int, s *word.Scanned) *word.Word {
	for i := n; i < end && i < len(c.Argv); i++ {
		if !c.Argv[i].Known && !c.Argv[i].Safe() && (i == n || !valueOf(s, c.Argv[i])) {
			return &c.Argv[i]
		}
	}
	return nil
}

// inspectRow inspects a command by its row. n words name the row.
func inspectRow(a *walk.Walker, row *programs.Row, n int, s *word.Scanned, c *walk.Call) {
	if row.Effect != "" {
		rowEffect(c, row, n)
	}
	*s = (*word.Options)(row.Options).Scan(c.Argv[n:], row.Style)
	for _, h := range s.Hits {
		apply(a, h, c)
	}
	before := len(c.Writes)
	operands(a, row, s, c)
	if s.Vague != "" && (row.Options.Danger && !ownFile(s.Doubt, c) || row.Options.Writes && s.Doubt == word.Unclear) {
		w := word.Hit{Value: word.Word{Text: s.Vague}, Has: true}
		findings.AddEffect(&c.Effects, script.Effect{Text: "word " + s.Vague, Named: c.UpTo(w), Split: touches(s, c)})
	}
	for _, h := range s.Hits {
		if h.Opt.Does != 'm' || len(c.Writes) > before {
			continue
		}
		if c.Is(programs.ProjectTool) { // it writes project files that its words do not name
			a.Writes(c, word.Lit("."))
		} else {
			c.EffectOf("option "+h.Name, h)
		}
	}
}

// ownFile reports whether a file of the project, used as an option, can do the command no harm, whatever its name: a
// name in the working directory names nothing elsewhere, and a program that runs the project's code already runs what
// that file's author wants.
func ownFile(doubt word.Doubt, c *walk.Call) bool {
	return c.Is(programs.ProjectTool) && (doubt == word.Named || doubt == word.Listed && c.Is(programs.RunsProject))
}

// touches reports whether the one word that may be an option is names of files that existed or that git tracks, and the
// command reads or writes them after the shell or xargs has split them.
func touches(s *word.Scanned, c *walk.Call) bool {
	named := func(f script.File) bool { return (f.Split || f.Tracked) && f.Pattern != "" && f.Path.Value == s.Vague }
	return s.Doubt == word.Listed && s.Existing && (slices.ContainsFunc(c.Reads, named) || slices.ContainsFunc(c.Writes, named))
}

// rowOf returns the most specific row for a command and the number of words that name it.
func rowOf(a *walk.Walker, c *walk.Call) (*programs.Row, int) {
	t := a.Words.Tables
	if len(c.Argv) > 2 && c.Argv[1].Known && c.Argv[2].Known && t.Row(c.Name) != nil {
		if p := t.Row(c.Name, c.Argv[1].Text, c.Argv[2].Text); p != nil && len(p.Subcommands) == 0 {
			return p, 3
		}
	}
	p := t.Row(c.Name)
	if p == nil {
		return nil, 0
	}
	if len(p.Subcommands) == 0 {
		return p, 1
	}
	if len(c.Argv) > 1 && c.Argv[1].Known {
		if q := t.Row(c.Name, c.Argv[1].Text); q != nil && len(q.Subcommands) == 0 {
			return q, 2
		}
	}
	return nil, 0
}

// takeGlobals moves the options before a subcommand out of the words: git -C web status is git status.
func takeGlobals(a *walk.Walker, c *walk.Call) {
	name := []string{c.Name}
	for n := 1; n < 3; n++ {
		p := a.Words.Tables.Row(name...)
		if p == nil || len(p.Subcommands) == 0 {
			return
		}
		if n == 1 {
			takeToolchain(c)
			takeWorkspace(c)
		}
		s := (*word.Options)(p.Options).Scan(c.Argv[n:], p.Style)
		end := n + s.Rest
		if w := unclearGlobal(c, n, end, &s); w != nil {
			c.Effect("subcommand " + w.Text)
			return
		}
		before := len(c.Effects)
		for _, h := range s.Hits {
			apply(a, h, c)
		}
		for i := before; i < len(c.Effects); i++ {
			c.Effects[i].Named = 0 // the option will not be among the words
		}
		if s.Unknown != "" && !harmlessGlobals[s.Unknown] {
			c.Effect("option " + s.Unknown)
			return
		}
		if end > n && end < len(c.Argv) {
			c.Globals = append(c.Globals, c.Argv[n:end]...)
			c.Argv = slices.Concat(c.Argv[:n], c.Argv[end:])
		}
		if n >= len(c.Argv) {
			return
		}
		sub := c.Argv[n]
		switch {
		case strings.HasPrefix(sub.Text, "-") && sub.Known:
			return
		case !sub.Known || strings.ContainsAny(sub.Text, " \t\n"):
			c.Effect("subcommand " + sub.Text)
			return
		}
		if _, known := slices.BinarySearch(p.Subcommands, sub.Text); !known && !p.Open() {
			c.EffectAt("subcommand "+sub.Text, sub)
			return
		}
		name = append(name, sub.Text)
	}
}

// takeToolchain moves cargo's toolchain (+nightly) out of the words.
func takeToolchain(c *walk.Call) {
	if c.Name != "cargo" || len(c.Argv) < 2 || !strings.HasPrefix(c.Argv[1].Text, "+") {
		return
	}
	if t := c.Argv[1].Text; !c.Argv[1].Known || !toolchain.MatchString(t) {
		c.Effect("toolchain " + t)
	}
	c.Globals = append(c.Globals, c.Argv[1])
	c.Argv = slices.Concat(c.Argv[:1], c.Argv[2:])
}

// takeWorkspace moves yarn's workspace out of the words: yarn workspace web test is yarn test.
func takeWorkspace(c *walk.Call) {
	if c.Name != "yarn" || len(c.Argv) < 4 || !word.AllKnown(c.Argv[1:3]) || c.Argv[1].Text != "workspace" || !packageName.MatchString(c.Argv[2].Text) {
		return
	}
	c.Globals = append(c.Globals, c.Argv[1:3]...)
	c.Argv = slices.Concat(c.Argv[:1], c.Argv[3:])
}

var packageName = lazyregexp.New(`^(?:@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`)

// toolchain matches a word that selects one of Rust's own toolchains for cargo. Other toolchains can be any program.
var toolchain = lazyregexp.New(`^\+(stable|beta|nightly|1\.[0-9]+(\.[0-9]+)?)(-[0-9]{4}-[0-9]{2}-[0-9]{2})?$`)

// valueOf reports whether a word was read as the value of an option.
func valueOf(s *word.Scanned, w word.Word) bool {
	return slices.ContainsFunc(s.Hits, func(h word.Hit) bool { return h.Has && h.Value.Text == w.Text })
}

// workspace records that a program which executes what it finds in its directory runs outside the start.
func workspace(a *walk.Walker, c *walk.Call) {
	if c.Is(programs.Configured) && (a.Outside(c.Sc.Dirs) || a.Outside(c.Sc.Within)) {
		c.Effect("directory " + strings.Join(append(slices.Clip(c.Sc.Dirs), c.Sc.Within...), " "))
	}
}

// elsewhere records the operands of a Collector that are not below the start.
func elsewhere(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	if !c.Is(programs.Collector) {
		return
	}
	for _, w := range s.Operands {
		if c.Is(programs.TakesLabels) && (strings.HasPrefix(w.Text, "//") || !w.Known && strings.HasPrefix(w.Head, "//")) {
			continue
		}
		if leadsOut(a, c, w) {
			c.Effect("directory " + w.Text)
		}
	}
}

// leadsOut reports whether a word, or a part of it, names a place outside the start: file:/srv/x, a=../b.
func leadsOut(a *walk.Walker, c *walk.Call, w word.Word) bool {
	texts := []string{w.Text}
	switch {
	case w.Known:
	case len(w.Globs) > 0:
		texts = w.Globs
	default:
		texts = []string{w.Head}
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		if text = strings.TrimPrefix(text, "file://"); strings.Contains(text, "://") {
			return false // an address is no path
		}
		for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(":=,;", r) }) {
			if len(part) > 2 && part[0] == '-' && !strings.ContainsRune("IFL", rune(part[1])) {
				part = part[2:] // -r/x; not for -I, -F and -L, because folders of headers and libraries run nothing
			}
			named := word.HasPrefix(part, "/", "~") || slices.Contains(strings.Split(part, "/"), "..")
			if named && !word.HasPrefix(part, "/dev/null", "/dev/std") && a.Outside(word.JoinDirs(c.Sc.Dirs, part)) {
				return true
			}
		}
		return false
	})
}

// operands records the files that the operands of a program name.
func operands(a *walk.Walker, row *programs.Row, s *word.Scanned, c *walk.Call) {
	ops := s.Operands
	role := row.Operands
	if len(ops) == 0 && row.Default != "" {
		ops = []word.Word{word.Lit(row.Default)}
	}
	if role == "" || len(ops) == 0 {
		return
	}
	by := c.Name
	read := func(w word.Word) { c.Reads = a.Words.File(c.Reads, w, by, c.Sc) }
	write := func(w word.Word) {
		if w.Known && w.Text == "-" && c.Is(programs.DashIsFile) {
			w = word.Lit("./-")
		}
		c.Writes = a.Words.File(c.Writes, w, by, c.Sc)
	}
	does := func(what byte) bool {
		return slices.ContainsFunc(s.Hits, func(h word.Hit) bool { return h.Opt.Does == what })
	}
	switch role {
	case "r", "1r":
		if role == "1r" && !does('c') {
			ops = ops[1:]
		}
		word.All(read, ops)
		if does('m') {
			word.All(write, ops)
		}
	case "w":
		word.All(write, ops)
	case "wr":
		write(ops[0])
		word.All(read, ops[1:])
	case "1w":
		word.All(write, ops[1:])
	case "2w":
		read(ops[0])
		word.All(write, ops[1:])
	case "rw", "mv":
		sources := ops[:len(ops)-1]
		if does('t') {
			sources = ops // an option names the target
		}
		word.All(read, sources)
		if role == "mv" {
			word.All(write, sources)
		}
		if len(sources) < len(ops) {
			word.All(write, intoTarget(sources, ops[len(ops)-1]))
		}
	}
}

// intoTarget returns what a program that copies writes: the target, and, in case it is a directory, files in it with
// the names of their sources.
func intoTarget(sources []word.Word, target word.Word) []word.Word {
	list := []word.Word{target}
	for _, w := range sources {
		if w.Known && target.Known && w.Text != "" {
			list = append(list, word.Lit(path.Join(target.Text, path.Base(w.Text))))
		}
	}
	return list
}
