package shellparse

import (
	"path"
	"slices"
	"strings"
)

// Forms returns every text that a deny rule has to look at: the command as it is, as it was written, with its
// options before the subcommand, behind each of its wrappers, and by the name of its program wherever
// that lies.
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
	return forms
}
