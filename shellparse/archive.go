package shellparse

import (
	"slices"
	"strings"

	"callgate/shellparse/programs"
)

// isMode reports whether a first word is one of these, or begins with the letter that is.
func isMode(word string, modes []string) bool {
	return word != "" && !strings.HasPrefix(word, "-") && slices.Contains(modes, word[:1]) || slices.Contains(modes, word)
}

// archiverModes returns the first words with which a program shows archives, and those with which it makes them.
func archiverModes(name string) (shows, makes string) {
	switch name {
	case "ar":
		return "t p", "r q d m s"
	case "jar":
		return "t", "c u i"
	case "cpio":
		return "t", "o"
	case "pax":
		return "", "w"
	}
	return "l t v p i h", "a u d rn"
}

// inspectArchiver reads the first word of a program for archives that callgate cannot list: it says whether the program shows
// an archive, writes one, or writes the files that one names.
func inspectArchiver(a *analysis, c *call, s *scanned) {
	mode, archive := "", 1
	if len(c.argv) > 1 && c.argv[1].known {
		mode = strings.TrimPrefix(c.argv[1].text, "-")
	}
	shows, makes := archiverModes(c.name)
	first := func(modes string) bool { return isMode(mode, strings.Fields(modes)) }
	copies := c.name == "cpio" || c.name == "pax"
	unpacks := !copies && strings.ContainsAny(mode, "xe") || strings.HasPrefix(mode, "-") ||
		copies && (len(c.argv) > 2 || strings.ContainsAny(mode, "ripx"))
	switch {
	case first(shows) && !unpacks:
	case first(makes) && !unpacks:
		if copies || c.name == "jar" && !strings.Contains(mode, "f") {
			return // to its standard output
		}
		if archive++; archive < len(c.argv) {
			a.writes(c, c.argv[archive])
		}
	case len(c.argv) > 1:
		c.effect("writes the files that an archive names")
	}
}

// bundles returns the options of one letter among the words of a command, and notes words that may be others.
func (c *call) bundles() (letters string) {
	for _, w := range c.argv[1:] {
		if w.known && strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") {
			letters += w.text
		}
		if !w.known && !w.safe() {
			c.effectAt("word "+w.text, w)
		}
	}
	return letters
}

// tarLetters reads letters that are options without a dash, and returns the operands behind their values.
func (a *analysis) tarLetters(letters string, ops []word, c *call, s *scanned) []word {
	for _, l := range letters {
		o := a.tables.row("tar").Options.Find("-" + string(l))
		if o == nil || o.Arg != programs.Needed {
			continue
		}
		if len(ops) == 0 {
			break
		}
		h := hit{opt: o, name: "-" + string(l), value: ops[0], has: true}
		a.apply(h, c)
		s.hits = append(s.hits, h)
		ops = ops[1:]
	}
	return ops
}

// inspectTar reads tar's first word, whose letters can be options without a dash, and what it packs or writes.
func inspectTar(a *analysis, c *call, s *scanned) {
	ops := s.operands
	letters := ""
	if len(c.argv) > 1 && c.argv[1].known && !strings.HasPrefix(c.argv[1].text, "-") && len(ops) > 0 {
		letters = c.argv[1].text
		ops = a.tarLetters(letters, ops[1:], c, s)
	}
	letters += c.bundles()
	has := func(long, short string) bool {
		if strings.Contains(letters, short) {
			return true
		}
		return slices.ContainsFunc(c.argv[1:], func(w word) bool { return w.known && strings.HasPrefix(long, w.text) && len(w.text) > 4 })
	}
	archive, named := s.find("-f", "--file")
	if named && archive.known && strings.Contains(archive.text, ":") && !strings.HasPrefix(archive.text, "/") {
		c.effectAt("archive "+archive.text, archive)
	}
	// The archive was noted as read; a creating tar writes it.
	switch {
	case has("--create", "c"), has("--append", "r"), has("--update", "u"), has("--catenate", "A"), has("--delete", "\x00"):
		if named {
			c.writes = a.file(c.writes, archive, "tar", c.sc)
		}
		for _, w := range ops {
			c.reads = a.file(c.reads, w, "tar", c.sc)
		}
	case (has("--extract", "x") || has("--get", "x")) && !has("--to-stdout", "O"):
		if !named {
			archive = word{}
		}
		a.listing(c, Listing{Format: "tar", Strip: s.number(0, "--strip-components")}, archive)
	}
}

// inspectUnzip notes where an archive is unpacked.
func inspectUnzip(a *analysis, c *call, s *scanned) {
	for _, w := range c.argv[1:] {
		if letters := beforeAny(w.text, "Pdx"); w.known && strings.HasPrefix(w.text, "-") && strings.ContainsAny(letters, "lptZvz") {
			return
		}
		if w.known && strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, ":^M") {
			c.effectAt("option "+w.text, w)
		}
	}
	if len(s.operands) == 0 {
		return
	}
	l := Listing{Format: "zip"}
	if v, ok := s.find("-d"); ok {
		c.writes = slices.DeleteFunc(c.writes, func(f File) bool { return f.Path.Value != "" && f.By == c.name })
		l.Dirs = []string{}
		if v.known && !c.sc.lost {
			l.Dirs = joinDirs(c.sc.dirs, v.text)
		}
	}
	if slices.ContainsFunc(c.argv[1:], func(w word) bool {
		return w.known && strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.Contains(w.text, "j")
	}) {
		l.Strip = -1
	}
	a.listing(c, l, s.operands[0])
}

// inspectDd reads the name=value operands of dd.
func inspectDd(a *analysis, c *call, _ *scanned) {
	for _, w := range c.argv[1:] {
		name, val, ok := strings.Cut(w.text, "=")
		switch {
		case !w.known && w.head == "":
			c.effectAt("word "+w.text, w)
		case ok && name == "of":
			c.writes = a.file(c.writes, word{text: val, known: w.known}, "dd", c.sc)
		case ok && name == "if":
			c.reads = a.file(c.reads, word{text: val, known: w.known}, "dd", c.sc)
		}
	}
}

// beforeAny returns what of text stands before the first of the characters.
func beforeAny(text, characters string) string {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i]
	}
	return text
}
