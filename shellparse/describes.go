package shellparse

import (
	"strings"

	"callgate/shellparse/programs"
)

// Describes reports whether the built-in tables know the options of a command. The words are a program, or one with its
// subcommand: "git log".
func Describes(words string) bool {
	names := strings.Fields(words)
	names[0] = programs.Canonical(names[0])
	c := programs.Find(names...)
	if c.Row != nil {
		return len(c.Row.Subcommands) == 0
	}
	return c.Handler != "" || c.Inspector != ""
}
