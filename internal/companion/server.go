package companion

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/idp"
	"callgate/internal/presence"
)

// Options configures a Server. Backend, Credentials and Logger are required.
type Options struct {
	DataDir     string                  // the processes that share it have one hub
	Address     string                  // of the hub, should this process become it: "" means DefaultAddress; ":0" any free port; loopback only
	Remote      *Remote                 // where other machines come in while this process is the hub; nil nowhere
	Version     string                  // of callgate, for people
	Worker      string                  // whose rules this process goes by; "" when it judges nothing
	Protocols   []string                // MCP revisions that callgate speaks, for people
	Backend     Backend                 // what waits, and who takes the answers
	Changes     Changes                 // nil compares nothing
	Rules       Rules                   // nil shows none
	Suggestions Suggestions             // nil suggests nothing
	Reports     Reports                 // nil makes none
	Tools       Tools                   // nil shows none
	Hooks       Hooks                   // nil shows none
	Hosts       func() []wire.HostState // of this machine; nil does not look
	HostHooks   http.Handler            // answers hosts that post their hooks, and knows who may; nil answers none
	Freezer     Freezer                 // nil freezes nothing
	Identity    *idp.Provider           // where people sign in; nil nowhere
	Presence    *presence.Desk          // proofs that people are there; nil needs none and shows no passkeys
	Metrics     http.Handler            // answers scrapes; nil counts nothing
	Checkpoints Checkpoints             // nil when none are kept
	Chatter     Chatter                 // nil passes no chats on
	Bringer     Bringer                 // nil takes no tools from clients
	Retrieval   Retrieval               // nil offers no search and no knowledge bases
	Problems    func() []string         // what is wrong with what callgate keeps; nil when nobody looks
	Credentials *credentials.Store      // who may watch and answer
	Logger      *slog.Logger
}

// Remote is an address that other machines can reach. All of it is required.
type Remote struct {
	Address     string           // host:port
	Hosts       []string         // names and addresses, without port, that clients know this machine by
	Certificate *tls.Certificate // clients see nothing before it
}

// timing holds the limits of connections. Tests shorten them.
type timing struct {
	hello time.Duration // how long a client may take to say hello
	write time.Duration // how long one frame may take to leave
	ping  time.Duration // how often the server asks whether the client lives
	dead  time.Duration // how long a client may stay silent; more than ping
	tool  time.Duration // how long it may take for a call of a tool that it brought

	alone   time.Duration // how long a process looks for a hub before it opens a door of its own
	goodbye time.Duration // how long a process that ends may take between its clients' connections and the hub's
	frames  int           // that a process may send to one client of the hub in each rateWhile
}

var defaultTiming = timing{
	hello: 10 * time.Second, write: 10 * time.Second, ping: 30 * time.Second, dead: 75 * time.Second, tool: 5 * time.Minute,
	alone: 3 * time.Second, goodbye: 500 * time.Millisecond, frames: 10000,
}

// Server is the companion of one process. Of the processes that share a data directory one is the hub: people's
// clients reach all of them through it. Close it.
type Server struct {
	options       Options
	conversations conversations
	problems      func() []string
	apart         atomic.Bool // there is a hub that does not answer, or no way to it
	credentials   *credentials.Store
	log           *slog.Logger
	wanted        string // the address that the configuration asks for
	timing        timing
	sockets       places
	pairings      pairings
	paces         paces
	fleet         fleet       // the processes that joined; empty unless this one is the hub
	leads         atomic.Bool // this one is the hub

	ctx     context.Context // ends when Close begins
	stop    context.CancelFunc
	mu      sync.Mutex     // guards address, and orders enter with Close
	address string         // host:port that people reach this process at
	serving sync.WaitGroup // the place that is held and every request, WebSockets included
	closed  func() error
}

// Listen makes the process the hub of its data directory, or has it join the one that there is. It returns
// when people can reach the process. From then on, until Close, it takes the hub's place when the hub ends. If
// the hub's address is taken it uses a free port and logs it. An address that other machines can reach is an
// error: they come in by Options.Remote.
func Listen(o Options) (*Server, error) { return listen(o, defaultTiming) }

func listen(o Options, t timing) (*Server, error) {
	wanted, err := client.Loopback(o.Address)
	if err != nil {
		return nil, err
	}
	if r := o.Remote; r != nil && (r.Address == "" || len(r.Hosts) == 0 || r.Certificate == nil) {
		return nil, errors.New("companion: an address for other machines needs a certificate and the names of this machine")
	}
	s := &Server{
		options: o, credentials: o.Credentials, log: o.Logger,
		wanted: wanted, timing: t, paces: paces{told: rate.Sometimes{Interval: time.Second}},
	}
	s.problems = s.unseen
	if o.Problems != nil {
		s.problems = func() []string { return append(o.Problems(), s.unseen()...) }
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.closed = sync.OnceValue(s.close)
	first, err := s.takePlace(wanted, t.alone)
	if err != nil {
		s.stop()
		return nil, err
	}
	s.serving.Go(func() { s.keepPlace(first) })
	return s, nil
}

// Address returns host and port that people reach this process at, its own or the hub's. It changes when
// another process becomes the hub.
func (s *Server) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.address
}

func (s *Server) setAddress(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// Close ends every connection, gives up the place among the others and waits until nothing runs any more.
func (s *Server) Close() error { return s.closed() }

func (s *Server) close() error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.serving.Wait()
	return nil
}

// enter counts a request in, so that Close waits for it. It is false when the server is closing. The
// caller calls s.serving.Done when it is true.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.serving.Add(1)
	return true
}

// pause waits, and is false when the server is closing.
func (s *Server) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
