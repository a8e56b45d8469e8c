package config

import (
	"cmp"
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

// ServersFolder is where connect keeps the servers that it took from hosts.
func ServersFolder() string { return filepath.Join(xdg.ConfigHome, "callgate", "servers") }

// ConnectedFiles are the files with the servers of connected hosts, for --mcp-config.
func ConnectedFiles() []string {
	files, _ := filepath.Glob(filepath.Join(ServersFolder(), "*.mcp.json")) // the pattern is well formed
	return files
}

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
			b.WriteString(" --" + name + " " + Quote(flag.Value.String()))
		}
	}
	return b.String()
}

// Program begins the commands that a person is told to run: "callgate", with --data-dir where a command without it would
// use another data directory.
func Program(dataDir string) string {
	usual := cmp.Or(os.Getenv(Variable("data-dir")), DefaultDataDir())
	if usual, err := filepath.Abs(ExpandHome(usual)); dataDir == "" || err == nil && usual == dataDir {
		return "callgate"
	}
	return "callgate --data-dir " + Quote(dataDir)
}

// Program is the function of that name for the data directory of this configuration.
func (c *Config) Program() string { return Program(cmp.Or(c.base, c.DataDir)) }

// Quote writes a word as a shell reads it.
func Quote(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\n'\"\\$&;()<>|*?[]{}`#!") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
