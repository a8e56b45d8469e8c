package config

import (
	"fmt"

	"callgate/gate/tools"
	"callgate/shellparse"
)

// shellConfig says how shell text is parsed, and adds programs to the built-in tables.
type shellConfig struct {
	Dialect  string // bash, posix or zsh
	Programs []shellparse.Program
	Wrappers []shellparse.Wrapper
	Env      []shellparse.Env
}

// assemble checks the rows, and returns the setup for parsing shell text.
func (s shellConfig) assemble() (*tools.ShellSetup, error) {
	dialects := map[string]shellparse.Dialect{"": shellparse.Bash, "bash": shellparse.Bash, "posix": shellparse.POSIX, "zsh": shellparse.Zsh}
	dialect, ok := dialects[s.Dialect]
	if !ok {
		return nil, fmt.Errorf("dialect %q: use bash, posix or zsh", s.Dialect)
	}
	setup := &tools.ShellSetup{Dialect: dialect}
	if len(s.Programs)+len(s.Wrappers)+len(s.Env) > 0 {
		tables, err := shellparse.NewTables(s.Programs, s.Wrappers, s.Env)
		if err != nil {
			return nil, err
		}
		setup.Tables = tables
	}
	return setup, nil
}
