package rag

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// rules returns the name of the current rules behind Denied, "" if they never change.
func (x *Index) rules() string {
	if x.options.Rules == nil {
		return ""
	}
	return x.options.Rules()
}

// patienceOfSearch is how long a search waits for a writer before it goes on without purging.
const patienceOfSearch = 50 * time.Millisecond

// rulesCurrent reports whether the index's files were checked against the current rules.
func (x *Index) rulesCurrent() bool {
	if x.options.Rules == nil {
		return true
	}
	snap, err := x.acquire()
	if err != nil {
		return true // a caller that needs the index gets the error
	}
	held := snap.manifest.Rules
	return snap.release() == nil && held == x.rules()
}

// purgeDenied purges the index if the rules have changed since its files were checked. While another goroutine or
// process writes, it leaves that to the writer or to the next search. Answers leave out denied files in any case.
func (x *Index) purgeDenied(ctx context.Context) {
	if x.rulesCurrent() {
		return
	}
	ctx, stop := context.WithTimeout(ctx, patienceOfSearch)
	defer stop()
	if _, err := x.Purge(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		x.options.Logger.Warn("cannot remove files that the rules now deny from the index; answers leave them out", "error", err)
	}
}

// Purge removes the files that are denied now and returns how many there were. ctx bounds how long it waits for another
// writer.
func (x *Index) Purge(ctx context.Context) (int, error) {
	n := 0
	err := x.change(ctx, func(w *writer) error {
		rules := x.rules()
		for k := range w.where {
			if k.document || x.options.Denied == nil || !x.options.Denied(filepath.Join(w.manifest.Root, filepath.FromSlash(k.path))) {
				continue
			}
			if w.remove(k) {
				n++
			}
		}
		if w.manifest.Rules != rules {
			w.manifest.Rules, w.dirty = rules, true
		}
		return nil
	})
	return n, err
}
