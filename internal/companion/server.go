package companion

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"
)

// DefaultAddress is where the companion listens unless it is told otherwise.
const DefaultAddress = "127.0.0.1:7777"

// Options configures a Server. Backend, Credentials and Logger are required.
type Options struct {
	DataDir     string       // the companion is announced here
	Address     string       // "" means DefaultAddress; ":0" any free port; loopback only
	Version     string       // of callgate, for people
	Protocols   []string     // MCP revisions that callgate speaks, for people
	Backend     Backend      // what waits, and who takes the answers
	Rules       Rules        // nil shows none
	Tools       Tools        // nil shows none
	Hooks       Hooks        // nil shows none
	Credentials *Credentials // who may watch and answer
	Logger      *slog.Logger
}

// timing holds the limits of one WebSocket connection. Tests shorten them.
type timing struct {
	hello time.Duration // how long a client may take to say hello
	write time.Duration // how long one frame may take to leave
	ping  time.Duration // how often the server asks whether the client lives
	dead  time.Duration // how long a client may stay silent; more than ping
}

var defaultTiming = timing{hello: 10 * time.Second, write: 10 * time.Second, ping: 30 * time.Second, dead: 75 * time.Second}

// Server is a running companion. Close it.
type Server struct {
	backend     Backend
	rules       Rules // nil when there are none to be seen
	tools       Tools // likewise
	hooks       Hooks // likewise
	credentials *Credentials
	log         *slog.Logger
	version     string
	protocols   []string
	dataDir     string
	address     string          // host:port it listens on
	hosts       map[string]bool // values of the Host header that mean this server
	timing      timing
	sockets     chan struct{} // one token for each open WebSocket
	pairings    pairings

	http    *http.Server
	ctx     context.Context // ends when Close begins
	stop    context.CancelFunc
	mu      sync.Mutex     // orders enter with Close
	serving sync.WaitGroup // the listener's loop and every request, WebSockets included
	closed  func() error
}

// Listen starts a companion and announces it in the data directory. If the port is taken it uses a free
// one and logs it. An address that other machines can reach is an error: it would need TLS, which is not
// offered yet.
func Listen(o Options) (*Server, error) { return listen(o, defaultTiming) }

func listen(o Options, t timing) (*Server, error) {
	listener, err := bind(o.Address, o.Logger)
	if err != nil {
		return nil, err
	}
	s := &Server{
		backend: o.Backend, rules: o.Rules, tools: o.Tools, hooks: o.Hooks, credentials: o.Credentials, log: o.Logger, version: o.Version, protocols: o.Protocols,
		dataDir: o.DataDir, address: listener.Addr().String(), hosts: make(map[string]bool), timing: t,
		sockets: make(chan struct{}, maxSockets),
	}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		s.hosts[net.JoinHostPort(host, port)] = true
	}
	s.hosts[s.address] = true
	if err := announce(o.DataDir, s.address); err != nil {
		listener.Close()
		return nil, err
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.closed = sync.OnceValue(s.close)
	s.http = &http.Server{
		Handler:           s.guard(s.routes()),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
	}
	s.serving.Go(func() { s.keepPublished(s.ctx) })
	s.serving.Go(func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("companion: stopped", slog.Any("error", err))
		}
	})
	return s, nil
}

// Address returns host and port that the server listens on.
func (s *Server) Address() string { return s.address }

// Close ends every connection, removes the announcement and waits until nothing runs any more.
func (s *Server) Close() error { return s.closed() }

func (s *Server) close() error {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	err := s.http.Close()
	s.serving.Wait()
	return errors.Join(err, withdraw(s.dataDir, s.address))
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

// bind opens the listener of a loopback address.
func bind(address string, log *slog.Logger) (net.Listener, error) {
	if address == "" {
		address = DefaultAddress
	}
	address, err := loopback(address)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err == nil {
		return listener, nil
	}
	host, _, _ := net.SplitHostPort(address) // loopback wrote it
	listener, freeErr := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if freeErr != nil {
		return nil, fmt.Errorf("companion: %w", err)
	}
	log.Warn("companion: the address is not free, another port is used", "wanted", address, "address", listener.Addr().String(), slog.Any("error", err))
	return listener, nil
}

// loopback checks that an address is one that only this machine reaches, and spells it with an IP.
func loopback(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("companion address: %w", err)
	}
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return "", fmt.Errorf("companion address %s is not on loopback: other machines could reach it, which requires TLS, and TLS is not offered yet; use 127.0.0.1", address)
	}
	return net.JoinHostPort(host, port), nil
}
