package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/nolink"
)

// RestoreOptions selects what to restore, and how cautiously.
type RestoreOptions struct {
	Paths []string // absolute; only these and what is beneath them; none means all
	Force bool     // also restore files that are not as the call left them, and ignore those that were not kept
	// RemoveStray also removes the files that would be in Restored.Stray.
	RemoveStray bool
	// Denies returns why a path must not be written, or "" if it may be. May be nil: then every path may.
	Denies func(path string) string
	// For the checkpoint of the current state.
	By        string // tool or client, see Checkpoint.Tool
	SessionID string
	Secret    func(path string) bool
}

// Restored is the result of a restore.
type Restored struct {
	ID         string     `json:"id"`                   // of the checkpoint that was restored
	Checkpoint string     `json:"checkpoint,omitempty"` // of the state before: restoring it undoes this restore; "" if nothing was done
	Files      []string   `json:"files"`                // paths that are as before the call again
	Removed    []string   `json:"removed,omitempty"`    // those of Files that did not exist before the call
	Failed     []Conflict `json:"failed,omitempty"`     // paths that could not be restored
	Stray      []string   `json:"stray,omitempty"`      // temporary files that a killed program seems to have left
}

// step is one path that differs from what was kept. After is what is there now.
type step struct {
	Change
	changedSince bool
	why          string // the conflict, when changedSince
}

// plan is what a restore would do.
type plan struct {
	store      *Store
	checkpoint Checkpoint
	kept       *contents
	steps      []step
}

// plan compares a checkpoint with what is there now. The caller closes plan.kept.
func (s *Store) plan(ctx context.Context, id string, only []string) (p *plan, err error) {
	p = &plan{store: s}
	if p.checkpoint, err = s.Get(id); err != nil {
		return nil, err
	}
	kept, err := s.contents(p.checkpoint.segment)
	if err != nil {
		return nil, err
	}
	p.kept = kept
	defer func() {
		if err != nil {
			kept.close()
		}
	}()
	if p.checkpoint.Ended {
		err = p.known(ctx)
	} else {
		err = p.unknown(ctx)
	}
	if err != nil {
		return nil, err
	}
	if len(only) > 0 {
		p.steps = slices.DeleteFunc(p.steps, func(st step) bool {
			return !slices.ContainsFunc(only, func(o string) bool { return beneath(st.Path, filepath.Clean(o)) })
		})
		if len(p.steps) == 0 && !p.names(only) {
			return nil, noCopy(fmt.Sprintf("the checkpoint %s has no copy of %s", p.checkpoint.ID, strings.Join(only, ", ")))
		}
	}
	return p, nil
}

// noCopy is an ErrUnknown for files that an existing checkpoint does not have.
type noCopy string

func (e noCopy) Error() string        { return string(e) }
func (e noCopy) Is(target error) bool { return target == ErrUnknown }

// names reports whether the checkpoint is about one of the paths.
func (p *plan) names(paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return p.checkpoint.concerns(filepath.Clean(path)) })
}

// known is plan for a call with a known outcome. It looks only at what the call changed.
func (p *plan) known(ctx context.Context) error {
	for _, x := range p.checkpoint.Changed {
		now, err := p.store.look(ctx, &p.checkpoint, x.Path)
		if err != nil {
			return err
		}
		if now.Why == nolink.ErrLink.Error() && p.checkpoint.keepsFolderOf(x.Path) {
			now = Entry{Kind: Absent}
		}
		if now.same(x.Before) {
			continue
		}
		st := step{Change: Change{Path: x.Path, Before: x.Before, After: now, Secret: x.Secret}}
		switch {
		case x.Before.Kind == LeftOut:
			st.changedSince, st.why = true, "it was not kept: "+x.Before.Why
		case !now.same(x.After):
			st.changedSince, st.why = true, "it has changed since"
			if now.Kind == LeftOut {
				st.why += ": " + now.Why
			}
		}
		p.steps = append(p.steps, st)
	}
	return nil
}

