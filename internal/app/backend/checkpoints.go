package backend

import (
	"context"
	"errors"
	"fmt"

	"callgate/audit"
	"callgate/internal/checkpoint"
	"callgate/internal/companion"
	"callgate/internal/config"
)

// checkpoints serves the checkpoints to the companion.
type checkpoints struct {
	*Backend
	store *checkpoint.Store
}

func (b checkpoints) Checkpoints(sessionID string, limit int) ([]companion.CheckpointView, error) {
	list, err := b.store.List(checkpoint.Filter{SessionID: sessionID, Limit: limit})
	if err != nil {
		b.Log.Warn("not all checkpoints can be read", "error", err)
	}
	views := make([]companion.CheckpointView, len(list))
	for i := range list {
		views[i] = companion.ViewCheckpoint(&list[i], filesShown)
	}
	return views, nil
}

// filesShown is how many files of each checkpoint a list of checkpoints names.
const filesShown = 200

func (b checkpoints) CheckpointDiff(ctx context.Context, id string, paths []string) ([]checkpoint.FileDiff, error) {
	one, err := b.store.Get(id)
	if err != nil {
		return nil, err
	}
	return b.store.Diff(ctx, one.ID, checkpoint.ShowOptions{Paths: paths, Hidden: config.Hidden(b.Config, b.Store, &one)})
}

func (b checkpoints) RestoreCheckpoint(ctx context.Context, id string, what companion.CheckpointRestore, who audit.Author) (*checkpoint.Restored, error) {
	one, err := b.store.Get(id)
	if err != nil {
		return nil, err
	}
	if err := b.Gate.Controls.Note(one.SessionID, who, RestoreSummary(&one, what.Force)); err != nil {
		return nil, err
	}
	done, err := b.store.Restore(ctx, one.ID, checkpoint.RestoreOptions{Paths: what.Paths, Force: what.Force, RemoveStray: what.RemoveStray, By: who.By, SessionID: one.SessionID, Secret: config.Hidden(b.Config, b.Store, &one)})
	if conflict, ok := errors.AsType[*checkpoint.ConflictError](err); ok {
		if noteErr := b.Gate.Controls.Note(one.SessionID, who, "Nothing was restored: "+conflict.Error()); noteErr != nil {
			b.Log.Error("a refused restore could not be recorded", "error", noteErr)
		}
	}
	return done, err
}

// RestoreSummary returns the summary with which a restore is recorded.
func RestoreSummary(one *checkpoint.Checkpoint, force bool) string {
	text := fmt.Sprintf("Restores checkpoint %s of %s.", one.ID, one.Tool)
	if force {
		text += " By force."
	}
	return text
}
