package shellparse

import (
	"path"
	"slices"
	"strings"

	"callgate/internal/lazyregexp"
	"callgate/shellparse/programs"
)

// inspect looks at what the words of a program do: the options that stand before its subcommand, those that
// execute or write, and its operands.
func inspect(a *analysis, c *call) {
	if c.name == "" {
		c.name = programs.Canonical(c.argv[0].text)
	}
	row, n := a.row(c)
	s := &c.words
	c.began = c.sc.dirs
	if row != nil {
		a.inspectRow(row, n, s, c)
	}
	inspector := c.facts().Inspector
	if inspector != "" {
		inspectors[inspector](a, c, s)
	}
	if len(c.argv) > 1 && c.argv[1].known {
		if of := programs.Find(c.name, c.argv[1].text).Inspector; of != "" {
			inspectors[of](a, c, s)
		}
	}
	if l := languageOf(c.name); l != nil {
		a.inspectLanguage(l, c)
	}
	a.takesCode(c)
	a.shows(row, c)
	for _, f := range c.reads {
		if strings.HasPrefix(f.Path.Value, "/proc/") && strings.HasSuffix(f.Path.Value, "/environ") {
			c.effect("prints the environment")
		}
	}
	if row == nil && inspector == "" || languageOf(c.name) != nil {
		for _, w := range c.argv[1:] {
			if !w.known && len(w.globs) > 0 {
				a.reads(c, w) // nobody knows what it does with them
			}
		}
	}
	a.inspectPackages(c)
	a.optionFiles(c)
	a.remoteCode(c)
	a.passedOn(c)
	a.elsewhere(c, s)
	a.workspace(c)
}

// rowEffect notes what a row, which n words name, says of every use of a program. One that runs what its words say is named word by word.
func (c *call) rowEffect(row *programs.Row, n int) {
	last := c.argv[len(c.argv)-1]
	switch row.Effect {
	case "runs code", "starts programs":
		if n == 1 {
			c.effectAt(row.Effect, last)
			return
		}
	case "editor":
		for _, w := range c.argv[1:] {
			if strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+") {
				c.effectAt("option "+w.text, last) // it may take commands
			}
		}
	}
	c.operates(row.Effect)
}

// harmlessGlobals are options before a subcommand that no table has to name.
var harmlessGlobals = map[string]bool{"--help": true, "--version": true, "-h": true}

// unclearGlobal returns the first word from n to end that may be the subcommand or not; nil for none.
func (c *call) unclearGlobal(n, end int, s *scanned) *word {
	for i := n; i < end && i < len(c.argv); i++ {
		if !c.argv[i].known && !c.argv[i].safe() && (i == n || !valueOf(s, c.argv[i])) {
			return &c.argv[i]
		}
	}
	return nil
}

// inspectRow looks at a command as its row says, whose name takes n words.
func (a *analysis) inspectRow(row *programs.Row, n int, s *scanned, c *call) {
	if row.Effect != "" {
		c.rowEffect(row, n)
	}
	*s = (*optset)(row.Options).scan(c.argv[n:], row.Style)
	for _, h := range s.hits {
		a.apply(h, c)
	}
	if s.vague != "" && (row.Options.Danger || row.Options.Writes && s.vagueBad) {
		c.effectAt("word "+s.vague, word{text: s.vague})
	}
	before := len(c.writes)
	a.operands(row, s, c)
	for _, h := range s.hits {
		if h.opt.Does != 'm' || len(c.writes) > before {
			continue
		}
		if c.is(programs.ProjectTool) { // it writes files of the project that its words do not name
			a.writes(c, lit("."))
		} else {
			c.effectOf("option "+h.name, h)
		}
	}
}

// row returns the most specific row for a command and the number of words that name it.
func (a *analysis) row(c *call) (*programs.Row, int) {
	t := a.tables
	if len(c.argv) > 2 && c.argv[1].known && c.argv[2].known && t.row(c.name) != nil {
		if p := t.row(c.name, c.argv[1].text, c.argv[2].text); p != nil && len(p.Subcommands) == 0 {
			return p, 3
		}
	}
	p := t.row(c.name)
	if p == nil {
		return nil, 0
	}
	if len(p.Subcommands) == 0 {
		return p, 1
	}
	if len(c.argv) > 1 && c.argv[1].known {
		if q := t.row(c.name, c.argv[1].text); q != nil && len(q.Subcommands) == 0 {
			return q, 2
		}
	}
	return nil, 0
}

