package retrieval

import (
	"context"
	"fmt"
)

// Statuses returns the status of the indexes of a session's workspaces, or of all workspaces if sessionID is "".
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

// Reindex starts to bring the indexes of a session's workspaces up to date, or only that of path. With force it reads
// every file again. It restarts an update that is in progress.
func (s *Service) Reindex(sessionID, path string, force bool) ([]Status, error) {
	return s.each(sessionID, path, func(w *space) error {
		w.restart(force)
		return nil
	})
}

// Cancel stops indexing a session's workspaces, or only that of path. What was indexed stays.
func (s *Service) Cancel(sessionID, path string) ([]Status, error) {
	return s.each(sessionID, path, func(w *space) error {
		w.controlling.Lock()
		defer w.controlling.Unlock()
		w.stop(Cancelled)
		return nil
	})
}

// Clear empties the indexes of a session's workspaces, or only that of path. They stay empty until Reindex, or until a
// session opens the workspace anew.
func (s *Service) Clear(ctx context.Context, sessionID, path string) ([]Status, error) {
	return s.each(sessionID, path, func(w *space) error {
		w.controlling.Lock()
		defer w.controlling.Unlock()
		w.stop(Cleared)
		return w.index.Clear(ctx)
	})
}

// each calls do for the workspaces with an index, or only for path unless that is "", and returns their statuses.
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

// repair restarts a damaged index, once for all searches that find it damaged. close waits for its goroutine.
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

// restart stops what is in progress and starts again. With force it empties the index first.
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
