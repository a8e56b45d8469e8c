package shellparse

import (
	"strings"

	"callgate/shellparse/programs"
)

// Describes reports whether the built-in tables say what the options of a command do. The words are a program,
// or one with its subcommand: "git log". Who keeps a list of commands can hold it against the tables with that.
func Describes(words string) bool {
	names := strings.Fields(words)
	names[0] = programs.Canonical(names[0])
	c := programs.Find(names...)
	if c.Row != nil {
		return len(c.Row.Subcommands) == 0
	}
	return c.Handler != "" || c.Inspector != ""
}
