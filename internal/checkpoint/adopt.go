package checkpoint

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Watch remembers which files of some checkpoints are as their calls left them, while something on behalf of those
// calls runs: a verification, which may change files itself, as formatters do.
type Watch struct {
	store       *Store
	began       time.Time
	checkpoints []Checkpoint
	untouched   map[string]bool
}

// Watch starts to watch the files of the checkpoints. It ignores unknown checkpoints and those of running calls.
func (s *Store) Watch(ctx context.Context, ids []string) (*Watch, error) {
	w := &Watch{store: s, began: time.Now(), untouched: map[string]bool{}}
	for _, id := range ids {
		one, err := s.Get(id)
		if errors.Is(err, ErrUnknown) || err == nil && !one.Ended {
			continue
		}
		if err != nil {
			return nil, err
		}
		w.checkpoints = append(w.checkpoints, one)
		for _, x := range one.Changed {
			now, err := s.look(ctx, &one, x.Path)
			if err != nil {
				return nil, err
			}
			if now.same(x.After) {
				w.untouched[x.Path] = true
			}
		}
	}
	return w, nil
}

// look returns what is at one path now.
func (s *Store) look(ctx context.Context, c *Checkpoint, path string) (Entry, error) {
	now, err := s.newCapture(c.Workspace, nil, false).path(ctx, path, Alone, Entry{})
	if err != nil || now.Path != path { // its folder is gone, or is no longer a folder
		return Entry{Kind: Absent}, err
	}
	return now.Entry, nil
}

// Adopt counts changes since Watch as changes by the calls, so that a restore undoes them too. It returns the changed
// paths. It leaves out files that another call was about to change.
func (w *Watch) Adopt(ctx context.Context) (paths []string, err error) {
	later, err := w.store.List(Filter{Idle: true})
	if err != nil {
		return nil, err
	}
	later = slices.DeleteFunc(later, func(c Checkpoint) bool { return c.CreatedAt.Before(w.began) })
	for _, one := range w.checkpoints {
		changed := slices.Clone(one.Changed)
		var adopted []string
		for i := range changed {
			x := &changed[i]
			if !w.untouched[x.Path] || slices.ContainsFunc(later, func(c Checkpoint) bool { return c.concerns(x.Path) }) {
				continue
			}
			now, err := w.store.look(ctx, &one, x.Path)
			if err != nil {
				return paths, err
			}
			if !now.same(x.After) {
				x.After = now
				adopted = append(adopted, x.Path)
			}
		}
		if len(adopted) == 0 {
			continue
		}
		if err := w.store.noteLater(event{ID: one.ID, Ended: true, Changed: changed}); err != nil {
			return paths, err
		}
		for _, path := range adopted {
			if !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths, nil
}
