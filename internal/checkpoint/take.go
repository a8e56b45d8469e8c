package checkpoint

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/nolink"
)

// Request is what to keep before a call.
type Request struct {
	CallID, Tool, SessionID, Worker string
	Workspace                       string // absolute; "" if unknown
	Paths                           []Path
	Restores                        string // the checkpoint to restore, if any: links in the paths are not resolved
	// Secret reports whether the rules deny reading the file. Such a file can be restored but is never shown.
	Secret func(path string) bool
}

// Path is one path that a call may change.
type Path struct {
	Path  string // absolute; Take resolves its folder
	Scope Scope
}

// Taken is a checkpoint whose call has not ended. The caller MUST call End or Abandon.
type Taken struct {
	store   *Store
	segment *segment
	record  Checkpoint
	secret  func(string) bool
	LeftOut []Conflict // paths that the call names and that could not be kept
	ID      string
}

// Take keeps what is at the paths now. When it returns without an error, the checkpoint is on the disk and the call may
// change the files. Paths that cannot be kept are in LeftOut; the caller decides whether the call may run without them.
// Take returns nil if there is nothing to keep. An error is an ErrFailed, and then nothing was kept.
func (s *Store) Take(ctx context.Context, r Request) (*Taken, error) {
	t, err := s.take(ctx, r)
	if err != nil {
		s.mu.Lock()
		s.failed, s.failedAt = err, time.Now()
		s.mu.Unlock()
	}
	return t, err
}

func (s *Store) take(ctx context.Context, r Request) (t *Taken, err error) {
	paths := settle(r.Paths, r.Restores == "")
	if len(paths) == 0 {
		return nil, nil
	}
	g, err := s.pin()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	workspace := r.Workspace
	if real, err := filepath.EvalSymlinks(workspace); err == nil && workspace != "" {
		workspace = real
	}
	c := s.newCapture(workspace, g, true)
	defer func() { // Taken keeps the segment until End
		if t == nil {
			s.unpin(g, c.grown)
		}
	}()
	if r.Secret == nil {
		r.Secret = func(string) bool { return false }
	}
	t = &Taken{store: s, segment: g, secret: r.Secret, record: Checkpoint{
		ID: "ck_" + strings.ToLower(rand.Text()[:10]), CallID: r.CallID, Tool: r.Tool, SessionID: r.SessionID,
		Worker: r.Worker, Workspace: workspace, CreatedAt: time.Now().UTC(), Restores: r.Restores,
	}}
	t.ID = t.record.ID
	for _, p := range paths {
		k, err := c.path(ctx, p.Path, p.Scope, Entry{})
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFailed, err)
		}
		if slices.ContainsFunc(t.record.Before, func(o Kept) bool { return o.Path == k.Path && o.Scope == k.Scope }) {
			continue
		}
		if k.Why == nolink.ErrLink.Error() && t.record.keepsFolderOf(k.Path) { // its folder is a link that is kept
			k.Entry = Entry{Kind: Absent}
		}
		k.Secret = k.Scope == Alone && r.Secret(k.Path)
		if k.Kind == LeftOut {
			t.LeftOut = append(t.LeftOut, Conflict{k.Path, k.Why})
		}
		t.record.Before = append(t.record.Before, k)
	}
	t.record.Notes = c.notes()
	text, err := json.Marshal(t.record)
	if err == nil {
		err = g.record(recordCheckpoint, text, true)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	s.mu.Lock()
	s.failed = nil
	s.since += c.grown + int64(len(text))
	s.mu.Unlock()
	return t, nil
}

// Unkept returns which of the paths could not be kept now, without keeping any. It is for the person who is asked
// before the call. A conflict without a path concerns the store.
func (s *Store) Unkept(ctx context.Context, workspace string, paths []Path) (list []Conflict) {
	s.mu.Lock()
	if s.failed != nil && time.Since(s.failedAt) < failureStays {
		list = append(list, Conflict{Why: s.failed.Error()})
	}
	s.mu.Unlock()
	c := s.newCapture(workspace, nil, false)
	c.probe = true
	for _, p := range settle(paths, true) {
		k, err := c.path(ctx, p.Path, p.Scope, Entry{})
		switch {
		case err != nil:
			list = append(list, Conflict{p.Path, err.Error()})
		case k.Kind == LeftOut:
			list = append(list, Conflict{k.Path, k.Why})
		}
	}
	return list
}

