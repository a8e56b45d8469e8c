package rag

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"callgate/rag/chunks"
)

// Event reports the progress of a Sync: an EventStart, an EventProgress for each file read, and an EventDone if all
// went well. Events come in order, from one goroutine.
type Event struct {
	Kind    EventKind
	Path    string // EventStart: the workspace; EventProgress, EventSkip: the file, relative to it
	Reason  string // EventSkip: why the file, or a folder with everything in it, is left out
	Indexed int    // files done
	Total   int    // files to do
	Summary Summary
	// Expected, in an EventSkip, means that an ignore file or the file's type explains it. Summary.Skipped does not
	// count such files, and after the first 10,000 one event stands for the rest.
	Expected bool
}

// EventKind is the kind of an Event.
type EventKind string

const (
	EventStart    EventKind = "start"
	EventProgress EventKind = "progress"
	EventSkip     EventKind = "skip"
	EventDone     EventKind = "done" // Summary is set
)

// Summary is the result of a Sync.
type Summary struct {
	Files    int           `json:"files"`
	Chunks   int           `json:"chunks"`
	Changed  int           `json:"changed"` // new files included
	Removed  int           `json:"removed"`
	Skipped  int           `json:"skipped"`
	Duration time.Duration `json:"duration"` // nanoseconds
}

// checkpoint is how often a long Sync publishes its work, so that a kill loses little.
const checkpoint = 3 * time.Second

// Sync brings the index up to date with the workspace root: it reads what is new or changed, and drops what is gone,
// ignored or denied. Documents stay. progress may be nil; Sync calls it in the caller's goroutine.
//
// If another process is writing, Sync waits for it. If ctx or the process ends, finished work stays and the next Sync
// continues from there. If the embedder fails, Sync does everything else and returns the error; the next Sync tries the
// embedder again.
func (x *Index) Sync(ctx context.Context, root string, progress func(Event)) (Summary, error) {
	if progress == nil {
		progress = func(Event) {}
	}
	ws, err := x.openWorkspace(root)
	if err != nil {
		return Summary{}, err
	}
	defer ws.close()
	sum, _, err := x.sync(ctx, ws, progress)
	return sum, err
}

// sync brings the whole workspace up to date and returns its directories.
func (x *Index) sync(ctx context.Context, ws *workspace, progress func(Event)) (sum Summary, dirs []string, err error) {
	if limit := x.options.MaxTime; limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limit, fmt.Errorf("indexing took longer than its limit of %s; the next run continues from there", limit))
		defer stop()
	}
	rules := x.rules()
	sum, err = x.update(ctx, ws, progress, func(u *update) error {
		ws.readIgnores()
		files, all, left, err := ws.walk(ctx)
		if err != nil {
			return err
		}
		dirs = all
		u.begin(len(files))
		for _, s := range left {
			u.skip(s)
		}
		u.keep(files)
		if u.w.manifest.Rules != rules {
			u.w.manifest.Rules, u.w.dirty = rules, true
		}
		return errors.Join(u.run(ctx, files), u.reembed(ctx))
	})
	if cause := context.Cause(ctx); err != nil && cause != nil && errors.Is(err, context.DeadlineExceeded) {
		err = cause
	}
	return sum, dirs, err
}

// update runs do to change the files of the index. If all goes well, it sends the EventDone.
func (x *Index) update(ctx context.Context, ws *workspace, progress func(Event), do func(*update) error) (Summary, error) {
	if progress == nil {
		progress = func(Event) {}
	}
	start := time.Now()
	var sum Summary
	err := x.change(ctx, func(w *writer) error {
		if w.manifest.Root != ws.dir {
			w.manifest.Root, w.dirty = ws.dir, true
		}
		return do(&update{w: w, ws: ws, progress: progress, sum: &sum})
	})
	stats, serr := x.Stats()
	sum.Files, sum.Chunks, sum.Duration = stats.Files, stats.Chunks, time.Since(start)
	if err = errors.Join(err, serr); err == nil {
		progress(Event{Kind: EventDone, Path: ws.dir, Indexed: sum.Files, Total: sum.Files, Summary: sum})
	}
	return sum, err
}

// update is a change of the index's files in progress.
type update struct {
	w        *writer
	ws       *workspace
	progress func(Event)
	sum      *Summary
	done     int
	total    int
	rows     atomic.Int64 // in the index or on their way into it
}

func (u *update) begin(total int) {
	u.total = total
	u.progress(Event{Kind: EventStart, Path: u.ws.dir, Total: total})
}

