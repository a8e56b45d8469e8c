// Package hub brings the processes of a data directory together. One of them is the hub that people's clients connect
// to, and the others join it. An approval belongs to the process whose host waits; the hub decides nothing for it.
package hub

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/companion/credentials"
)

// Remote is an address that other machines can reach. All of it is required.
type Remote struct {
	Address     string           // host:port
	Hosts       []string         // names and addresses, without port, that clients know this machine by
	Certificate *tls.Certificate // clients see nothing before it
}

// Options are what a process brings to its place among the others. All but Remote and Worker is required.
type Options struct {
	DataDir     string  // the processes that share it have one hub
	Address     string  // of the hub, should this process become it
	Remote      *Remote // where other machines come in while this process is the hub; nil nowhere
	Version     string  // of callgate, for people
	Worker      string  // whose rules this process goes by; "" when it judges nothing
	Credentials *credentials.Store
	Log         *slog.Logger
	Timing      Timing
	Door        func(*Door) http.Handler                                   // what clients meet who come in by a door of this process
	Member      http.Handler                                               // what the hub meets when this process is a member
	Caller      func(*http.Request) credentials.Credential                 // what a request may do; "" is nothing
	Owns        func(things, id string) bool                               // this process itself has the session or the approval
	Counted     map[string]func(sum, next json.RawMessage) json.RawMessage // adds up what each process counts of things that they share, by the path that lists them
}

// Timing holds the limits of the hub. Tests shorten them.
type Timing struct {
	Alone   time.Duration // how long a process looks for a hub before it opens a door of its own
	Goodbye time.Duration // how long a process that ends may take between its clients' connections and the hub's
	Write   time.Duration // how long one frame may take to leave
	Frames  int           // that a process may send to one client of the hub in each rateWhile
}

// Hub is the place of this process among those that share its data directory: it is the hub of the others, a member
// of theirs, or alone.
type Hub struct {
	o     Options
	ctx   context.Context // ends the place
	fleet fleet           // the processes that joined; empty unless this one is the hub
	leads atomic.Bool     // this one is the hub
	apart atomic.Bool     // there is a hub that does not answer, or no way to it

	mu      sync.Mutex // guards address
	address string     // host:port that people reach this process at
	holding sync.WaitGroup
}

// New returns a process without a place, which it can have until ctx ends.
func New(ctx context.Context, o Options) *Hub { return &Hub{o: o, ctx: ctx} }

// Open takes a place and keeps one from then on: when the hub ends, another process takes its place. It returns when
// people can reach this process. Wait waits for the end.
func (h *Hub) Open() error {
	first, err := h.takePlace(h.o.Address, h.o.Timing.Alone)
	if err != nil {
		return err
	}
	h.holding.Go(func() { h.keepPlace(first) })
	return nil
}

// Wait returns when the place is given up.
func (h *Hub) Wait() { h.holding.Wait() }

// Leads reports whether this process is the hub.
func (h *Hub) Leads() bool { return h.leads.Load() }

// Address returns host and port that people reach this process at, its own or the hub's. It changes when
// another process becomes the hub.
func (h *Hub) Address() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.address
}

func (h *Hub) setAddress(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.address = address
}

// pause waits, and is false when the place has to be given up.
func (h *Hub) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.ctx.Done():
		return false
	}
}
