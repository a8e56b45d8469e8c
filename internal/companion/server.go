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
	Address     string                    // the hub's address if this process becomes the hub; "" means DefaultAddress, ":0" any free port; loopback only
	Remote      *hub.Remote               // where other machines connect while this process is the hub; nil for nowhere
	Version     string                    // of callgate, for people
	Replica     string                    // this process's name in a cluster; "" for none
	Replicas    func() []wire.ReplicaInfo // returns the replicas of the cluster; nil without one
	Worker      string                    // whose rules this process follows; "" if it judges nothing
	Protocols   []string                  // MCP revisions of callgate, for people
	Backend     Backend                   // what people see and change
	HostHooks   http.Handler              // serves hosts that post their hooks, and checks who may; nil for none
	Tenants     func() Tenants            // returns the tenants of this process; without tenants it is nil or returns nil
	Identity    *idp.Provider             // where people sign in; nil for nowhere
	Presence    *presence.Desk            // checks proofs of presence; if nil, none are needed and no passkeys are shown
	Metrics     http.Handler              // answers scrapes; nil if metrics are off
	Ready       func() error              // returns why nothing can run now; nil means that calls can always run
	Problems    func() []string           // returns what is wrong with what callgate stores; may be nil
	Credentials *credentials.Store        // who may watch and answer
	Logger      *slog.Logger
}

// timing holds the limits of connections. Tests shorten them.
type timing struct {
	hello time.Duration // how long a client may take to send hello
	ping  time.Duration // how often the server pings the client
	dead  time.Duration // how long a client may stay silent; MUST be more than ping
	tool  time.Duration // how long a call of a tool that the client brought may take
	hub.Timing
}

var defaultTiming = timing{
	hello: 10 * time.Second, ping: 30 * time.Second, dead: 75 * time.Second, tool: 5 * time.Minute,
	Timing: hub.Timing{Alone: 3 * time.Second, Goodbye: 500 * time.Millisecond, Write: 10 * time.Second, Answer: 30 * time.Second, Frames: 10000},
}

// processes connects this process to the others that share its data directory.
type processes interface {
	Open() error                                       // takes a place among them
	Wait()                                             // waits until the place is given up
	Address() string                                   // where people reach this process
	Leads() bool                                       // reports whether this process is the hub
	Problems() []string                                // what people who use this process do not see
	Route(own http.Handler) http.Handler               // relays each request to the process that it is for
	Ask(r *http.Request, own http.Handler) hub.Request // asks several processes at once
	Follow(hello []byte, may func() credentials.Credential, from, person string) *hub.Relay
	Meet(peer hub.Peer)                  // shows people what waits at another replica
	ServeReplicas(listener net.Listener) // answers the hubs of other replicas
}

// Server is the companion of one process. People's clients reach all processes that share a data directory through one
// of them, the hub. The caller MUST Close the Server.
type Server struct {
	options       Options
	backend       *Backend // points into options
	conversations conversations
	credentials   *credentials.Store
	may           *admission
	tenants       tenantFront
	log           *slog.Logger
	timing        timing
	sockets       places
	rechecks      rechecks
	encodings     encodings
	pairings      pairings
	paces         paces
	hub           processes
	api           http.Handler // serves all paths

	ctx     context.Context // ends when Close begins
	stop    context.CancelFunc
	mu      sync.Mutex     // orders enter with Close
	serving sync.WaitGroup // every request, and the goroutines of WebSockets
	closed  func() error
}

// Listen makes the process the hub of its data directory, or joins the existing hub. It returns once people can reach
// the process. Until Close, the process may take the hub's place when the hub ends. If the hub's address is in use, it
// takes a free port and logs it. An address that other machines can reach is an error; use Options.Remote for them.
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
	s.tenants = tenantFront{o.Tenants, o.Credentials}
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

// Address returns the host:port where people reach this process: its own or the hub's. It changes when another process
// becomes the hub.
func (s *Server) Address() string { return s.hub.Address() }

// Leads reports whether this process is the hub.
func (s *Server) Leads() bool { return s.hub.Leads() }

// Close ends every connection, gives up the process's place, and waits until nothing runs any more.
func (s *Server) Close() error { return s.closed() }

func (s *Server) close() error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	s.hub.Wait()
	s.serving.Wait()
	return nil
}

// enter registers a request, so that Close waits for it. It returns false if the server is closing. If it returns true,
// the caller MUST call s.serving.Done.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.serving.Add(1)
	return true
}

// problems returns what is wrong with what callgate stores, and what people do not see.
func (s *Server) problems() []string {
	if s.options.Problems == nil {
		return s.hub.Problems()
	}
	return append(s.options.Problems(), s.hub.Problems()...)
}

// Meet shows people here what waits at another replica of the cluster. It returns at once.
func (s *Server) Meet(peer hub.Peer) { s.hub.Meet(peer) }

// ServeReplicas answers other replicas until the listener is closed. Whoever connects MUST have proved to be one.
func (s *Server) ServeReplicas(listener net.Listener) { s.hub.ServeReplicas(listener) }
