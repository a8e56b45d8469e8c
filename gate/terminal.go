package gate

import (
	"fmt"
	"slices"
	"strings"

	"callgate/gate/internal/floor"
	"callgate/gate/tools"
	"callgate/permissions"
)

// Terminal is the terminal allow-list, for agents that need a shell for little. It allows one plain command a call,
// without operators. Commands that only read pass without a question, commands that can write ask if Write permits
// them, and everything else is denied. Rules can still deny, but add no commands.
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

// denies returns why the allow-list does not permit the call, or "" if it does.
func (t *Terminal) denies(a *tools.Analysis) string {
	if t == nil {
		return ""
	}
	i := slices.IndexFunc(a.Subjects, func(s permissions.Subject) bool { return s.Kind == tools.KindShell && !s.DeniesOnly })
	if i < 0 {
		return ""
	}
	name, _, _ := strings.Cut(a.Subjects[i].Value, " ")
	reads := slices.Contains(terminalReads, name)
	switch {
	case !reads && !slices.Contains(terminalWrites, name):
		return fmt.Sprintf("The terminal allow-list does not include %q.", tools.Visible(name))
	case !t.Write && !(reads && onlyPrints(a, &a.Subjects[i])):
		return fmt.Sprintf("%q can write, and the terminal allow-list is for reading only (allowTerminalWrite).", tools.Visible(name))
	}
	plain := !a.Operators
	for n, c := range a.Commands {
		// A command that a listed program starts, as npx does, stands in the program's words.
		plain = plain && (n == 0 && len(c.Via) == 0 || n > 0 && !reads) && (t.Write || len(c.Writes) == 0)
	}
	if !plain {
		return "The terminal allow-list takes one plain command: no operators, substitutions, redirections or wrappers."
	}
	if len(a.Commands) == 0 || len(a.Marks) > 0 {
		return "The terminal allow-list takes only commands that can be read."
	}
	return ""
}

// onlyPrints reports whether a command of the list for reading does what it is listed for. Printing the environment is
// riskier than other reading.
func onlyPrints(a *tools.Analysis, s *permissions.Subject) bool {
	return s.Risk == permissions.ReadOnly || len(a.Commands) == 1 && floor.DumpsEnvironment(a.Commands[0])
}

// passes reports whether the subject needs no question because it only reads.
func (t *Terminal) passes(s *permissions.Subject) bool {
	if t == nil || s.Kind != tools.KindShell || len(s.Effects) > 0 || s.Risk != permissions.ReadOnly {
		return false
	}
	name, _, _ := strings.Cut(s.Value, " ")
	return slices.Contains(terminalReads, name)
}