// unknown is plan for a call without a known outcome, because callgate was killed or the call still runs.
func (p *plan) unknown(ctx context.Context) error {
	c := p.store.newCapture(p.checkpoint.Workspace, nil, false)
	changes, err := p.store.changes(ctx, c, &p.checkpoint, p.kept.entries, nil)
	for _, x := range changes {
		why := "nobody knows how the call left it, since its outcome was not recorded"
		if x.Before.Kind == LeftOut {
			why = "it was not kept: " + x.Before.Why
		}
		p.steps = append(p.steps, step{Change: x, changedSince: true, why: why})
	}
	return err
}

// Restore restores what was kept. It touches nothing if a path may not be restored, see ErrChanged. Force overrides
// that, except for what was not kept and for paths that Denies forbids. Restore first keeps the current state in a
// checkpoint. An interrupted restore can be repeated.
func (s *Store) Restore(ctx context.Context, id string, o RestoreOptions) (*Restored, error) {
	p, err := s.plan(ctx, id, o.Paths)
	if err != nil {
		return nil, err
	}
	defer p.kept.close()
	out := &Restored{ID: p.checkpoint.ID, Files: []string{}}
	strays, err := p.strays(ctx, o.Paths)
	if err != nil {
		return nil, err
	}
	if o.RemoveStray {
		p.steps = append(p.steps, strays...)
	} else {
		for _, st := range strays {
			out.Stray = append(out.Stray, st.Path)
		}
	}
	if out.Failed, err = p.check(s, &o); err != nil {
		return nil, err
	}
	if len(p.steps) == 0 {
		return out, nil
	}
	taken, err := s.Take(ctx, p.request(&o))
	if err != nil {
		return nil, err
	}
	if taken != nil {
		out.Checkpoint = taken.ID
	}
	out.Failed = append(out.Failed, p.apply(ctx, out)...)
	var endErr error
	if taken != nil {
		_, endErr = taken.End(ctx)
	}
	if p.all(o.Paths) {
		endErr = errors.Join(endErr, s.noteLater(event{ID: p.checkpoint.ID, Restored: time.Now().UTC()}))
	}
	return out, endErr
}

// all reports whether the paths cover everything that the call changed. None means all.
func (p *plan) all(only []string) bool {
	return len(only) == 0 || p.checkpoint.Ended && !slices.ContainsFunc(p.checkpoint.Changed, func(x Change) bool {
		return !slices.ContainsFunc(only, func(o string) bool { return beneath(x.Path, filepath.Clean(o)) })
	})
}

// check removes steps that cannot be done. It returns an error if a step is forbidden.
func (p *plan) check(s *Store, o *RestoreOptions) (left []Conflict, err error) {
	var conflicts []Conflict
	var steps []step
	for _, st := range p.steps {
		switch {
		case s.o.Protected(st.Path):
			conflicts = append(conflicts, Conflict{st.Path, whyProtected})
		case o.Denies != nil && o.Denies(st.Path) != "":
			conflicts = append(conflicts, Conflict{st.Path, o.Denies(st.Path)})
		case st.changedSince && !o.Force:
			conflicts = append(conflicts, Conflict{st.Path, st.why})
		case st.Before.Kind == LeftOut:
			left = append(left, Conflict{st.Path, st.why})
		case st.After.Kind == LeftOut && st.After.Why != whyTooLarge:
			conflicts = append(conflicts, Conflict{st.Path, "the current state cannot be saved: " + st.After.Why})
		default:
			steps = append(steps, st)
		}
	}
	if len(conflicts) > 0 {
		return nil, &ConflictError{conflicts}
	}
	p.steps = steps
	return left, nil
}

// request returns the request for a checkpoint of what the steps change.
func (p *plan) request(o *RestoreOptions) Request {
	r := Request{Tool: o.By, SessionID: o.SessionID, Worker: p.checkpoint.Worker, Workspace: p.checkpoint.Workspace, Restores: p.checkpoint.ID, Secret: o.Secret}
	for _, st := range p.steps {
		r.Paths = append(r.Paths, Path{Path: st.Path})
	}
	return r
}

