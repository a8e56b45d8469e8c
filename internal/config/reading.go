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

// reading is what the worker's rules say of reading files, for code that reads them without a call: what they deny
// read_file, and callgate's own files.
type reading struct {
	store     *store.Store
	protected []string // files and folders that no tool may touch
}

// Reading goes by rules, or by the worker's file for those who have no store, such as commands.
func (c *Config) Reading(rules *store.Store) *reading {
	if rules == nil {
		rules = store.Open(c.Files().Permissions(), store.Options{Home: xdg.Home})
	}
	return &reading{rules, c.OwnFiles()}
}

// Rules names the rules as they are now.
func (r *reading) Rules() string {
	version, err := r.store.Version()
	if err != nil {
		return "unreadable"
	}
	return version
}

// Denied returns whether a file of the workspace root, by its absolute path without links, must not be read.
// Rules speak of it by that path, by the one that root was given as, and relative to either. While the rules
// cannot be read, everything is denied; that they cannot be read now is an error.
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

// Hidden returns which files of a checkpoint the rules keep from being read: those of the worker that took it,
// as they are now. While they cannot be read, nothing is shown. rules are those of c's own worker, as in Reading.
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
