package tools

import (
	"path/filepath"
	"slices"
	"strings"

	"callgate/permissions"
	"callgate/shellparse"
	"callgate/shellparse/programs"
)

// plainly returns the command as an allow looks at it, with its paths spelled plainly: src/../../x is ../x, so that a
// rule for src/* does not cover it. Where a link makes it lead elsewhere, the real path stands for it.
func (b *builder) plainly(c *shellparse.Command) *shellparse.Command {
	plain := c
	labels := len(c.Argv) > 0 && known(c.Argv[0].Value).Has(programs.TakesLabels)
	for i, w := range c.Argv {
		value := w.Value
		if labels && strings.HasPrefix(value, "//") {
			continue
		}
		if w.Known && strings.Contains(value, "/") {
			value = spelledPlainly(value)
		}
		if value == w.Value {
			continue
		}
		if real, ok := b.behindLinks(c, w.Value); ok {
			value = real
		}
		if plain == c {
			plain = new(*c)
			plain.Argv = slices.Clone(c.Argv)
		}
		plain.Argv[i].Value = value
	}
	return plain
}

// behindLinks returns where a path that goes up leads, if the folder it goes up from is a link.
func (b *builder) behindLinks(c *shellparse.Command, value string) (string, bool) {
	if b.tool.remote || b.place.Dir == "" || !strings.Contains(value, "..") {
		return "", false
	}
	raw := b.place.at(c.Dir).absoluteRaw(b.place.expand(value))
	real, err := filepath.EvalSymlinks(raw)
	if err != nil { // the folder may be there where the file is not
		folder, rest := raw, ""
		for err != nil && strings.Contains(folder, "..") {
			i := strings.LastIndexByte(folder, filepath.Separator)
			if i < 0 {
				return "", false
			}
			folder, rest = folder[:i], folder[i:]+rest
			real, err = filepath.EvalSymlinks(folder)
		}
		if err != nil {
			return "", false
		}
		real += rest
	}
	lexical, _, err := realPath(filepath.Clean(raw))
	if err != nil || lexical == filepath.Clean(real) {
		return "", false
	}
	return portable(filepath.Clean(real)), true
}

// spelledPlainly returns a word with the path in it spelled plainly: without "//", "/./" and "x/..". What stands before the
// path, an option or an address, stays.
func spelledPlainly(word string) string {
	if !strings.Contains(word, "//") && !strings.Contains(word, "/.") {
		return word
	}
	segments := strings.Split(word, "/")
	fixed := fixedSegments(segments)
	rooted := fixed > 0 && segments[0] != "." && segments[0] != "~"
	out := slices.Clone(segments[:fixed])
	head := "" // what stood before a first segment that ".." took away
	for i, s := range segments[fixed:] {
		last := fixed+i == len(segments)-1
		switch {
		case s == "" && last && len(out) > 0:
			out = append(out, "")
		case s == "" && len(out) > 0 || s == "." && fixed+i > 0:
		case s == ".." && rooted && len(out) == fixed: // nothing is above the root
		case s == ".." && len(out) > fixed && out[len(out)-1] != "..":
			head += prefixOf(out)
			out = out[:len(out)-1]
		default:
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		out = append(out, ".")
	}
	return head + strings.Join(out, "/")
}

// fixedSegments is how many segments of a word no ".." takes away.
func fixedSegments(segments []string) int {
	first := segments[0]
	switch {
	case len(segments) > 2 && strings.HasSuffix(first, ":") && segments[1] == "":
		return 3 // scheme://host
	case first == "" || first == "." || first == "~" || strings.HasPrefix(first, "$"):
		return 1
	}
	return 0
}

// prefixOf is what stands before the path in the last segment: "--file=" of "--file=a".
func prefixOf(segments []string) string {
	s := segments[len(segments)-1]
	if k := strings.LastIndexAny(s, "=:@"); k >= 0 {
		return s[:k+1]
	}
	if len(segments) == 1 && strings.HasPrefix(s, "-") && len(s) > 2 {
		return s[:2]
	}
	return ""
}

// wordOf returns how many leading bytes of the command's text there are up to the word that names one of the paths, 0
// when none does.
func (b *builder) wordOf(c *shellparse.Command, paths []string) int {
	for i := len(c.Argv) - 1; i >= 0; i-- {
		value := c.Argv[i].Value
		if k := strings.IndexByte(value, '='); k >= 0 {
			value = value[k+1:]
		}
		for _, dir := range append(slices.Clip(c.Dirs), c.Dir) {
			if value != "" && slices.Contains(paths, b.place.at(dir).absolute(b.place.expand(value))) {
				return spanOf(c, i+1)
			}
		}
	}
	return 0
}

// leads are the scripts that a command runs and that links take out of the workspace: a rule has to name them.
func (b *builder) leads(c *shellparse.Command) (effects []permissions.Effect) {
	for _, path := range b.runs(c) {
		real, _, err := realPath(path)
		if err != nil || real == path {
			continue
		}
		if _, _, in := b.place.inWorkspace(path); !in {
			continue
		}
		if _, _, in := b.place.inWorkspace(real); !in {
			effects = append(effects, permissions.Effect{Text: "leads to " + Visible(real), Named: b.wordOf(c, []string{path})})
		}
	}
	return effects
}

// outside makes the subject of a file that a command reads outside of the workspace count when the rules ask about it.
func (b *builder) outside(s *permissions.Subject, l *location) {
	if b.reading == nil || b.tool.remote || s.Kind != KindReadFile || strings.HasPrefix(l.real(), "/dev/") {
		return
	}
	if _, _, in := b.place.inWorkspace(l.real()); !in {
		if b.reader == nil {
			b.reader = new(b.out.Subjects[b.readsAs])
		}
		s.By, s.ByNamed = b.reader, b.wordOf(b.reading, l.paths)
	}
}
