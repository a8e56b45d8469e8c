package gate

import (
	"fmt"
	"slices"
	"strings"

	"callgate/internal/tools"
	"callgate/permissions"
)

// Terminal is the terminal allow-list: an option for agents that need a shell for little. One plain command a
// call, no operators; commands that only read pass without a question, those that can write are asked about
// where Write permits them at all, and everything else is denied. Rules still deny; they cannot add commands.
type Terminal struct {
	Write bool // build tools, package managers and interpreters may be asked about
}

var (
	terminalReads = []string{
		"ls", "dir", "cat", "head", "tail", "wc", "find", "grep", "which", "where", "whoami", "echo", "pwd", "env", "printenv",
		"date", "hostname", "uname", "file", "stat", "du", "df", "tree",
	}
	terminalWrites = []string{
		"npm", "npx", "yarn", "pnpm", "pip", "pip3", "python", "python3", "node", "cargo", "go", "dotnet", "make", "cmake", "mvn", "gradle",
	}
)

// denies says why the call is not for this terminal, "" when it is.
func (t *Terminal) denies(a *tools.Analysis) string {
	if t == nil {
		return ""
	}
	shell := 0
	for i := range a.Subjects {
		s := &a.Subjects[i]
		if s.Kind != tools.KindShell || s.DeniesOnly {
			continue
		}
		name, _, _ := strings.Cut(s.Value, " ")
		switch shell++; {
		case slices.Contains(terminalReads, name):
		case !slices.Contains(terminalWrites, name):
			return fmt.Sprintf("The terminal allow-list does not hold %q.", tools.Visible(name))
		case !t.Write:
			return fmt.Sprintf("%q can write, and the terminal allow-list is for reading only (allowTerminalWrite).", tools.Visible(name))
		}
	}
	if shell == 0 {
		return ""
	}
	for _, c := range a.Commands {
		if len(a.Commands) > 1 || len(c.Via) > 0 || len(c.Writes) > 0 && !t.Write {
			return "The terminal allow-list takes one plain command: no operators, substitutions, redirections or wrappers."
		}
	}
	if len(a.Commands) == 0 || len(a.Marks) > 0 {
		return "The terminal allow-list takes only commands that can be read."
	}
	return ""
}

// passes reports whether the subject needs no question because it only reads.
func (t *Terminal) passes(s *permissions.Subject) bool {
	if t == nil || s.Kind != tools.KindShell || len(s.Effects) > 0 || s.Risk != permissions.ReadOnly {
		return false
	}
	name, _, _ := strings.Cut(s.Value, " ")
	return slices.Contains(terminalReads, name)
}
