package inspect

import (
	"strings"

	"callgate/shellparse/internal/walk"
)

// runLauncher records a launcher, with each word that may be the program and each word that may be a shell text.
func runLauncher(a *walk.Walker, c *walk.Call) bool {
	if len(c.Argv) < 2 || onlyAsks(c.Argv[1:]) {
		return false
	}
	a.Uncertain(c, 1)
	for _, w := range c.Argv[1:] {
		text := w.Text
		if _, value, ok := strings.Cut(text, "="); ok && strings.HasPrefix(text, "-") {
			text = value
		}
		if w.Known && strings.ContainsAny(text, " \t\n;|&") {
			in := c.Child(c.Argv, c.Name)
			a.Words.Fresh(func() { a.RunText(in, text) })
		}
	}
	return true
}
