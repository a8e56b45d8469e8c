package app

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"callgate/audit"
	"callgate/internal/verify"
	"callgate/permissions"
	"callgate/proxy"
)

// verifyConfig says which checks run after calls changed files. It is the user's own configuration: a workspace
// has no say in what runs.
type verifyConfig struct {
	Commands   [][]string // lists of words, run one after another until one fails
	Workspaces []string   // folders; none means every workspace
	Paths      []string   // globs over changed files; none means every file
	Timeout    time.Duration
	Debounce   time.Duration
	MaxOutput  int    // KiB
	OnFailure  string // report or rollback

	workspaces []string
	paths      []*permissions.Glob
}

// verifySettings are those of subcommands that relay calls.
var verifySettings = []setting{
	{"verify.timeout", "verify-timeout", "how long each command of a verification may run", 120 * time.Second},
	{"verify.debounce", "verify-debounce", "how long to wait for further calls that change the same workspace", 300 * time.Millisecond},
	{"verify.maxOutput", "verify-max-output", "last `KiB` of a failed command's output for the model", 8},
	{"verify.onFailure", "verify-on-failure", "report a failed verification, or rollback to also undo the call's changes", "report"},
}

const VerifyRollback = "rollback"

// check checks everything but the programs, which only those need that relay calls.
func (v *verifyConfig) check(checkpoints *checkpointsConfig) error {
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
	for i, dir := range v.Workspaces {
		path := ExpandHome(dir)
		if !filepath.IsAbs(path) {
			return fmt.Errorf("workspaces[%d]: %q: name an absolute path", i, dir)
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("workspaces[%d]: %w", i, err)
		}
		v.workspaces = append(v.workspaces, real)
	}
	for i, text := range v.Paths {
		glob, err := permissions.CompileGlob(text)
		if err != nil {
			return fmt.Errorf("paths[%d]: %w", i, err)
		}
		v.paths = append(v.paths, glob)
	}
	return nil
}

// openVerification returns what runs the checks, nil when there are none.
func (s *Sidecar) openVerification() (*proxy.Verification, error) {
	v := &s.Config.Verify
	if len(v.Commands) == 0 {
		return nil, nil
	}
	o := verify.Options{Commands: v.Commands, Timeout: v.Timeout, Debounce: v.Debounce, Output: v.MaxOutput << 10, Wall: s.Config.CommonWall(), Logger: s.Log}
	if s.Keeps != nil {
		o.Around = s.Keeps.AroundVerification(v.OnFailure == VerifyRollback, s.Config.Checkpoints.ClearVerified, func(summary string) error {
			return s.Gate.Note("", audit.Author{By: "callgate"}, summary)
		})
	}
	runner, err := verify.New(o)
	if err != nil {
		return nil, fmt.Errorf("configuration: verify: %w", err)
	}
	s.Closers = append(s.Closers, runner.Close)
	return &proxy.Verification{Runner: runner, Workspaces: v.workspaces, Paths: v.paths}, nil
}
