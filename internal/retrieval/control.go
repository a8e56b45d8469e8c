package retrieval

import (
	"context"
	"fmt"
)

// Statuses tells how far the indexes of a session's workspaces are; of "", of all workspaces.
func (s *Service) Statuses(sessionID string) ([]Status, error) {
	spaces, err := s.spacesOf(sessionID)
	if err != nil {
		return nil, err
	}
	statuses := make([]Status, len(spaces))
	for i, w := range spaces {
		statuses[i] = w.now()
	}
	return statuses, nil
}

// Reindex begins to bring the indexes of a session's workspaces up to date, or the one of path alone. Force reads
// every file again. What is under way begins anew.
func (s *Service) Reindex(sessionID, path string, force bool) ([]Status, error) {
	return s.each(sessionID, path, func(w *space) error {
		w.restart(force)
		return nil
	})
}

// Cancel ends what indexes a session's workspaces, or the one of path alone. What was indexed stays.
func (s *Service) Cancel(sessionID, path string) ([]Status, error) {
	return s.each(sessionID, path, func(w *space) error {
		w.controlling.Lock()
		defer w.controlling.Unlock()
		w.stop(Cancelled)
		return nil
	})
}

// Clear empties the indexes of a session's workspaces, or the one of path alone. They stay empty until Reindex, or
// until the next session begins.
func (s *Service) Clear(ctx context.Context, sessionID, path string) ([]Status, error) {
	return s.each(sessionID, path, func(w *space) error {
		w.controlling.Lock()
		defer w.controlling.Unlock()
		w.stop(Cleared)
		return w.index.Clear(ctx)
	})
}

func (s *Service) each(sessionID, path string, do func(*space) error) ([]Status, error) {
	spaces, err := s.spacesOf(sessionID)
	if err != nil {
		return nil, err
	}
	var statuses []Status
	for _, w := range spaces {
		if path != "" && w.root != path {
			continue
		}
		if w.index != nil {
			if err := do(w); err != nil {
				return nil, err
			}
		}
		statuses = append(statuses, w.now())
	}
	if len(statuses) == 0 {
		return nil, fmt.Errorf("%w: %q is not a workspace of the session", ErrNoWorkspace, path)
	}
	return statuses, nil
}

// repair restarts a damaged index on a goroutine that close waits for, once for all searches that find it damaged.
func (w *space) repair() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.repairing || w.closed {
		return
	}
	w.repairing = true
	w.repairs.Go(func() {
		w.restart(false)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.repairing = false
	})
}

// restart ends what is under way and begins anew; force empties the index before.
func (w *space) restart(force bool) {
	w.controlling.Lock()
	defer w.controlling.Unlock()
	w.stop(Cancelled)
	if w.ended {
		return
	}
	if force {
		if err := w.index.Clear(context.Background()); err != nil {
			w.service.logged("index of "+w.root, err)
		}
	}
	w.start()
}
