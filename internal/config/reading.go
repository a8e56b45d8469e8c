package config

import (
	"path/filepath"
	"time"

	"github.com/adrg/xdg"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/permissions"
	"callgate/permissions/store"
)

// reading tells which files must not be read, for code that reads files without a call: those that the worker's rules
// deny to read_file, and callgate's own.
type reading struct {
	store     *store.Store
	protected []string // files and folders that no tool may touch
}

// Reading uses these rules. If rules is nil, as for commands without a store, it opens the worker's file.
func (c *Config) Reading(rules *store.Store) *reading {
	if rules == nil {
		rules = store.Open(c.Files().Permissions(), store.Options{Home: xdg.Home})
	}
	return &reading{rules, c.OwnFiles()}
}

// Rules identifies the current version of the rules.
func (r *reading) Rules() string {
	version, err := r.store.Version()
	if err != nil {
		return "unreadable"
	}
	return version
}

// Denied returns a function that reports whether a file of the workspace root must not be read. It takes the file's
// absolute path without links. Rules may match that path, the path below root as given, or either relative path. While
// the rules cannot be read, everything is denied; if they cannot be read now, Denied fails.
func (r *reading) Denied(root string) (func(path string) bool, error) {
	if _, err := r.store.Policy(); err != nil {
		return nil, err
	}
	given, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	real := given
	if path, err := filepath.EvalSymlinks(given); err == nil {
		real = path
	}
	own, err := gate.NewProtected(r.protected, xdg.Home, nil)
	if err != nil {
		return nil, err
	}
	place := tools.Place{Dir: real, Roots: []string{real}, Home: xdg.Home}
	asGiven := tools.Place{Dir: given, Roots: []string{given}, Home: xdg.Home}
	return func(path string) bool {
		policy, err := r.store.Policy()
		if err != nil || own.Holds(path) {
			return true
		}
		denies := func(path string, place tools.Place) bool {
			subject := tools.ReadSubject(path, place)
			return permissions.Evaluate(policy, permissions.Context{Now: time.Now(), Workspace: place.Dir}, &subject).Action == permissions.Deny
		}
		if denies(path, place) {
			return true
		}
		rel, err := filepath.Rel(real, path)
		return err != nil || given != real && denies(filepath.Join(given, rel), asGiven)
	}, nil
}

// Hidden returns a function that reports whether the rules keep a file of a checkpoint from being read. The present
// rules of the worker that took the checkpoint apply. While they cannot be read, nothing is shown. rules are those of
// c's worker, as for Reading.
func Hidden(c *Config, rules *store.Store, one *checkpoint.Checkpoint) func(path string) bool {
	of := *c
	if one.Worker != c.Worker && plainName.MatchString(one.Worker) {
		of.Worker, rules = one.Worker, nil
	}
	denied, err := of.Reading(rules).Denied(one.Workspace)
	if err != nil {
		return func(string) bool { return true }
	}
	return denied
}