func (u *update) skip(s skipped) {
	if !s.expected {
		u.sum.Skipped++
	}
	u.progress(Event{Kind: EventSkip, Path: s.name, Reason: s.reason, Expected: s.expected, Indexed: u.done, Total: u.total})
}

// keep removes from the index every file that is not among files.
func (u *update) keep(files []found) {
	here := make(map[string]bool, len(files))
	for i := range files {
		here[files[i].name] = true
	}
	for k := range u.w.where {
		if !k.document && !here[k.path] {
			u.remove(k.path)
		}
	}
}

func (u *update) remove(name string) {
	if u.w.remove(key{path: name}) {
		u.sum.Removed++
	}
}

// report is a message of a worker: about a file, a segment, or its failure.
type report struct {
	file      string // the file that is done, "" in other reports
	why       error  // why the file must not be in the index, nil if it may
	segment   *segment
	embedding error
	err       error // the worker gave up
}

// run brings outdated files up to date. It publishes its work now and then.
func (u *update) run(ctx context.Context, files []found) error {
	var todo []found
	old := map[string][16]byte{}
	for i := range files {
		f := &files[i]
		if at, ok := u.w.where[key{path: f.name}]; ok {
			s := u.w.source(at)
			if f.unchanged(s) {
				u.done++
				continue
			}
			old[f.name] = s.Hash
		}
		todo = append(todo, *f)
	}
	if len(todo) == 0 {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	jobs := make(chan *found)
	reports := make(chan report, 64)
	var workers sync.WaitGroup
	for i := range u.w.parts {
		u.rows.Add(int64(u.w.parts[i].live()))
	}
	for range min(runtime.GOMAXPROCS(0), u.w.x.options.workers(), len(todo)) {
		workers.Go(func() { u.work(ctx, jobs, old, reports) })
	}
	go func() {
		defer close(reports)
		defer workers.Wait()
		defer close(jobs)
		for i := range todo {
			select {
			case jobs <- &todo[i]:
			case <-ctx.Done():
				return
			}
		}
	}()
	err := u.collect(reports, stop)
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// collect handles the workers' reports until the last worker is done.
func (u *update) collect(reports <-chan report, stop func()) error {
	var failed error
	var embedding error
	published := time.Now()
	for r := range reports {
		switch {
		case r.err != nil:
			failed = errors.Join(failed, r.err)
			stop()
		case r.segment != nil:
			u.sum.Changed += len(r.segment.rows.Sources)
			u.w.add(r.segment)
			embedding = errors.Join(embedding, r.embedding)
			if time.Since(published) > checkpoint && failed == nil {
				if err := u.w.publish(); err != nil {
					failed = err
					stop()
				}
				published = time.Now()
			}
		default:
			u.done++
			if r.why != nil {
				u.remove(r.file)
				u.skip(skipped{name: r.file, reason: r.why.Error()})
			}
			u.progress(Event{Kind: EventProgress, Path: r.file, Indexed: u.done, Total: u.total})
		}
	}
	if failed == nil && embedding != nil {
		return fmt.Errorf("indexed, but without vectors: %w", embedding)
	}
	return failed
}

// work reads files and makes segments of them.
func (u *update) work(ctx context.Context, jobs <-chan *found, old map[string][16]byte, reports chan<- report) {
	b := newBuilder(u.w.x.options.Embedder)
	maxRows := u.w.x.options.rows()
	flush := func() bool {
		if len(b.docs) == 0 {
			return true
		}
		s, embedding, err := b.build(ctx, u.w)
		reports <- report{segment: s, embedding: embedding, err: err}
		return err == nil
	}
	for f := range jobs {
		text, s, err := u.ws.read(f)
		switch hash, known := old[f.name]; {
		case isSkip(err):
			reports <- report{file: f.name, why: err}
			continue
		case err != nil:
			reports <- report{err: err}
			return
		case known && hash == s.Hash: // same content, only the time has changed
		default:
			passages := chunks.Of(chunks.Language{Name: s.Language, Kind: s.Kind}, text)
			if len(passages) == 0 {
				reports <- report{file: f.name, why: errSkip("empty")}
				continue
			}
			if n := int64(len(passages)); u.rows.Add(n) > maxRows {
				u.rows.Add(-n)
				reports <- report{file: f.name, why: errSkip(u.w.x.options.noRoom())}
				continue
			}
			b.add(s, passages)
		}
		reports <- report{file: f.name}
		if ctx.Err() != nil || b.size >= segmentSize && !flush() {
			return
		}
	}
	if ctx.Err() == nil {
		flush()
	}
}
