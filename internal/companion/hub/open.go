// Package hub connects the processes of a data directory. One of them is the hub, to which people's clients connect;
// the others join it. An approval belongs to the process whose host waits, and the hub decides nothing for it.
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

// Remote is an address that other machines can reach. All fields are required.
type Remote struct {
	Address     string           // host:port
	Hosts       []string         // names and addresses, without port, by which clients know this machine
	Certificate *tls.Certificate // shown to clients before anything else
}

// Options configures a Hub. All fields but Remote and Worker are required.
type Options struct {
	DataDir     string  // the processes that share it have one hub
	Address     string  // the hub's address if this process becomes the hub
	Remote      *Remote // where other machines connect while this process is the hub; nil for nowhere
	Version     string  // of callgate, for people
	Worker      string  // whose rules this process follows; "" if it judges nothing
	Credentials *credentials.Store
	Log         *slog.Logger
	Timing      Timing
	Door        func(*Door) http.Handler                                   // serves clients that connect through a door of this process
	Member      http.Handler                                               // serves the hub while this process is a member
	Caller      func(*http.Request) credentials.Credential                 // returns what a request may do; "" means nothing
	Owns        func(things, id string) bool                               // reports whether this process itself has the session or approval
	Counted     map[string]func(sum, next json.RawMessage) json.RawMessage // adds up the processes' counts of shared things, by the path that lists them
}

// Timing holds the limits of the hub. Tests shorten them.
type Timing struct {
	Alone   time.Duration // how long a process looks for a hub before it opens its own door
	Goodbye time.Duration // how long an ending process may take between closing its clients' connections and the hub's
	Write   time.Duration // how long it may take to write one frame
	Answer  time.Duration // how long it may take to answer a request, except for those that get rest.Patience
	Frames  int           // frames that a process may send to one client of the hub in each RateWhile
}

// Hub is the place of this process among those that share its data directory: it is their hub, a member, or alone.
type Hub struct {
	o     Options
	ctx   context.Context // its end gives up the place
	fleet fleet           // processes that joined; empty unless this one is the hub
	leads atomic.Bool     // this process is the hub
	apart atomic.Bool     // the hub does not answer or cannot be reached

	mu      sync.Mutex // guards address
	address string     // host:port where people reach this process
	holding sync.WaitGroup
}

// New returns a Hub without a place. It can hold one until ctx ends.
func New(ctx context.Context, o Options) *Hub { return &Hub{o: o, ctx: ctx} }

// Open takes a place and keeps one from then on: if the hub ends, another process replaces it. Open returns once people
// can reach this process. Wait waits for the end.
func (h *Hub) Open() error {
	first, err := h.takePlace(h.o.Address, h.o.Timing.Alone)
	if err != nil {
		return err
	}
	h.holding.Go(func() { h.keepPlace(first) })
	return nil
}

// Wait waits until the place is given up.
func (h *Hub) Wait() { h.holding.Wait() }

// Leads reports whether this process is the hub.
func (h *Hub) Leads() bool { return h.leads.Load() }

// Address returns the host:port where people reach this process: its own or the hub's. It changes when another process
// becomes the hub.
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

// pause waits for d. It returns false at once if the place has to be given up.
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
