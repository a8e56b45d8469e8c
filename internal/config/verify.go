package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"callgate/permissions"
)

// verifyConfig says which checks run after calls changed files. It is the user's own configuration: a workspace cannot
// decide what runs.
type verifyConfig struct {
	Commands   [][]string // commands as lists of words, run one after another until one fails
	Workspaces []string   // folders; empty means every workspace
	Paths      []string   // globs over changed files; empty means every file
	Timeout    time.Duration
	Debounce   time.Duration
	MaxOutput  int    // KiB
	OnFailure  string // report or rollback

	Folders []string            `mapstructure:"-"` // Workspaces, with symbolic links resolved
	Globs   []*permissions.Glob `mapstructure:"-"` // Paths, compiled
}

// verifySettings are the settings of subcommands that relay calls.
var verifySettings = []setting{
	{"verify.timeout", "verify-timeout", "how long each command of a verification may run", 120 * time.Second},
	{"verify.debounce", "verify-debounce", "how long to wait for further calls that change the same workspace", 300 * time.Millisecond},
	{"verify.maxOutput", "verify-max-output", "last `KiB` of a failed command's output for the model", 8},
	{"verify.onFailure", "verify-on-failure", "report a failed verification, or rollback to also undo the call's changes", "report"},
}

const VerifyRollback = "rollback"

// check checks everything except the programs, which only commands that relay calls need.
func (v *verifyConfig) check(checkpoints *checkpointsConfig) (err error) {
	switch v.OnFailure {
	case "report":
	case VerifyRollback:
		if checkpoints.Storage == CheckpointsOff {
			return errors.New("onFailure rollback needs checkpoints: set checkpoints.storage to disk or memory")
		}
	default:
		return fmt.Errorf("onFailure %q: use report or rollback", v.OnFailure)
	}
	if v.Timeout <= 0 || v.Debounce <= 0 || v.MaxOutput < 1 {
		return fmt.Errorf("timeout %s, debounce %s, maxOutput %d: use positive values", v.Timeout, v.Debounce, v.MaxOutput)
	}
	v.Folders = make([]string, len(v.Workspaces)) // a new list, because tenants share the old one
	for i, dir := range v.Workspaces {
		path := ExpandHome(dir)
		if !filepath.IsAbs(path) {
			return fmt.Errorf("workspaces[%d]: %q: name an absolute path", i, dir)
		}
		if v.Folders[i], err = filepath.EvalSymlinks(path); err != nil {
			return fmt.Errorf("workspaces[%d]: %w", i, err)
		}
	}
	v.Globs, err = compileGlobs("paths", v.Paths)
	return err
}
