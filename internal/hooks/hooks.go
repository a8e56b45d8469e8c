// Package hooks runs programs, log lines and webhooks around calls.
//
// A hook that follows an event never delays or fails a call. It runs later, at most a bounded number at a time, and its
// failures are logged and counted. A hook that looks at a call first can only tighten the gate's decision. Text from
// the model or a server reaches a program as an argument, a variable or standard input, never as text that a shell or
// an interpreter reads.
package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate/tools"
	"callgate/internal/guard"
	"callgate/permissions"
)

// hook is one configured and checked hook.
type hook struct {
	name      string
	events    []string
	matcher   *permissions.Glob // nil matches everything
	pattern   string
	before    bool
	onFailure string
	action    action
	enabled   bool // in the configuration
	timeout   time.Duration
	secrets   bool
	stats     stats
	jobs      chan job // runs that wait; nil if they do not wait in memory
}

// action is what a hook does. ctx ends at the hook's deadline.
type action interface {
	kind() string
	// ready prepares the action on this machine, before it is run.
	ready() error
	// problem returns why ready would fail, or did. It changes nothing and may be called at any time.
	problem() error
	run(ctx context.Context, r *Runner, h *hook, e *Event) (output string, err error)
}

const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 10 * time.Minute

	workers   = 4   // runs of one hook at once
	maxQueued = 256 // runs of one hook that wait; more are dropped, and counted as failures

	// drain is how long hooks may still run when callgate ends.
	drain = 3 * time.Second
)

// Runner runs hooks. A nil Runner has none. All methods are safe for concurrent use.
type Runner struct {
	hooks  []*hook
	worker string
	wall   *guard.Wall
	state  *state
	log    *slog.Logger
	pace   pace

	ctx      context.Context // ends running hooks
	stop     context.CancelFunc
	mu       sync.RWMutex // orders Fire with Close
	closed   bool
	deciding chan struct{} // one token for each deciding hook that runs
	running  sync.WaitGroup
	watching sync.WaitGroup
	unwatch  chan struct{} // closed when Close starts
	closing  sync.Once
}

type job struct {
	hook  *hook
	event Event
}

