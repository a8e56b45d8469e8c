package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"callgate/internal/guard"
)

// Refusals are the files that a server in a sandbox was refused, and what people said of them. They outlive its
// process, so that the next one can reach what was allowed.
type Refusals struct {
	home  string
	tell  func(guard.Access)
	judge func(context.Context, guard.Access) error

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	asked   map[guard.Access]bool
	waiting int // of the questions
	open    []guard.Access
	opened  chan struct{} // closed and made anew when open grows
}

// People are asked maxAsked times about one server, and maxWaiting questions wait at a time. Files that are not asked
// about for that reason are asked about at their next refusal.
const (
	maxAsked   = 32
	maxWaiting = 4
)

// NewRefusals returns those of one server, which Close ends. tell hears of each at once and judge, unless it is nil,
// says once whether the next process may have it; it may wait for a person.
func NewRefusals(tell func(guard.Access), judge func(context.Context, guard.Access) error) *Refusals {
	r := &Refusals{tell: tell, judge: judge, asked: map[guard.Access]bool{}, opened: make(chan struct{})}
	r.home, _ = os.UserHomeDir() // without one there is none to keep
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Close takes back what is still asked, and waits for that.
func (r *Refusals) Close() {
	r.cancel()
	r.wg.Wait()
}

// Widen puts into a box what was allowed, and makes it tell of what it refuses. widened is closed when there is more.
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

// place is what has to be open for a change: what is not there yet is made in its folder.
func place(a guard.Access) string {
	if _, err := os.Lstat(a.Path); a.Write && err != nil {
		return filepath.Dir(a.Path)
	}
	return a.Path
}

// refused hears what a box refuses. It ignores missing files, because programs look for many.
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

// concerns reports whether a person could say something about it: a file or a folder that is there, or that was to be
// made there, and not everything that the user has.
func (r *Refusals) concerns(a guard.Access) bool {
	info, err := os.Stat(a.Path)
	if err != nil && a.Write && !a.Aside {
		info, err = os.Stat(filepath.Dir(a.Path))
	}
	o := Options{Home: r.home}
	return err == nil && (info.Mode().IsRegular() || info.IsDir()) && !o.wide(place(a))
}
