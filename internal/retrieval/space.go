package retrieval

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"callgate/internal/periodic"
	"callgate/rag"
)

// States of a workspace's index.
const (
	Indexing  = "indexing"  // being brought up to date for the first time since the last request
	Ready     = "ready"     // up to date
	Failed    = "failed"    // could not be brought up to date, see Error
	Cancelled = "cancelled" // somebody stopped indexing
	Cleared   = "cleared"   // somebody emptied it
)

// Status is the state of a workspace's index.
type Status struct {
	Path         string    `json:"path"`
	State        string    `json:"state"`
	IndexedFiles int       `json:"indexedFiles"` // of TotalFiles, in the current run
	TotalFiles   int       `json:"totalFiles"`
	CurrentFile  string    `json:"currentFile,omitempty"`
	FileCount    int       `json:"fileCount"` // in the index
	ChunkCount   int       `json:"chunkCount"`
	VectorCount  int       `json:"vectorCount"` // chunks that can also be found by meaning
	Skipped      int       `json:"skipped"`     // files left out for unexpected reasons
	Duration     int64     `json:"duration"`    // milliseconds, of the last run
	FinishedAt   time.Time `json:"finishedAt,omitzero"`
	Watching     bool      `json:"watching"`
	Error        string    `json:"error,omitempty"`
}

// space is a workspace with its index, for all sessions that work in it.
type space struct {
	service *Service
	root    string
	dir     string     // of the index
	index   *rag.Index // nil if it could not be opened, see status.Error

	controlling sync.Mutex // held while it is restarted, stopped or closed
	ended       bool       // guarded by controlling

	mu       sync.Mutex
	sessions map[string]bool
	status   Status
	settled  chan struct{} // closed when it is no longer indexing
	told     time.Time     // when sessions were last told of progress
	toldAt   int           // how many files they were told of
	rest     *time.Timer   // gives memory back; nil until something large was read
	cancel   context.CancelFunc
	running  sync.WaitGroup

	repairing bool // a damaged index is being built again
	closed    bool
	repairs   sync.WaitGroup
}

// open opens a workspace and starts to index it.
func (s *Service) open(root string) *space {
	w := &space{service: s, root: root, sessions: map[string]bool{}, settled: make(chan struct{})}
	w.status = Status{Path: root, State: Failed}
	w.cancel = func() {}
	if err := w.openIndex(); err != nil {
		s.o.Logger.Warn("retrieval: a workspace cannot be searched", "path", root, "error", err)
		w.status.Error = err.Error()
		close(w.settled)
		return w
	}
	w.start()
	return w
}

func (w *space) openIndex() (err error) {
	s := w.service
	if w.dir, err = rag.Dir(s.o.Indexes, w.root); err != nil {
		return err
	}
	o := s.o.Index
	if o.Denied, err = s.o.Denied(w.root); err != nil {
		return err
	}
	o.Rules = s.o.Rules
	w.index, err = rag.Open(w.dir, o)
	return err
}

// start starts a goroutine that brings the index up to date and, with Watch, keeps it so. None may be running.
func (w *space) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	w.cancel = cancel
	w.status = Status{Path: w.root, State: Indexing, Watching: w.service.o.Watch}
	w.settled = make(chan struct{})
	w.mu.Unlock()
	w.running.Go(func() {
		defer cancel()
		w.take(ctx)
		var giving sync.WaitGroup
		giving.Go(func() { w.give(ctx) })
		w.run(ctx)
		giving.Wait()
	})
}

// stop stops what start began and waits for it. It sets state if the run had not finished, or if state is Cleared.
func (w *space) stop(state string) {
	w.mu.Lock()
	cancel := w.cancel
	w.mu.Unlock()
	cancel()
	w.running.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.Watching = false
	if w.status.State == Indexing || state == Cleared {
		w.settle(state, nil)
	}
}

// retryAfter is how long after a failure indexing is retried.
const retryAfter = time.Minute