// New checks the hooks and returns their Runner, or nil if there are none.
func New(o Options) (*Runner, error) {
	if len(o.Hooks) == 0 {
		return nil, nil
	}
	r := &Runner{worker: o.Worker, wall: o.Wall, state: &state{path: o.StateFile}, log: slog.New(slog.DiscardHandler), pace: defaultPace, unwatch: make(chan struct{}), deciding: make(chan struct{}, deciders)}
	for i, c := range o.Hooks {
		h, err := c.check(o)
		if err != nil {
			return nil, fmt.Errorf("hooks[%d] %q: %w", i, c.Name, err)
		}
		if other := r.find(h.name); other != nil {
			return nil, fmt.Errorf("hooks[%d]: two hooks are called %q: give each a name of its own", i, other.name)
		}
		if _, posted := h.action.(*webhook); !posted && !h.before {
			h.jobs = make(chan job, maxQueued)
		}
		r.hooks = append(r.hooks, h)
	}
	if o.Wall != nil {
		w := *o.Wall
		w.Fixed = append(slices.Clone(w.Fixed), r.Files()...) // no hook may change another, or itself
		r.wall = &w
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r, nil
}

// Start lets hooks run from now on. It MUST be called once, before the Runner is shared; the caller MUST Close the
// Runner later. Start fails if an enabled webhook has no usable secret or certificate. It logs a program that cannot
// run on this machine: each of its runs fails, and the others run. Each hook has its own goroutines, so a hanging one
// holds up no other.
func (r *Runner) Start(log *slog.Logger) error {
	if r == nil {
		return nil
	}
	r.log = log
	for _, h := range r.hooks {
		err := h.action.ready()
		if err == nil || !r.enabled(h) {
			continue
		}
		if _, posts := h.action.(*webhook); posts { // without its secret nobody could trust its posts
			return fmt.Errorf("hook %q: %w", h.name, err)
		}
		log.Error("a hook cannot run", "hook", h.name, "error", err)
	}
	for _, h := range r.hooks {
		if h.jobs != nil {
			for range workers {
				r.running.Go(func() { r.work(h) })
			}
		}
		if w, ok := h.action.(*webhook); ok {
			r.running.Go(func() { w.send(r.ctx, r, h) })
		}
	}
	return nil
}

func (r *Runner) find(name string) *hook {
	for _, h := range r.hooks {
		if strings.EqualFold(h.name, name) {
			return h
		}
	}
	return nil
}

// wants reports whether the hook is for this event and what the event is about.
func (h *hook) wants(e *Event) bool {
	if !slices.Contains(h.events, e.Name) {
		return false
	}
	if h.matcher == nil {
		return true
	}
	return slices.ContainsFunc([]string{e.Tool, e.plain, e.ToolName, e.Kind, e.Agent, e.Server}, func(name string) bool {
		return name != "" && h.matcher.Match(name)
	})
}

// Wants reports whether any hook may follow an event of that name. If not, the event need not be made.
func (r *Runner) Wants(event string) bool {
	if r == nil {
		return false
	}
	return slices.ContainsFunc(r.hooks, func(h *hook) bool { return !h.before && slices.Contains(h.events, event) })
}

// Fire lets every hook that is for the event follow it, and waits for none. When Fire returns, the posts of webhooks
// are in their queues, and outlive this process.
func (r *Runner) Fire(e Event) {
	if r == nil {
		return
	}
	r.complete(&e)
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, h := range r.hooks {
		if r.closed || h.before || !h.wants(&e) || !r.enabled(h) {
			continue
		}
		if err := r.queue(h, e); err != nil {
			r.failed(h, &e, err)
		}
	}
}

// queue lets the hook follow the event as soon as it can.
func (r *Runner) queue(h *hook, e Event) error {
	if w, ok := h.action.(*webhook); ok {
		return w.store(h, &e)
	}
	select {
	case h.jobs <- job{h, e}:
		return nil
	default:
		return fmt.Errorf("%d hooks are waiting already: this run is dropped", maxQueued)
	}
}

// complete fills in what every event has.
func (r *Runner) complete(e *Event) {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Worker = r.worker
}

func (r *Runner) work(h *hook) {
	for j := range h.jobs {
		if r.ctx.Err() != nil {
			r.failed(j.hook, &j.event, errors.New("callgate ended before the hook could run"))
			continue
		}
		if _, err := r.perform(r.ctx, j.hook, &j.event); err != nil {
			r.failed(j.hook, &j.event, err)
		}
	}
}

// perform runs the hook for the event and counts it.
func (r *Runner) perform(ctx context.Context, h *hook, e *Event) (output string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("it ran longer than the %s it may, and was ended", h.timeout))
	defer cancel()
	h.stats.ran()
	return h.action.run(ctx, r, h, e)
}

// failed logs and counts a failure of a hook.
func (r *Runner) failed(h *hook, e *Event, err error) {
	h.stats.failed(e, err)
	r.log.Warn("a hook failed", "hook", h.name, "event", e.Name, "error", tools.Visible(err.Error()))
}

// Close lets hooks follow what has happened so far, waits a little for running ones, and ends the rest.
func (r *Runner) Close() {
	if r == nil {
		return
	}
	r.closing.Do(func() {
		close(r.unwatch)
		r.watching.Wait()
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
		for _, h := range r.hooks {
			if h.jobs != nil {
				close(h.jobs)
			}
			if w, ok := h.action.(*webhook); ok {
				close(w.ended)
			}
		}
		enough := time.AfterFunc(drain, r.stop)
		defer enough.Stop()
		r.running.Wait()
		r.stop()
	})
}

// Files returns the user's own files that decide what hooks do: no call may touch them.
func (r *Runner) Files() (files []string) {
	if r == nil {
		return nil
	}
	for _, h := range r.hooks {
		switch a := h.action.(type) {
		case *command:
			files = append(files, a.files()...)
		case *webhook:
			for _, file := range []string{a.secret.file, a.caFile} {
				if file != "" {
					files = append(files, file)
				}
			}
		}
	}
	return files
}

// secretVariables returns the names of the environment variables that hold webhooks' secrets.
func (r *Runner) secretVariables() (names []string) {
	for _, h := range r.hooks {
		if w, ok := h.action.(*webhook); ok && w.secret.variable != "" {
			names = append(names, w.secret.variable)
		}
	}
	return names
}
