package shellparse

import (
	"path"
	"strings"

	"callgate/shellparse/programs"
)

// launcher is the name of a program that runs one which its words name somewhere: behind options that differ between
// versions, behind a file or an address, as a text for a shell. Nothing of that is certain. It is "" for other programs.
func launcher(program string) string {
	base := path.Base(program)
	switch {
	case base == "ld.so", strings.HasPrefix(base, "ld-") && strings.Contains(base, ".so"), strings.HasPrefix(base, "ld64.so"):
		return "ld.so"
	case programs.Find(base).Has(programs.Launcher), strings.HasPrefix(base, "qemu-") && !strings.HasPrefix(base, "qemu-img") && !strings.HasPrefix(base, "qemu-system"):
		return base
	}
	return ""
}

// runLauncher records a launcher with each word that may be the program, and each that may be a text.
func (a *analysis) runLauncher(c *call) bool {
	if len(c.argv) < 2 || onlyAsks(c.argv[1:]) {
		return false
	}
	a.uncertain(c, 1)
	for _, w := range c.argv[1:] {
		text := w.text
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = value
		}
		if w.known && strings.ContainsAny(text, " \t\n;|&") {
			in := c.child(c.argv, c.name)
			a.fresh(func() { a.script1(in, text) })
		}
	}
	return true
}
