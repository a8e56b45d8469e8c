package ignore

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// userRules reads the rules that the user's git applies everywhere: core.excludesFile, by default git/ignore in the
// configuration folder. It asks only the user's own git configuration, never the workspace's.
func userRules() (rules, bool) {
	path := excludesFile()
	if path == "" {
		return rules{}, false
	}
	r, ok := readRules(os.DirFS(filepath.Dir(path)), ".", filepath.Base(path))
	if ok && len(r.rules) == 0 {
		return rules{}, false
	}
	r.why = "ignored by " + path
	return r, ok
}

// gitPatience bounds how long git may take to print a setting.
const gitPatience = 2 * time.Second

// excludesFile returns the path of the user's ignore file, or "" if there is no place for one. It asks git, which
// follows includes in its configuration. Without git, the default path counts.
func excludesFile() string {
	ctx, stop := context.WithTimeout(context.Background(), gitPatience)
	defer stop()
	git := exec.CommandContext(ctx, "git", "config", "--global", "--includes", "--type=path", "--get", "core.excludesFile")
	git.Dir = os.TempDir()
	if out, err := git.Output(); err == nil {
		if path := strings.TrimRight(string(out), "\r\n"); filepath.IsAbs(path) {
			return path
		}
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, "git", "ignore")
}
