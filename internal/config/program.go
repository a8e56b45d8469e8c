package config

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
)

// Program begins the commands that a person is told to run: "callgate", with --data-dir where a command without it would
// use another data directory.
func Program(dataDir string) string {
	usual := cmp.Or(os.Getenv(Variable("data-dir")), filepath.Join(xdg.DataHome, "callgate"))
	if usual, err := filepath.Abs(ExpandHome(usual)); dataDir == "" || err == nil && usual == dataDir {
		return "callgate"
	}
	if strings.ContainsAny(dataDir, " \t'\"$`&;()<>|*?[]{}!#~") {
		dataDir = `"` + strings.NewReplacer(`"`, `\"`, "$", `\$`, "`", "\\`").Replace(dataDir) + `"`
	}
	return "callgate --data-dir " + dataDir
}

// Program is the function of that name for the data directory of this configuration.
func (c *Config) Program() string { return Program(cmp.Or(c.base, c.DataDir)) }