// failureStays is how long a store counts as not writable after a failed write.
const failureStays = 30 * time.Second

// settle sorts the paths and removes duplicates. With resolve it resolves links in their folders. A path that is itself
// a link is kept as a link; what it leads to is a path of its own.
func settle(paths []Path, resolve bool) (out []Path) {
	for _, p := range paths {
		if !filepath.IsAbs(p.Path) {
			continue
		}
		p.Path = filepath.Clean(p.Path)
		if resolve {
			if dir, err := realFolder(filepath.Dir(p.Path)); err == nil {
				p.Path = filepath.Join(dir, filepath.Base(p.Path))
			}
		}
		if i := slices.IndexFunc(out, func(o Path) bool { return o.Path == p.Path }); i < 0 {
			out = append(out, p)
		} else if out[i].Scope == Alone {
			out[i].Scope = p.Scope
		}
	}
	slices.SortFunc(out, func(a, b Path) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// realFolder resolves the links of a folder that may not exist yet. It does not resolve a link that leads to no folder,
// because nothing can be in there.
func realFolder(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		if info, err := os.Lstat(real); err != nil || !info.IsDir() {
			return dir, err
		}
		return real, nil
	}
	parent := filepath.Dir(dir)
	if parent == dir {
		return "", err
	}
	parent, err = realFolder(parent)
	return filepath.Join(parent, filepath.Base(dir)), err
}

// End records what the call left and returns what changed. The caller MUST call it before anything else that callgate
// knows of may change the files.
func (t *Taken) End(ctx context.Context) (changed []Change, err error) {
	defer t.store.unpin(t.segment, 0)
	changed, err = t.changes(ctx)
	if err != nil {
		return nil, err
	}
	return changed, t.store.note(t.segment, event{ID: t.ID, Ended: true, Changed: changed})
}

// Abandon is End for a call that was never forwarded.
func (t *Taken) Abandon() error {
	defer t.store.unpin(t.segment, 0)
	return t.store.note(t.segment, event{ID: t.ID, Ended: true})
}

// changes compares what was kept with what is there now.
func (t *Taken) changes(ctx context.Context) ([]Change, error) {
	c := t.store.newCapture(t.record.Workspace, nil, false)
	return t.store.changes(ctx, c, &t.record, t.segment.entries, t.secret)
}

// changes looks at all paths of a checkpoint and returns those that differ from what was kept.
func (s *Store) changes(ctx context.Context, c *capture, r *Checkpoint, kept lister, secret func(string) bool) (list []Change, err error) {
	seen := map[string]bool{}
	c.was = kept
	for _, k := range r.Before {
		scope := k.Scope
		if k.Kind != Directory && k.Kind != LeftOut { // everything that was created with it
			scope = Whole
		}
		now, err := c.path(ctx, k.Path, scope, k.Entry)
		if err != nil {
			return nil, err
		}
		if now.Path != k.Path || now.Why == nolink.ErrLink.Error() && r.keepsFolderOf(k.Path) { // its folder is gone
			now.Entry = Entry{Kind: Absent}
		}
		err = compare(k.Path, k.Entry, now.Entry, kept, c.entries, func(x Change) {
			if !seen[x.Path] {
				seen[x.Path] = true
				x.Secret = k.Secret || secret != nil && secret(x.Path)
				list = append(list, x)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(ErrFailed, err)
	}
	return list, nil
}

// keepsFolderOf reports whether the checkpoint is about a folder that contains path. If that folder became a link, this
// is one of the changes, and what was in it is gone.
func (c *Checkpoint) keepsFolderOf(path string) bool {
	return slices.ContainsFunc(c.Before, func(k Kept) bool { return k.Path != path && beneath(path, k.Path) }) ||
		slices.ContainsFunc(c.Changed, func(x Change) bool { return x.Path != path && beneath(path, x.Path) })
}

// Note records that the files of checkpoints passed a verification. With clear it also forgets the checkpoints.
func (s *Store) Note(ids []string, clear bool) error {
	var err error
	for _, id := range ids {
		err = errors.Join(err, s.noteLater(event{ID: id, Verified: true, Cleared: clear}))
	}
	return err
}
