package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/gate/tools"
)

// Status describes a hook for people.
type Status struct {
	Name        string   `json:"name"`
	Event       []string `json:"event"`
	Matcher     string   `json:"matcher"`
	Action      string   `json:"action"` // command, log or webhook
	When        string   `json:"when"`   // before or after
	Enabled     bool     `json:"enabled"`
	Runs        int      `json:"runs"`     // since this process started
	Failures    int      `json:"failures"` // since this process started
	LastFailure *Failure `json:"lastFailure,omitempty"`
	Problem     string   `json:"problem,omitempty"` // why it cannot run, or never will
	Queue       *Queue   `json:"queue,omitempty"`   // for a webhook
}

// Queue counts the events that wait to be posted, in all processes of the worker.
type Queue struct {
	Events int        `json:"events"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// Failure is a hook's last failure.
type Failure struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"`
	Error string    `json:"error"`
}

// stats counts what a hook did.
type stats struct {
	mu       sync.Mutex
	runs     int
	failures int
	last     *Failure
}

func (s *stats) ran() {
	s.mu.Lock()
	s.runs++
	s.mu.Unlock()
}

func (s *stats) failed(e *Event, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures++
	s.last = &Failure{At: time.Now().UTC(), Event: e.Name, Error: tools.Visible(err.Error())}
}

// List returns the status of every hook, in the order of the configuration. known lists the names that a matcher could
// mean: tools (qualified and by their servers' names), servers and agents; nil if they are not known.
func (r *Runner) List(known []string) []Status {
	if r == nil {
		return nil
	}
	list := make([]Status, len(r.hooks))
	for i, h := range r.hooks {
		list[i] = Status{Name: h.name, Event: h.events, Matcher: h.pattern, Action: h.action.kind(), When: "after", Enabled: r.enabled(h)}
		if h.before {
			list[i].When = "before"
		}
		list[i].Problem = h.problem(known)
		h.stats.mu.Lock()
		list[i].Runs, list[i].Failures, list[i].LastFailure = h.stats.runs, h.stats.failures, h.stats.last
		h.stats.mu.Unlock()
		if w, ok := h.action.(*webhook); ok {
			list[i].Queue = w.queue.status()
		}
	}
	return list
}

// problem returns why the hook cannot run, or never will; "" if it can.
func (h *hook) problem(known []string) string {
	if err := h.action.problem(); err != nil {
		return tools.Visible(err.Error())
	}
	if h.matcher == nil || len(known) == 0 || slices.ContainsFunc(h.events, isOfSessions) {
		return ""
	}
	if slices.ContainsFunc(known, h.matcher.Match) || slices.ContainsFunc(tools.Kinds(), h.matcher.Match) {
		return ""
	}
	return fmt.Sprintf("the matcher %q matches no tool, kind, server or agent that callgate knows, so the hook never runs", tools.Visible(h.pattern))
}

// isOfSessions reports whether the event may be about names that nobody can list: agents that clients register.
func isOfSessions(event string) bool {
	return event == AgentError || event == SessionStart || event == SessionEnd
}

// ErrUnknown is returned if no hook of that name is configured.
var ErrUnknown = errors.New("no hook has this name")

// SetEnabled switches a hook for every process of the worker, now and after restarts.
func (r *Runner) SetEnabled(name string, on bool) error {
	h, err := r.named(name)
	if err != nil {
		return err
	}
	return r.state.set(h.name, on)
}

// Has reports whether a hook of that name is configured.
func (r *Runner) Has(name string) bool { return r != nil && r.find(name) != nil }

func (r *Runner) named(name string) (*hook, error) {
	if r.Has(name) {
		return r.find(name), nil
	}
	var names []string
	for _, h := range r.List(nil) {
		names = append(names, h.Name)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%w: callgate.yaml has no hooks", ErrUnknown)
	}
	return nil, fmt.Errorf("%w: use %s", ErrUnknown, strings.Join(names, ", "))
}

// enabled reports whether the hook is on. What people switched wins over the configuration. If that cannot be read, the
// configuration decides.
func (r *Runner) enabled(h *hook) bool {
	switched, err := r.state.get()
	if err != nil {
		r.log.Error("cannot read which hooks are switched on, so the configuration decides", "error", err)
	}
	if on, ok := switched[h.name]; ok {
		return on
	}
	return h.enabled
}

// Test runs one hook now, even a disabled one, and returns its output, or what it would decide.
func (r *Runner) Test(ctx context.Context, name string, e Event) (output string, err error) {
	h, err := r.named(name)
	if err != nil {
		return "", err
	}
	r.complete(&e)
	if !h.before {
		return r.perform(ctx, h, &e)
	}
	o, err := r.ask(ctx, h, &e)
	if err != nil {
		return "", err
	}
	return o.words(), nil
}
