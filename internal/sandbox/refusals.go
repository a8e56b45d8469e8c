package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"callgate/internal/guard"
)

// Refusals holds the files that a sandboxed server was refused, and people's answers. It outlives the server's process,
// so that the next process can reach what was allowed.
type Refusals struct {
	home  string
	tell  func(guard.Access)
	judge func(context.Context, guard.Access) error

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	asked   map[guard.Access]bool
	waiting int // questions that wait for an answer
	open    []guard.Access
	opened  chan struct{} // closed and replaced when open grows
}

// People are asked at most maxAsked times about one server, and at most maxWaiting questions wait at a time. A file
// that is skipped for that reason is asked about at its next refusal.
const (
	maxAsked   = 32
	maxWaiting = 4
)

// NewRefusals returns the refusals of one server. tell is called at each refusal. judge, if not nil, is called once for
// each file and returns nil if the next process may have it; it may wait for a person. The caller MUST call Close.
func NewRefusals(tell func(guard.Access), judge func(context.Context, guard.Access) error) *Refusals {
	r := &Refusals{tell: tell, judge: judge, asked: map[guard.Access]bool{}, opened: make(chan struct{})}
	r.home, _ = os.UserHomeDir() // no home: none to protect
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Close withdraws open questions, and waits for them.
func (r *Refusals) Close() {
	r.cancel()
	r.wg.Wait()
}

// Widen adds to a box what was allowed, and makes the box report its refusals. widened is closed when more is allowed.
func (r *Refusals) Widen(box *guard.Box) (widened <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.open {
		if a.Write {
			box.Write = append(box.Write, a.Path)
		} else {
			box.Read = append(box.Read, a.Path)
		}
	}
	box.Refused = r.refused
	return r.opened
}

// place returns the path that must be open for an access: a missing file is made in its folder.
func place(a guard.Access) string {
	if _, err := os.Lstat(a.Path); a.Write && err != nil {
		return filepath.Dir(a.Path)
	}
	return a.Path
}

// refused handles a box's refusal. It ignores missing files, because programs look for many.
func (r *Refusals) refused(a guard.Access) {
	if !r.concerns(a) {
		return
	}
	r.tell(a)
	a = guard.Access{Path: place(a), Write: a.Write} // what a yes opens, whatever becomes of the file meanwhile
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.judge == nil || r.asked[a] || len(r.asked) == maxAsked || r.waiting == maxWaiting || r.ctx.Err() != nil {
		return
	}
	r.asked[a] = true
	r.waiting++
	r.wg.Go(func() {
		err := r.judge(r.ctx, a)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.waiting--; err != nil {
			return
		}
		if r.open = append(r.open, a); !slices.Contains(r.open[:len(r.open)-1], a) {
			close(r.opened)
			r.opened = make(chan struct{})
		}
	})
}

// concerns reports whether a person could usefully be asked about a: it is a file or a folder that exists, or was to be
// made in an existing folder, and is not as wide as the home.
func (r *Refusals) concerns(a guard.Access) bool {
	info, err := os.Stat(a.Path)
	if err != nil && a.Write && !a.Aside {
		info, err = os.Stat(filepath.Dir(a.Path))
	}
	o := Options{Home: r.home}
	return err == nil && (info.Mode().IsRegular() || info.IsDir()) && !o.wide(place(a))
}