// takeGlobals moves the options before a subcommand out of the words: git -C web status is git status.
func (a *analysis) takeGlobals(c *call) {
	name := []string{c.name}
	for n := 1; n < 3; n++ {
		p := a.tables.row(name...)
		if p == nil || len(p.Subcommands) == 0 {
			return
		}
		if n == 1 {
			c.takeToolchain()
		}
		s := (*optset)(p.Options).scan(c.argv[n:], p.Style)
		end := n + s.rest
		if w := c.unclearGlobal(n, end, &s); w != nil {
			c.effect("subcommand " + w.text)
			return
		}
		before := len(c.effects)
		for _, h := range s.hits {
			a.apply(h, c)
		}
		for i := before; i < len(c.effects); i++ {
			c.effects[i].Named = 0 // the option will not be among the words
		}
		if s.unknown != "" && !harmlessGlobals[s.unknown] {
			c.effect("option " + s.unknown)
			return
		}
		if end > n && end < len(c.argv) {
			c.globals = append(c.globals, c.argv[n:end]...)
			c.argv = slices.Concat(c.argv[:n], c.argv[end:])
		}
		if n >= len(c.argv) {
			return
		}
		sub := c.argv[n]
		switch {
		case strings.HasPrefix(sub.text, "-") && sub.known:
			return
		case !sub.known || strings.ContainsAny(sub.text, " \t\n"):
			c.effect("subcommand " + sub.text)
			return
		}
		if _, known := slices.BinarySearch(p.Subcommands, sub.text); !known && !p.Open() {
			c.effectAt("subcommand "+sub.text, sub)
			return
		}
		name = append(name, sub.text)
	}
}

// takeToolchain moves the word by which cargo is told its toolchain out of the words.
func (c *call) takeToolchain() {
	if c.name != "cargo" || len(c.argv) < 2 || !strings.HasPrefix(c.argv[1].text, "+") {
		return
	}
	if t := c.argv[1].text; !c.argv[1].known || !toolchain.MatchString(t) {
		c.effect("toolchain " + t)
	}
	c.globals = append(c.globals, c.argv[1])
	c.argv = slices.Concat(c.argv[:1], c.argv[2:])
}

// toolchain is a word that selects one of Rust's own toolchains for cargo: others can be any program.
var toolchain = lazyregexp.New(`^\+(stable|beta|nightly|1\.[0-9]+(\.[0-9]+)?)(-[0-9]{4}-[0-9]{2}-[0-9]{2})?$`)

// valueOf says that a word was taken as the value of an option.
func valueOf(s *scanned, w word) bool {
	for _, h := range s.hits {
		if h.has && h.value.text == w.text {
			return true
		}
	}
	return false
}

// workspace notes that a program which executes what it finds in its directory runs outside of the start.
func (a *analysis) workspace(c *call) {
	if !c.is(programs.Configured) {
		return
	}
	if len(c.sc.dirs) == 1 && (c.sc.dirs[0] == "." || c.sc.dirs[0] == a.start) && !c.sc.lost {
		return
	}
	if a.outside(c.sc.dirs) {
		c.effect("directory " + strings.Join(c.sc.dirs, " "))
	}
}

// elsewhere notes that such a path is not below the start.
func (a *analysis) elsewhere(c *call, s *scanned) {
	if !c.is(programs.Collector) {
		return
	}
	for _, w := range s.operands {
		text := w.text
		if !w.known {
			text = w.head
		}
		if c.is(programs.TakesLabels) && strings.HasPrefix(text, "//") {
			continue
		}
		if (strings.HasPrefix(text, "/") || strings.HasPrefix(text, "..") && !strings.HasPrefix(text, "...")) && a.outside(joinDirs(c.sc.dirs, text)) {
			c.effect("directory " + w.text)
		}
	}
}

func set(list string) map[string]bool {
	m := map[string]bool{}
	for _, s := range strings.Fields(list) {
		m[s] = true
	}
	return m
}

func all(f func(word), list []word) {
	for _, w := range list {
		f(w)
	}
}

// operands notes the files that the operands of a program name.
func (a *analysis) operands(row *programs.Row, s *scanned, c *call) {
	ops := s.operands
	role := row.Operands
	if len(ops) == 0 && row.Default != "" {
		ops = []word{lit(row.Default)}
	}
	if role == "" || len(ops) == 0 {
		return
	}
	by := c.name
	read := func(w word) { c.reads = a.file(c.reads, w, by, c.sc) }
	write := func(w word) {
		if w.known && w.text == "-" && c.is(programs.DashIsFile) {
			w = lit("./-")
		}
		c.writes = a.file(c.writes, w, by, c.sc)
	}
	does := func(what byte) bool {
		return slices.ContainsFunc(s.hits, func(h hit) bool { return h.opt.Does == what })
	}
	switch role {
	case "r", "1r":
		if role == "1r" && !does('c') {
			ops = ops[1:]
		}
		all(read, ops)
		if does('m') {
			all(write, ops)
		}
	case "w":
		all(write, ops)
	case "wr":
		write(ops[0])
		all(read, ops[1:])
	case "1w":
		all(write, ops[1:])
	case "2w":
		read(ops[0])
		all(write, ops[1:])
	case "rw", "mv":
		sources := ops[:len(ops)-1]
		if does('t') {
			sources = ops // an option names the target
		}
		all(read, sources)
		if role == "mv" {
			all(write, sources)
		}
		if len(sources) < len(ops) {
			all(write, intoTarget(sources, ops[len(ops)-1]))
		}
	}
}

// intoTarget returns what a program that copies writes: the target, and in it, should it be a directory, files with the
// names of their sources.
func intoTarget(sources []word, target word) []word {
	list := []word{target}
	for _, w := range sources {
		if w.known && target.known && w.text != "" {
			list = append(list, lit(path.Join(target.text, path.Base(w.text))))
		}
	}
	return list
}
