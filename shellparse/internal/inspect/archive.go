package inspect

import (
	"slices"
	"strings"

	"callgate/shellparse/internal/walk"
	"callgate/shellparse/internal/word"
	"callgate/shellparse/programs"
	"callgate/shellparse/script"
)

// isMode reports whether a first word is one of the modes, or begins with a mode's letter.
func isMode(word string, modes []string) bool {
	return word != "" && !strings.HasPrefix(word, "-") && slices.Contains(modes, word[:1]) || slices.Contains(modes, word)
}

// inspectArchiver handles programs for archives that callgate cannot list. The first word says whether the program
// shows an archive, writes one, or writes the files that an archive names.
func inspectArchiver(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	mode := ""
	if len(c.Argv) > 1 && c.Argv[1].Known {
		mode = strings.TrimPrefix(c.Argv[1].Text, "-")
	}
	about := programs.Find(c.Name).Archive
	copies := about.Copies
	unpacks := !copies && strings.ContainsAny(mode, "xe") || strings.HasPrefix(mode, "-") ||
		copies && (len(c.Argv) > 2 || strings.ContainsAny(mode, "ripx"))
	switch {
	case isMode(mode, about.Shows) && !unpacks:
	case isMode(mode, about.Makes) && !unpacks:
		if copies || !strings.Contains(mode, about.File) {
			return // to its standard output
		}
		packs := false
		for _, w := range c.Argv[2:] {
			switch {
			case w.Known && strings.HasPrefix(w.Text, "-"):
			case packs:
				a.Reads(c, w)
			default:
				a.Writes(c, w)
				packs = true
			}
		}
	case len(c.Argv) > 1:
		c.Effect("writes the files that an archive names")
	}
}

// bundles returns the short options in a command's words, and records words that may be options.
func bundles(c *walk.Call) (letters string) {
	for _, w := range c.Argv[1:] {
		if w.Known && strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") {
			letters += w.Text
		}
		if !w.Known && !w.Safe() {
			c.EffectAt("word "+w.Text, w)
		}
	}
	return letters
}

// tarLetters reads letters that are options without a dash, and returns the operands after their values.
func tarLetters(a *walk.Walker, letters string, ops []word.Word, c *walk.Call, s *word.Scanned) []word.Word {
	for _, l := range letters {
		o := a.Words.Tables.Row("tar").Options.Find("-" + string(l))
		if o == nil || o.Arg != programs.Needed {
			continue
		}
		if len(ops) == 0 {
			break
		}
		h := word.Hit{Opt: o, Name: "-" + string(l), Value: ops[0], Has: true}
		apply(a, h, c)
		s.Hits = append(s.Hits, h)
		ops = ops[1:]
	}
	return ops
}

// inspectTar reads tar's first word, whose letters can be options without a dash, and records what tar packs or writes.
func inspectTar(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	ops := s.Operands
	letters := ""
	if len(c.Argv) > 1 && c.Argv[1].Known && !strings.HasPrefix(c.Argv[1].Text, "-") && len(ops) > 0 {
		letters = c.Argv[1].Text
		ops = tarLetters(a, letters, ops[1:], c, s)
	}
	letters += bundles(c)
	has := func(long, short string) bool {
		if strings.Contains(letters, short) {
			return true
		}
		return slices.ContainsFunc(c.Argv[1:], func(w word.Word) bool { return w.Known && strings.HasPrefix(long, w.Text) && len(w.Text) > 4 })
	}
	archive, named := s.Find("-f", "--file")
	if named && archive.Known && strings.Contains(archive.Text, ":") && !strings.HasPrefix(archive.Text, "/") {
		c.EffectAt("archive "+archive.Text, archive)
	}
	// The archive is already recorded as read. When tar creates it, tar writes it.
	switch {
	case has("--create", "c"), has("--append", "r"), has("--update", "u"), has("--catenate", "A"), has("--delete", "\x00"):
		if named {
			c.Writes = a.Words.File(c.Writes, archive, "tar", c.Sc)
		}
		for _, w := range ops {
			c.Reads = a.Words.File(c.Reads, w, "tar", c.Sc)
		}
	case (has("--extract", "x") || has("--get", "x")) && !has("--to-stdout", "O"):
		if !named {
			archive = word.Word{}
		}
		listing(a, c, script.Listing{Format: "tar", Strip: s.Number(0, "--strip-components")}, archive)
	}
}

// inspectUnzip records where an archive is unpacked.
func inspectUnzip(a *walk.Walker, c *walk.Call, s *word.Scanned) {
	for _, w := range c.Argv[1:] {
		if letters := beforeAny(w.Text, "Pdx"); w.Known && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(letters, "lptZvz") {
			return
		}
		if w.Known && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, ":^M") {
			c.EffectAt("option "+w.Text, w)
		}
	}
	if len(s.Operands) == 0 {
		return
	}
	l := script.Listing{Format: "zip"}
	if v, ok := s.Find("-d"); ok {
		c.Writes = slices.DeleteFunc(c.Writes, func(f script.File) bool { return f.Path.Value != "" && f.By == c.Name })
		l.Dirs = []string{}
		if v.Known && !c.Sc.Lost {
			l.Dirs = word.JoinDirs(c.Sc.Dirs, v.Text)
		}
	}
	if slices.ContainsFunc(c.Argv[1:], func(w word.Word) bool {
		return w.Known && strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && strings.Contains(w.Text, "j")
	}) {
		l.Strip = -1
	}
	listing(a, c, l, s.Operands[0])
}

// inspectDd reads the name=value operands of dd.
func inspectDd(a *walk.Walker, c *walk.Call, _ *word.Scanned) {
	for _, w := range c.Argv[1:] {
		name, val, ok := strings.Cut(w.Text, "=")
		switch {
		case !w.Known && w.Head == "":
			c.EffectAt("word "+w.Text, w)
		case ok && name == "of":
			c.Writes = a.Words.File(c.Writes, word.Word{Text: val, Known: w.Known}, "dd", c.Sc)
		case ok && name == "if":
			c.Reads = a.Words.File(c.Reads, word.Word{Text: val, Known: w.Known}, "dd", c.Sc)
		}
	}
}

// beforeAny returns the part of text before the first of the characters.
func beforeAny(text, characters string) string {
	if i := strings.IndexAny(text, characters); i >= 0 {
		return text[:i]
	}
	return text
}
