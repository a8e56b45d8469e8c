package companion

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/idp"
	"callgate/internal/presence"
)

// Options configures a Server. Backend.Gate, Credentials and Logger are required.
type Options struct {
	DataDir     string                    // the processes that share it have one hub
	Address     string                    // of the hub, should this process become it: "" means DefaultAddress; ":0" any free port; loopback only
	Remote      *hub.Remote               // where other machines come in while this process is the hub; nil nowhere
	Version     string                    // of callgate, for people
	Replica     string                    // which one of a cluster this process is; "" for none
	Replicas    func() []wire.ReplicaInfo // of the cluster; nil for none
	Worker      string                    // whose rules this process goes by; "" when it judges nothing
	Protocols   []string                  // MCP revisions that callgate speaks, for people
	Backend     Backend                   // what people see and change
	HostHooks   http.Handler              // answers hosts that post their hooks, and knows who may; nil answers none
	Tenants     func() Tenants            // of this process; nil, or what it returns is, without tenants
	Identity    *idp.Provider             // where people sign in; nil nowhere
	Presence    *presence.Desk            // proofs that people are there; nil needs none and shows no passkeys
	Metrics     http.Handler              // answers scrapes; nil counts nothing
	Ready       func() error              // why nothing can run here now; nil is always
	Problems    func() []string           // what is wrong with what callgate keeps; nil when nobody looks
	Credentials *credentials.Store        // who may watch and answer
	Logger      *slog.Logger
}

// timing holds the limits of connections. Tests shorten them.
type timing struct {
	hello time.Duration // how long a client may take to say hello
	ping  time.Duration // how often the server asks whether the client lives
	dead  time.Duration // how long a client may stay silent; more than ping
	tool  time.Duration // how long it may take for a call of a tool that it brought
	hub.Timing
}

var defaultTiming = timing{
	hello: 10 * time.Second, ping: 30 * time.Second, dead: 75 * time.Second, tool: 5 * time.Minute,
	Timing: hub.Timing{Alone: 3 * time.Second, Goodbye: 500 * time.Millisecond, Write: 10 * time.Second, Frames: 10000},
}

// processes is this process among those that share its data directory.
type processes interface {
	Open() error                                       // takes a place among them
	Wait()                                             // for its end
	Address() string                                   // that people reach this process at
	Leads() bool                                       // this process is the hub of the others
	Problems() []string                                // what people who come to this process do not see
	Route(own http.Handler) http.Handler               // has the process answer that a request is for
	Ask(r *http.Request, own http.Handler) hub.Request // several at once
	Follow(hello []byte, may func() credentials.Credential, from, person string) *hub.Relay
	Meet(peer hub.Peer)                  // shows people what waits at another replica
	ServeReplicas(listener net.Listener) // answers the hubs of other replicas
}

// Server is the companion of one process. One of the processes that share a data directory is the hub, through which
// people's clients reach all of them. The caller MUST Close it.
type Server struct {
	options       Options
	backend       *Backend // in options
	conversations conversations
	credentials   *credentials.Store
	may           *admission
	tenants       fronted
	log           *slog.Logger
	timing        timing
	sockets       places
	rechecks      rechecks
	encodings     encodings
	pairings      pairings
	paces         paces
	hub           processes
	api           http.Handler // routes, once there is a hub

	ctx     context.Context // ends when Close begins
	stop    context.CancelFunc
	mu      sync.Mutex     // orders enter with Close
	serving sync.WaitGroup // every request, WebSockets included
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
		timing: t, paces: paces{told: rate.Sometimes{Interval: time.Second}},
	}
	s.backend = &s.options.Backend
	s.conversations.backend, s.conversations.log = s.backend, s.log
	s.tenants = fronted{o.Tenants, o.Credentials}
	s.may = &admission{credentials: o.Credentials, presence: o.Presence, note: s.backend.Gate.Note, reply: replies{o.Logger}, log: o.Logger}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.closed = sync.OnceValue(s.close)
	s.hub = hub.New(s.ctx, hub.Options{
		DataDir: o.DataDir, Address: wanted, Remote: o.Remote, Version: o.Version, Worker: o.Worker, Credentials: o.Credentials, Log: o.Logger, Timing: t.Timing,
		Door:   func(d *hub.Door) http.Handler { return rest.Recovering(s.log, s.guard(d, s.hub.Route(s.api))) },
		Member: rest.Recovering(s.log, s.admitted(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.api.ServeHTTP(w, r) }))),
		Caller: func(r *http.Request) credentials.Credential { return s.may.caller(r, nil) },
		Owns:   s.owns, Counted: map[string]func(sum, next json.RawMessage) json.RawMessage{"/api/hooks": addHook},
	})
	s.api = s.routes()
	if err := s.hub.Open(); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// Address returns host and port that people reach this process at, its own or the hub's. It changes when
// another process becomes the hub.
func (s *Server) Address() string { return s.hub.Address() }

// Leads reports whether this process is the hub.
func (s *Server) Leads() bool { return s.hub.Leads() }

// Close ends every connection, gives up the place among the others and waits until nothing runs any more.
func (s *Server) Close() error { return s.closed() }

func (s *Server) close() error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.hub.Wait()
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

// problems are what is wrong with what callgate keeps, and what people do not see.
func (s *Server) problems() []string {
	if s.options.Problems == nil {
		return s.hub.Problems()
	}
	return append(s.options.Problems(), s.hub.Problems()...)
}

// Meet shows people here what waits at another replica of the cluster. It returns at once.
func (s *Server) Meet(peer hub.Peer) { s.hub.Meet(peer) }

// ServeReplicas answers what other replicas ask for their people, until the listener is closed. Whoever connects MUST
// have proven to be one.
func (s *Server) ServeReplicas(listener net.Listener) { s.hub.ServeReplicas(listener) }
