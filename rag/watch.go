package rag

import (
	"context"
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"callgate/rag/ignore"
)

const (
	// quiet is how long nothing must change before Watch reads changes: editors write in several steps.
	quiet = 100 * time.Millisecond
	// patience is how long a change waits at most while others keep coming.
	patience = 500 * time.Millisecond
	// poll is how often Watch scans a workspace that the system cannot watch.
	poll = 10 * time.Second
	// recheck is how often Watch checks whether the rules have changed.
	recheck = 5 * time.Second
	// rescan is how often Watch scans a watched workspace, in case the system lost an event.
	rescan = 10 * time.Minute
)

// Watch syncs the workspace root and then keeps the index up to date until ctx ends, which is no error. Search finds a
// change within a second. If the system cannot watch so many directories, Watch scans the workspace every ten seconds.
// Several processes may watch the same workspace: each holds the lock only while something changes.
func (x *Index) Watch(ctx context.Context, root string, progress func(Event)) error {
	ws, err := x.openWorkspace(root)
	if err != nil {
		return err
	}
	defer ws.close()
	w := &watch{x: x, ws: ws, progress: progress, watched: map[string]bool{}}
	if w.notify, err = fsnotify.NewWatcher(); err != nil {
		x.options.Logger.Warn("cannot watch the workspace; looking through it from time to time", "interval", poll, "error", err)
	} else {
		defer w.notify.Close()
	}
	// Watch the top directory before the first Sync, so as not to miss changes while it runs.
	w.add([]string{"."})
	err = w.all(ctx)
	if err == nil {
		err = w.run(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// watch is a Watch in progress.
type watch struct {
	x        *Index
	ws       *workspace
	progress func(Event)
	notify   *fsnotify.Watcher // nil: poll
	watched  map[string]bool   // directories
}

// add starts to watch the directories that are not yet watched.
func (w *watch) add(dirs []string) {
	for _, dir := range dirs {
		if w.notify == nil {
			return
		}
		if w.watched[dir] {
			continue
		}
		if err := w.notify.Add(w.ws.absolute(dir)); err != nil {
			if _, gone := w.ws.root.Lstat(dir); gone != nil {
				continue
			}
			w.x.options.Logger.Warn("cannot watch the workspace; looking through it from time to time", "interval", poll, "error", err)
			w.notify.Close()
			w.notify = nil
			return
		}
		w.watched[dir] = true
	}
}

// all syncs everything. It repeats until there are no new directories: a new one may have got files before it was
// watched.
func (w *watch) all(ctx context.Context) error {
	for {
		_, dirs, err := w.x.sync(ctx, w.ws, w.progress)
		if err != nil {
			return err
		}
		before := len(w.watched)
		w.add(dirs)
		if w.notify == nil || len(w.watched) == before {
			return nil
		}
	}
}

// run reads changes until ctx ends.
func (w *watch) run(ctx context.Context) error {
	changed := map[string]bool{} // paths in the workspace; "." is everything
	var first time.Time          // when the first of them changed
	timer := time.NewTimer(w.interval())
	rules := time.NewTicker(recheck)
	defer rules.Stop()
	for {
		var events chan fsnotify.Event
		var failures chan error
		if w.notify != nil {
			events, failures = w.notify.Events, w.notify.Errors
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-events:
			if !ok {
				return errors.New("rag: the watcher ended")
			}
			if name, ok := w.concerns(e); ok {
				if len(changed) == 0 {
					first = time.Now()
				}
				changed[name] = true
				timer.Reset(max(0, min(quiet, patience-time.Since(first))))
			}
		case err := <-failures: // too many events at once
			w.x.options.Logger.Info("looking through the whole workspace", "error", err)
			changed["."] = true
			timer.Reset(quiet)
		case <-rules.C:
			if !w.x.rulesCurrent() {
				changed["."] = true
				timer.Reset(quiet)
			}
		case <-timer.C:
			if len(changed) == 0 {
				changed["."] = true
			}
			if err := w.sync(ctx, changed); err != nil && ctx.Err() == nil {
				w.x.options.Logger.Warn("index is not up to date", "error", err)
			}
			clear(changed)
			timer.Reset(w.interval())
		}
	}
}

func (w *watch) interval() time.Duration {
	if w.notify == nil {
		return poll
	}
	return rescan
}

// concerns returns the path in the workspace that the event is about, and false if there is none.
func (w *watch) concerns(e fsnotify.Event) (string, bool) {
	if e.Op == fsnotify.Chmod {
		return "", false
	}
	rel, err := filepath.Rel(w.ws.dir, e.Name)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		delete(w.watched, filepath.ToSlash(rel)) // in case it was a directory
	}
	return filepath.ToSlash(rel), true
}

// sync reads what changed: only the files, or everything if a directory or an ignore file may have changed.
func (w *watch) sync(ctx context.Context, changed map[string]bool) error {
	everything := false
	var files []found
	var gone []string
	for name := range changed {
		base := path.Base(name)
		info, err := w.ws.root.Lstat(name)
		switch {
		case name == "." || base == ignore.GitName || base == ignore.OwnName || err == nil && info.IsDir():
			everything = true
		default:
			if f := w.ws.one(name); f != nil {
				files = append(files, *f)
				everything = everything || ignore.HasOtherNames(f.info) // one of its names may be denied
			} else {
				gone = append(gone, name)
			}
		}
	}
	if everything {
		return w.all(ctx)
	}
	if len(files) == 0 && !w.x.holds(gone) {
		return nil // ignored files change all the time
	}
	_, err := w.x.update(ctx, w.ws, w.progress, func(u *update) error {
		u.begin(len(files))
		for k := range u.w.where {
			if !k.document && isGone(k.path, gone) {
				u.remove(k.path)
			}
		}
		return u.run(ctx, files)
	})
	return err
}

// isGone reports whether name is one of gone or below it.
func isGone(name string, gone []string) bool {
	return slices.ContainsFunc(gone, func(g string) bool { return name == g || strings.HasPrefix(name, g+"/") })
}

// holds reports whether the index still has one of the files that are gone, or cannot be read.
func (x *Index) holds(gone []string) bool {
	if len(gone) == 0 {
		return false
	}
	snap, err := x.acquire()
	if err != nil {
		return true
	}
	held := snap.holds(gone)
	return snap.release() != nil || held
}

func (s *snapshot) holds(gone []string) bool {
	for i := range s.parts {
		p := &s.parts[i]
		for j := range p.rows.Sources {
			if of := &p.rows.Sources[j]; !of.Document && p.liveSource(of) && isGone(of.Path, gone) {
				return true
			}
		}
	}
	return false
}
