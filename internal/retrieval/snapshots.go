package retrieval

import (
	"context"
	"errors"
	"time"

	"callgate/internal/periodic"
	"callgate/rag"
)

// Snapshots are where processes leave their indexes for those that come later. Safe for concurrent use.
type Snapshots interface {
	// Take restores the index of a folder, if there is a snapshot and the folder has none.
	Take(ctx context.Context, dir string) error
	// Give stores a snapshot, unless there is one of the same content. It is false if it leaves that for later.
	Give(ctx context.Context, dir string, index *rag.Index) (current bool, err error)
}

const (
	takeWithin = 5 * time.Minute // then the index is built instead
	giveWithin = 10 * time.Minute
	giveEvery  = 10 * time.Second // how often it looks whether there is something to give
)

// take begins with the index that another process left. Without one, it is built.
func (w *space) take(ctx context.Context) {
	from := w.service.o.Snapshots
	if from == nil {
		return
	}
	if stats, err := w.index.Stats(); err != nil || stats.Chunks > 0 {
		return // damaged, or there already
	}
	ctx, cancel := context.WithTimeout(ctx, takeWithin)
	defer cancel()
	if err := from.Take(ctx, w.dir); err != nil && !errors.Is(err, context.Canceled) {
		w.service.o.Logger.Warn("retrieval: the index is built here: there is no snapshot to begin with", "path", w.root, "error", err)
	}
}

// give leaves the index for others whenever it was brought up to date, until ctx ends.
func (w *space) give(ctx context.Context) {
	to := w.service.o.Snapshots
	if to == nil {
		return
	}
	w.mu.Lock()
	settled := w.settled
	w.mu.Unlock()
	select {
	case <-settled:
	case <-ctx.Done():
	}
	var given time.Time // when the index that was given had been finished
	for ctx.Err() == nil {
		if status := w.now(); status.State == Ready && !status.FinishedAt.Equal(given) {
			within, cancel := context.WithTimeout(ctx, giveWithin)
			current, err := to.Give(within, w.dir, w.index)
			cancel()
			if current {
				given = status.FinishedAt
			}
			if err != nil && ctx.Err() == nil {
				w.service.o.Logger.Warn("retrieval: others cannot begin with this index", "path", w.root, "error", err)
			}
		}
		periodic.Sleep(ctx, giveEvery)
	}
}
