package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
)

// locationFlags are the flags that choose where callgate keeps its data, what configures it and whose rules apply.
var locationFlags = []string{"data-dir", "config", "worker"}

// DefaultDataDir is the data directory of who names none.
func DefaultDataDir() string { return filepath.Join(xdg.DataHome, "callgate") }

// DefaultFile is the configuration file of who names none. It need not exist.
func DefaultFile() string { return filepath.Join(xdg.ConfigHome, "callgate", "callgate.yaml") }

// Location returns the options with which another process finds the same data directory, configuration and worker:
// those that flags or variables choose instead of the defaults, with absolute paths.
func (s *Settings) Location() (options []string, err error) {
	defaults := map[string]string{"data-dir": DefaultDataDir(), "config": DefaultFile(), "worker": DefaultWorker}
	for _, name := range locationFlags {
		value := os.Getenv(Variable(name))
		if flag := s.Common.Lookup(name); flag.Changed {
			value = flag.Value.String()
		}
		if value == "" {
			continue
		}
		if name != "worker" {
			if value, err = filepath.Abs(ExpandHome(value)); err != nil {
				return nil, invalid("--"+name, err)
			}
		}
		if value != defaults[name] {
			options = append(options, "--"+name+"="+value)
		}
	}
	return options, nil
}

// Chosen returns what a command needs at its end to be about the same data directory, configuration and worker as this
// command line: its own flags, each after a space.
func (s *Settings) Chosen() string {
	var b strings.Builder
	for _, name := range locationFlags {
		if flag := s.Common.Lookup(name); flag.Changed {
			value := flag.Value.String()
			if strings.ContainsAny(value, " \t'\"\\$&;()<>|*?") {
				value = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
			}
			b.WriteString(" --" + name + " " + value)
		}
	}
	return b.String()
}
