package ignore

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// userRules reads what the user has git ignore everywhere: core.excludesFile, by default git/ignore in the
// configuration folder. Only the user's own configuration of git is asked, never the workspace's.
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

// gitPatience bounds how long git may take to say what is in its configuration.
const gitPatience = 2 * time.Second

// excludesFile returns the path of the user's ignore file, "" when there is no place for one. Git itself
// reads its configuration, with all that it includes; where there is no git, the default counts.
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
