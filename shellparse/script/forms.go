package script

import (
	"path"
	"slices"
	"strings"
)

// Forms returns every text that a deny rule has to look at: the command as it is, as it was written, with its options
// before the subcommand, after each of its wrappers, with the bare name of its program, and with plain paths.
func (c *Command) Forms() []string {
	text := c.Text()
	forms := []string{text}
	add := func(s string) {
		if s != "" && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	add(c.Raw)
	if len(c.Globals) > 0 && len(c.Argv) > 0 {
		full := Command{Argv: slices.Concat(c.Argv[:1], c.Globals, c.Argv[1:])}
		add(full.Text())
	}
	for i := len(c.Via) - 1; i >= 0; i-- {
		add(strings.Join(c.Via[i:], " ") + " " + text)
	}
	if len(c.Argv) > 0 {
		name := c.Argv[0].Value
		if base := path.Base(name); base != name && base != "." && base != "/" {
			add(base + text[len(name):])
		}
	}
	add(c.plainPaths())
	return forms
}

// plainPaths returns the text with its paths spelled plainly: cat ./a/../.env becomes cat .env. So does the absolute
// path if the directory is known. It returns "" if that changes nothing.
func (c *Command) plainPaths() string {
	var words []Word
	for i, w := range c.Argv {
		if i == 0 || !w.Known || strings.IndexByte(w.Value, '/') < 0 || strings.HasPrefix(w.Value, "-") || strings.Contains(w.Value, "://") {
			continue
		}
		p := path.Clean(w.Value)
		if below, ok := strings.CutPrefix(p, strings.TrimSuffix(c.Dir, "/")); ok && c.Dir != "" && strings.HasPrefix(below, "/") {
			p = below[1:]
		}
		if p != w.Value {
			if words == nil {
				words = slices.Clone(c.Argv)
			}
			words[i].Value = p
		}
	}
	if words == nil {
		return ""
	}
	plain := Command{Argv: words}
	return plain.Text()
}
