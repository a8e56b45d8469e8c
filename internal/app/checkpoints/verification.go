package checkpoints

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/internal/verify"
)

// rollbackPatience bounds how long putting files back after a verification may take.
const rollbackPatience = time.Minute

// AroundVerification returns what handles checkpoints around a run of the checks. What the checks change themselves
// counts as changed by the calls. A success marks the checkpoints, or clears them; a failure puts the files back if
// rollback is set. note records the outcome in the audit trail.
func (k *Checkpoints) AroundVerification(rollback, clear bool, note func(summary string) error) func(context.Context, verify.Run) func(bool) []string {
	return func(ctx context.Context, run verify.Run) func(bool) []string {
		ids := slices.DeleteFunc(slices.Clone(run.Checkpoints), func(id string) bool { return id == "" })
		watch, watchErr := k.Store.Watch(ctx, ids)
		return func(passed bool) (notes []string) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackPatience)
			defer cancel()
			err := watchErr
			if watch != nil {
				var adopted []string
				if adopted, err = watch.Adopt(ctx); len(adopted) > 0 {
					notes = append(notes, "It changed files itself: "+listed(run.Workspace, adopted)+".")
				}
			}
			switch {
			case passed:
				err = errors.Join(err, k.Store.Note(k.before(run, ids), clear))
			case rollback:
				notes = append(notes, k.rollBack(ctx, run.Workspace, ids)...)
			}
			summary := fmt.Sprintf("Verification of %s, passed: %t.", run.Workspace, passed)
			if err = errors.Join(err, note(strings.Join(append([]string{summary}, notes...), " "))); err != nil {
				notes = append(notes, "What it means for checkpoints could not be noted: "+err.Error()+".")
			}
			return notes
		}
	}
}

// before returns the checkpoints that a success covers: those of the run, and earlier ones of the same sessions in the
// workspace.
func (k *Checkpoints) before(run verify.Run, ids []string) []string {
	all := slices.Clone(ids)
	sessions := map[string]bool{}
	for _, id := range ids {
		if c, err := k.Store.Get(id); err == nil {
			sessions[c.SessionID] = true
		}
	}
	list, err := k.Store.List(checkpoint.Filter{Path: run.Workspace})
	if err != nil {
		return all
	}
	newest := time.Time{}
	for _, c := range list {
		if slices.Contains(ids, c.ID) && c.CreatedAt.After(newest) {
			newest = c.CreatedAt
		}
	}
	for _, c := range list {
		if c.Ended && sessions[c.SessionID] && !c.CreatedAt.After(newest) && !slices.Contains(all, c.ID) {
			all = append(all, c.ID)
		}
	}
	return all
}

// rollBack undoes the changes of a run's calls, newest first.
func (k *Checkpoints) rollBack(ctx context.Context, workspace string, ids []string) (notes []string) {
	if len(ids) == 0 {
		return []string{"Nothing was rolled back: no checkpoint was taken."}
	}
	for _, id := range slices.Backward(ids) {
		done, err := k.Store.Restore(ctx, id, checkpoint.RestoreOptions{By: "callgate verification"})
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("It could not be rolled back: %v.", err))
		case len(done.Failed) > 0:
			notes = append(notes, fmt.Sprintf("Not all of it could be rolled back: %s (%s).", done.Failed[0].Path, done.Failed[0].Why))
		case len(done.Files) > 0:
			notes = append(notes, fmt.Sprintf("The call's changes were rolled back: %s. Checkpoint %s has them.", listed(workspace, done.Files), done.Checkpoint))
		}
	}
	return notes
}

// listed names up to five paths, relative to the workspace if they are in it.
func listed(workspace string, paths []string) string {
	var names []string
	for i, path := range paths {
		if i == 5 {
			names = append(names, fmt.Sprintf("and %d more", len(paths)-i))
			break
		}
		if rel, err := filepath.Rel(workspace, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		names = append(names, tools.Visible(path))
	}
	return strings.Join(names, ", ")
}