func (w *space) run(ctx context.Context) {
	for {
		var err error
		if w.service.o.Watch {
			err = w.index.Watch(ctx, w.root, w.event)
		} else {
			_, err = w.index.Sync(ctx, w.root, w.event)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		w.service.o.Logger.Warn("retrieval: index is not up to date", "path", w.root, "error", err)
		w.mu.Lock()
		w.settle(Failed, err)
		w.mu.Unlock()
		if !periodic.Sleep(ctx, retryAfter) {
			return
		}
	}
}

// settle sets the state and releases those who wait for the index. The caller holds mu.
func (w *space) settle(state string, err error) {
	w.status.State, w.status.Error = state, ""
	if err != nil {
		w.status.Error = err.Error()
	}
	select {
	case <-w.settled:
	default:
		close(w.settled)
	}
}

// Memory is given back after opening that many chunks or reading that many files.
const (
	manyChunks = 10_000
	manyFiles  = 1000
)

// The delay before memory is given back: a run must end first, and searches come in bursts.
const (
	afterRun    = time.Second
	afterSearch = 10 * time.Second
)

// restAfter gives memory back to the system after a quiet period. What opening, building or searching a large index
// took is not needed again soon. The caller holds mu.
func (w *space) restAfter(quiet time.Duration) {
	if w.rest == nil {
		w.rest = time.AfterFunc(quiet, w.giveBack)
	} else {
		w.rest.Reset(quiet)
	}
}

func (w *space) giveBack() {
	if err := w.index.Rest(); err != nil && !errors.Is(err, rag.ErrClosed) {
		w.service.o.Logger.Debug("retrieval: memory is not given back", "path", w.root, "error", err)
	}
	runtime.GC() // this one only empties pools
	debug.FreeOSMemory()
}

// tellEvery keeps listeners from being flooded: thousands of files can be indexed per second.
const tellEvery = 200 * time.Millisecond

// follow updates the status and reports whether to tell sessions of the event. The caller holds w.mu.
func (w *space) follow(e rag.Event) (tell bool) {
	switch e.Kind {
	case rag.EventStart:
		w.status.IndexedFiles, w.status.TotalFiles, w.status.CurrentFile, w.status.Skipped = 0, e.Total, "", 0
	case rag.EventProgress:
		w.status.IndexedFiles, w.status.TotalFiles, w.status.CurrentFile = e.Indexed, e.Total, e.Path
		if tell = time.Since(w.told) >= tellEvery || e.Indexed == e.Total; tell {
			w.told, w.toldAt = time.Now(), e.Indexed
		}
		return tell
	case rag.EventSkip:
		if !e.Expected {
			w.status.Skipped++
		}
		return false
	case rag.EventDone:
		w.status.IndexedFiles, w.status.TotalFiles, w.status.CurrentFile = e.Indexed, e.Total, ""
		w.status.Duration, w.status.FinishedAt = e.Summary.Duration.Milliseconds(), time.Now().UTC()
		w.status.State, w.status.Error = Ready, ""
	}
	return true
}

// event updates the status and tells every session.
func (w *space) event(e rag.Event) {
	w.mu.Lock()
	first := w.status.State == Indexing
	tell := w.follow(e)
	end := rag.Event{Kind: rag.EventProgress, Indexed: e.Total, Total: e.Total}
	unfinished := e.Kind == rag.EventDone && w.toldAt < e.Total // nobody was told of files that went away meanwhile
	if e.Kind == rag.EventStart || e.Kind == rag.EventDone {
		w.toldAt = 0
	}
	sessions := slices.Sorted(maps.Keys(w.sessions))
	if e.Kind == rag.EventDone && (first && e.Summary.Chunks >= manyChunks || e.Summary.Changed >= manyFiles) {
		w.restAfter(afterRun)
	}
	w.mu.Unlock()
	for _, id := range sessions {
		if unfinished && w.service.o.Tell != nil {
			w.service.o.Tell(id, end)
		}
		if tell && w.service.o.Tell != nil {
			w.service.o.Tell(id, e)
		}
		if e.Kind == rag.EventDone && w.service.o.Done != nil {
			w.service.o.Done(id, w.root, e.Summary)
		}
	}
	if e.Kind == rag.EventDone { // those who wait for the index have been told first
		w.mu.Lock()
		w.settle(w.status.State, nil)
		w.mu.Unlock()
	}
}

func (w *space) join(sessionID string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions[sessionID] = true
}

// leave removes a session and reports whether any is left.
func (w *space) leave(sessionID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.sessions, sessionID)
	return len(w.sessions) > 0
}

func (w *space) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	defer w.repairs.Wait() // once controlling is free
	w.controlling.Lock()
	defer w.controlling.Unlock()
	w.ended = true
	w.stop(Cancelled)
	w.mu.Lock()
	if w.rest != nil {
		w.rest.Stop()
	}
	w.mu.Unlock()
	if w.index == nil {
		return nil
	}
	return w.index.Close()
}

// now returns the status with the current size of the index.
func (w *space) now() Status {
	w.mu.Lock()
	status := w.status
	w.mu.Unlock()
	if w.index == nil {
		return status
	}
	stats, err := w.index.Stats()
	if err != nil {
		if status.Error == "" && !errors.Is(err, rag.ErrClosed) {
			status.State, status.Error = Failed, err.Error()
		}
		return status
	}
	status.FileCount, status.ChunkCount, status.VectorCount = stats.Files, stats.Chunks, stats.Vectors
	return status
}
