package config

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/adrg/xdg"

	"callgate/gate"
	"callgate/internal/checkpoint"
)

// checkpointsConfig says how files are kept before a call changes them.
type checkpointsConfig struct {
	Storage       string // disk, memory or off
	OnFailure     string // continue, ask or deny
	Workspaces    bool   // keep git workspaces before commands with unknown effects
	Tool          bool   // offer callgate_rollback_checkpoint to models
	ClearVerified bool
	MaxSize       int // MiB
	MaxFileSize   int // MiB
	MaxAge        time.Duration
}

// checkpointSettings are the settings of subcommands that take or restore checkpoints.
var checkpointSettings = []setting{
	{"checkpoints.storage", "checkpoints", "where to snapshot files before a call changes them: disk, memory (until callgate ends) or off", "disk"},
	{"checkpoints.onFailure", "checkpoints-on-failure", "if files cannot be kept: continue, ask a person, or deny the call", "continue"},
	{"checkpoints.workspaces", "checkpoints-workspaces", "snapshot the whole git workspace before a command that may write any file", true},
	{"checkpoints.tool", "checkpoints-tool", "offer models the tool callgate_rollback_checkpoint, to undo their own calls", false},
	{"checkpoints.clearVerified", "checkpoints-clear-verified", "delete checkpoints once a verification succeeded", false},
	{"checkpoints.maxSize", "checkpoints-max-size", "`MiB` for all checkpoints; the oldest go first", 512},
	{"checkpoints.maxFileSize", "checkpoints-max-file-size", "largest file to keep, in `MiB`", 16},
	{"checkpoints.maxAge", "checkpoints-max-age", "how long checkpoints are kept", 7 * 24 * time.Hour},
}

const (
	CheckpointsOff      = "off"
	CheckpointsInMemory = "memory"
)

func (k *checkpointsConfig) check() error {
	switch k.Storage {
	case "disk", CheckpointsInMemory, CheckpointsOff:
	case "false": // how YAML reads a bare off
		k.Storage = CheckpointsOff
	default:
		return fmt.Errorf("storage %q: use disk, memory or off", k.Storage)
	}
	switch k.OnFailure {
	case "continue", "ask", "deny":
	default:
		return fmt.Errorf("onFailure %q: use continue, ask or deny", k.OnFailure)
	}
	if k.MaxSize < 1 || k.MaxFileSize < 1 {
		return fmt.Errorf("maxSize %d, maxFileSize %d: use positive numbers of MiB", k.MaxSize, k.MaxFileSize)
	}
	if k.MaxAge <= 0 {
		return fmt.Errorf("maxAge %s: use a positive duration such as 168h", k.MaxAge)
	}
	return nil
}

// OpenCheckpoints opens the store. It returns nil if checkpoints are off.
func (c *Config) OpenCheckpoints(log *slog.Logger) (*checkpoint.Store, error) {
	k := &c.Checkpoints
	if k.Storage == CheckpointsOff {
		return nil, nil
	}
	own, err := gate.NewProtected(c.OwnFiles(), xdg.Home, nil)
	if err != nil {
		return nil, err
	}
	o := checkpoint.Options{
		Dir: c.Files().checkpoints(), MaxBytes: int64(k.MaxSize) << 20, MaxFile: int64(k.MaxFileSize) << 20, MaxAge: k.MaxAge,
		Home: xdg.Home, Protected: own.Holds, Logger: log,
	}
	if k.Storage == CheckpointsInMemory {
		o.Dir = ""
	}
	return checkpoint.Open(o)
}
