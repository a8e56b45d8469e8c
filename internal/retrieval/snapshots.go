package retrieval

import (
	"context"
	"errors"
	"time"

	"callgate/internal/periodic"
	"callgate/rag"
)

// Snapshots is where processes leave their indexes for later ones. It must be safe for concurrent use.
type Snapshots interface {
	// Take restores the index in the folder dir if there is a snapshot and dir has no index.
	Take(ctx context.Context, dir string) error
	// Give stores a snapshot of the index unless there is one with the same content. False means not yet.
	Give(ctx context.Context, dir string, index *rag.Index) (current bool, err error)
}

const (
	takeWithin = 5 * time.Minute // after that, build the index instead
	giveWithin = 10 * time.Minute
	giveEvery  = 10 * time.Second // how often to check for a new index to give
)

// take starts from the index that another process left, if there is one and the index is empty.
func (w *space) take(ctx context.Context) {
	from := w.service.o.Snapshots
	if from == nil {
		return
	}
	if stats, err := w.index.Stats(); err != nil || stats.Chunks > 0 {
		return // damaged, or not empty
	}
	ctx, cancel := context.WithTimeout(ctx, takeWithin)
	defer cancel()
	if err := from.Take(ctx, w.dir); err != nil && !errors.Is(err, context.Canceled) {
		w.service.o.Logger.Warn("retrieval: the index is built here: there is no snapshot to begin with", "path", w.root, "error", err)
	}
}

// give stores a snapshot each time the index is brought up to date, until ctx ends.
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
	var given time.Time // FinishedAt of the index given last
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