// apply does the steps. First it removes what must go, innermost first; then it creates what must be there, outermost
// first. It sets the modes of folders last, because a mode may forbid writing in the folder. It leaves alone what has
// changed since the plan was made.
func (p *plan) apply(ctx context.Context, out *Restored) (failed []Conflict) {
	failures := map[string]error{}
	remove := slices.SortedFunc(slices.Values(p.steps), func(a, b step) int { return cmp.Compare(b.Path, a.Path) })
	for _, st := range remove {
		if st.After.Kind != Absent && (st.Before.Kind == Absent || st.Before.Kind != st.After.Kind) {
			if failures[st.Path] = p.unchanged(ctx, &st, st.After); failures[st.Path] == nil {
				failures[st.Path] = p.in(st.Path, removeFrom)
			}
		}
	}
	create := slices.SortedFunc(slices.Values(p.steps), func(a, b step) int { return cmp.Compare(a.Path, b.Path) })
	for _, st := range create {
		if st.Before.Kind == Absent || failures[st.Path] != nil {
			continue
		}
		now := st.After
		if st.Before.Kind != now.Kind { // the first loop has removed it
			now = Entry{Kind: Absent}
		}
		if failures[st.Path] = p.unchanged(ctx, &st, now); failures[st.Path] == nil {
			failures[st.Path] = p.create(st)
		}
	}
	for _, st := range slices.Backward(create) {
		if st.Before.Kind == Directory && failures[st.Path] == nil {
			failures[st.Path] = p.in(st.Path, func(dir *os.Root, name string) error { return dir.Chmod(name, fileMode(st.Before.Mode)) })
		}
	}
	for _, st := range create {
		if err := failures[st.Path]; err != nil {
			failed = append(failed, Conflict{st.Path, reason(err)})
		} else {
			out.Files = append(out.Files, st.Path)
			if st.Before.Kind == Absent {
				out.Removed = append(out.Removed, st.Path)
			}
		}
	}
	return failed
}

// in runs f on the folder of path, which it opens without following links.
func (p *plan) in(path string, f func(dir *os.Root, name string) error) error {
	dir, name, _, err := openFolderOf(path, p.checkpoint.Workspace)
	if err != nil {
		return err
	}
	defer dir.Close()
	return f(dir, name)
}

// unchanged returns an error unless was or the state to restore is there now. For a folder only the mode counts.
func (p *plan) unchanged(ctx context.Context, st *step, was Entry) error {
	now, err := p.store.look(ctx, &p.checkpoint, st.Path)
	if err == nil && !now.same(was) && !now.same(st.Before) {
		err = errors.New("it was changed meanwhile")
	}
	return err
}

// removeFrom removes a file or an empty folder. A folder with new files of others stays.
func removeFrom(dir *os.Root, name string) error { return ignoreMissing(dir.Remove(name)) }

// create makes the path what it was.
func (p *plan) create(st step) error {
	make := func(dir *os.Root, name string) error {
		switch st.Before.Kind {
		case Directory:
			if err := dir.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if info, err := dir.Lstat(name); err != nil || !info.IsDir() {
				return errors.Join(err, errors.New("it is not a folder"))
			}
			return nil
		case Symlink:
			return replace(dir, name, p.checkpoint.ID, func(temporary string) error { return dir.Symlink(st.Before.Target, temporary) })
		case File:
			data, err := p.kept.get(st.Before.Hash)
			if err != nil {
				return err
			}
			return replace(dir, name, p.checkpoint.ID, func(temporary string) error {
				return writeFile(dir, temporary, data, fileMode(st.Before.Mode))
			})
		}
		return fmt.Errorf("callgate cannot restore a %s", st.Before.Kind)
	}
	err := p.in(st.Path, make)
	if errors.Is(err, fs.ErrNotExist) { // the folder has been removed since
		if err = p.makeFolders(filepath.Dir(st.Path)); err == nil {
			err = p.in(st.Path, make)
		}
	}
	return err
}

// makeFolders makes the folders of a file that nobody kept.
func (p *plan) makeFolders(path string) error {
	err := p.in(path, func(dir *os.Root, name string) error {
		if err := dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		if err = p.makeFolders(filepath.Dir(path)); err == nil {
			err = p.makeFolders(path)
		}
	}
	return err
}

// replace replaces name in one step, so that readers see either the old or the new file. What a kill leaves behind is
// removed by the next attempt.
func replace(dir *os.Root, name, id string, make func(temporary string) error) error {
	temporary := ".callgate-restore-" + id
	if err := dir.Remove(temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := make(temporary)
	if err == nil {
		err = dir.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, ignoreMissing(dir.Remove(temporary)))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func writeFile(dir *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
}
