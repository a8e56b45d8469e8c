// Package endpoint serves hosts over HTTP: who may come in, sessions and streams.
//
// It speaks Streamable HTTP, with sessions up to 2025-11-25 and without them for 2026-07-28, and the older HTTP+SSE. It
// carries messages between hosts and the proxy, and knows no tools.
package endpoint

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/periodic"
	"callgate/internal/rpc"
	"callgate/proxy"
)

// MaxSessions bounds the sessions of all hosts together.
const MaxSessions = 10_000

// DefaultAddress is where hosts are served unless it is said otherwise.
const DefaultAddress = "127.0.0.1:7778"

// Settings say who may come in. Configure replaces them while hosts are served. Door is required.
type Settings struct {
	TLS     *tls.Certificate // required when other machines can reach the address
	Hosts   []string         // names, beside the address itself, that hosts may ask for in the Host header; a balancer's with its port
	Origins []string         // web pages that may connect, as scheme://host[:port]
	Door    Door             // who may come in
}

// Options of a server. Rooms, Door and Logger are required.
type Options struct {
	Address string // host:port; port 0 picks one
	Settings
	Rooms   Rooms  // where hosts are let in
	DataDir string // where the port is noted, see Ports; "" notes it nowhere
	Logger  *slog.Logger

	Replicas Replicas                     // the others behind the same address; nil for none
	Replaced func(name string, gone bool) // hears that a client's token is another one now, or none; may be nil
	Ready    func() error                 // why nothing can run here now; nil is ready as long as it is open

	MaxMessage   int           // bytes of one message of a host; 0 means 64 MiB
	IdleTimeout  time.Duration // a session that nobody uses for so long ends; 0 means 30 min
	IdleShutdown time.Duration // Idle is closed when there was no session for so long; 0 means never
}

const (
	defaultMaxMessage  = 64 << 20
	defaultIdleTimeout = 30 * time.Minute
	headerPatience     = 10 * time.Second // how long a request may take to name itself
	bodyPatience       = time.Minute      // and how long to be there
	refusedPatience    = time.Second      // what is left of one that was refused
	farewell           = 3 * time.Second  // how long calls that run may take to end when the server does
)

// Server is a running endpoint. Close it.
type Server struct {
	o         Options
	log       *slog.Logger
	listens   *net.TCPAddr
	set       atomic.Pointer[settings] // as they are now
	refusals  refusals
	http      *http.Server
	relay     *relay // to other replicas; nil when there are none
	idle      chan struct{}
	evictions evictions

	withdraw func() error // takes the note of the port away

	ctx  context.Context // ends when Close begins
	stop context.CancelFunc
	wg   sync.WaitGroup

	open open
}

// Listen starts a server.
func Listen(o Options) (*Server, error) {
	if o.MaxMessage <= 0 {
		o.MaxMessage = defaultMaxMessage
	}
	if o.IdleTimeout <= 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	listener, err := bind(o)
	if err != nil {
		return nil, err
	}
	withdraw := func() error { return nil }
	if o.DataDir != "" {
		if withdraw, err = Announce(o.DataDir, listener.Addr().(*net.TCPAddr).Port); err != nil {
			return nil, errors.Join(err, listener.Close())
		}
	}
	s := &Server{
		o: o, withdraw: withdraw, log: o.Logger, listens: listener.Addr().(*net.TCPAddr),
		idle: make(chan struct{}), refusals: refusals{log: o.Logger, by: map[string]*refusal{}},
		open: open{idleTimeout: o.IdleTimeout, sessions: map[string]*Session{}, empty: time.Now()},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.relay = newRelay(o.Replicas, s.log)
	s.set.Store(s.settings(o.Settings))
	s.evictions = evictions{s, o.Door.secrets()}
	s.http = &http.Server{
		Handler:           s.guard(s.relay.sessions(s.known, http.HandlerFunc(s.route))),
		ReadHeaderTimeout: headerPatience,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
	}
	serve := func() error { return s.http.Serve(listener) }
	if o.TLS != nil {
		current := func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.set.Load().TLS, nil }
		s.http.TLSConfig = &tls.Config{GetCertificate: current, MinVersion: tls.VersionTLS12}
		serve = func() error { return s.http.ServeTLS(listener, "", "") }
	}
	s.wg.Go(func() {
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the endpoint for hosts stopped", "error", err)
		}
	})
	s.wg.Go(s.reap)
	s.wg.Go(s.evictions.recheck)
	return s, nil
}

// settings are Settings with what is made of them.
type settings struct {
	Settings
	hosts  map[string]bool // values of the Host header that mean this server
	routes http.Handler
}

func (s *Server) settings(of Settings) *settings {
	return &settings{of, hostNames(of.Hosts, s.listens), s.routes(of.Door)}
}

// Configure checks the settings and returns a function that replaces them. What is open stays open for hosts that are
// still admitted.
func (s *Server) Configure(next Settings) (apply func(), err error) {
	switch {
	case (next.TLS == nil) != (s.o.TLS == nil):
		return nil, errors.New("tls: to turn TLS on or off, restart callgate")
	case !s.listens.IP.IsLoopback() && next.Door.open():
		return nil, fmt.Errorf("auth: other machines can reach %s, and auth none lets everybody in", s.listens)
	}
	set := s.settings(next)
	return func() {
		s.set.Store(set)
		s.evictions.expel(next.Door)
	}, nil
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) { s.set.Load().routes.ServeHTTP(w, r) }

// bind opens the listener. Without TLS only this machine may reach it.
func bind(o Options) (net.Listener, error) {
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, fmt.Errorf("mcpListen: %w", err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return nil, fmt.Errorf("mcpListen: %q is not an IP address: use 127.0.0.1:%s, or 0.0.0.0:%s with TLS", o.Address, port, port)
	case !ip.IsLoopback() && o.TLS == nil:
		return nil, fmt.Errorf("mcpListen: other machines can reach %s: give a certificate with tls.cert and tls.key, or listen on 127.0.0.1:%s", o.Address, port)
	case !ip.IsLoopback() && o.Door.open():
		return nil, fmt.Errorf("mcpListen: other machines can reach %s, and auth none lets everybody in: use auth token or oauth, or listen on 127.0.0.1:%s", o.Address, port)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("mcpListen: %q: a port is a number from 0 to 65535", o.Address)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("mcpListen: %w: stop the program that listens there, or choose another port", err)
	}
	return listener, nil
}

// URL is what hosts are given.
func (s *Server) URL() string {
	if s.o.TLS != nil {
		return "https://" + s.listens.String() + "/mcp"
	}
	return "http://" + s.listens.String() + "/mcp"
}

// Idle is closed when there was no session for IdleShutdown.
func (s *Server) Idle() <-chan struct{} { return s.idle }

// routes maps paths to what answers them. A view is named by the path.
func (s *Server) routes(door Door) http.Handler {
	mux := http.NewServeMux()
	for _, tenant := range []string{"", "/t/{tenant}"} {
		for _, view := range []string{"", "/{server}", "/agents/{agent}"} {
			mux.HandleFunc("POST "+tenant+"/mcp"+view, s.admitted(s.post))
			mux.HandleFunc("GET "+tenant+"/mcp"+view, s.admitted(s.get))
			mux.HandleFunc("DELETE "+tenant+"/mcp"+view, s.admitted(s.delete))
			mux.HandleFunc("GET "+tenant+"/sse"+view, s.admitted(s.openOld))
		}
		mux.HandleFunc("POST "+tenant+"/messages", s.admitted(s.postOld))
	}
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /health/ready", s.ready)
	door.routes(mux)
	return mux
}

// ready tells a balancer whether to send hosts here. It needs no credential, and leaves details to the log.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	why := ""
	switch {
	case s.open.isClosed():
		why = "callgate ends"
	case s.o.Ready != nil && s.o.Ready() != nil:
		why = "nothing can run here now; callgate's log says why"
	}
	if why == "" {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text, err := json.Marshal(map[string][]string{"reasons": {why}})
	if err != nil {
		panic(err) // strings
	}
	w.Header().Set("Retry-After", "1")
	writeJSON(w, http.StatusServiceUnavailable, text)
}

// visit is one HTTP request that was let in.
type visit struct {
	w    http.ResponseWriter
	r    *http.Request
	who  Guest
	room *Room
	view proxy.View
	held *held
}

// admitted lets requests in that the door knows, to rooms and views that exist.
func (s *Server) admitted(serve func(visit)) http.HandlerFunc {
	return s.known(func(v visit) { s.enter(v, serve) })
}

// known lets requests by that the door knows. Their context ends when the door does not know them any more.
func (s *Server) known(serve func(visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		set := s.set.Load()
		door := set.Door
		who, err := door.Admit(r)
		if err != nil {
			s.refusals.write("a host was not let in", "reason", err.Error(), r.RemoteAddr)
			w.Header().Set("WWW-Authenticate", door.challenge(r, err))
			status, what := http.StatusUnauthorized, "unauthorized"
			if _, narrow := errors.AsType[*scopeError](err); narrow {
				status, what = http.StatusForbidden, "forbidden"
			}
			refuse(w, status, nil, rpc.CodeInvalidRequest, "callgate: "+what+": "+err.Error())
			return
		}
		ctx, end := context.WithCancel(r.Context())
		defer end()
		h := &held{who: who, credential: r.Header["Authorization"], end: end}
		s.open.hold(h)
		defer s.open.release(h)
		if s.set.Load() != set { // at this moment: who replaced it may not have seen what is held
			s.known(serve)(w, r)
			return
		}
		serve(visit{w: w, r: r.WithContext(ctx), who: who, held: h})
	}
}

// begin begins a session, which the caller MUST register or close.
func (s *Server) begin(v visit) (*Session, error) {
	end, err := v.room.Share.Session()
	if err != nil {
		return nil, err
	}
	session := newSession(s.ctx, v, end)
	session.door = func() Door { return s.set.Load().Door }
	if s.o.Replicas != nil {
		session.id = s.o.Replicas.SessionID()
	}
	peer, err := v.room.Proxy.Connect(session.ctx, v.view, string(v.who.Principal), session)
	if err != nil {
		session.stop()
		end()
		return nil, err
	}
	session.peer = peer
	return session, nil
}

// reap ends sessions that nobody uses, and says when there have been none for long.
func (s *Server) reap() {
	every := max(min(s.o.IdleTimeout/4, time.Minute), time.Millisecond)
	if s.o.IdleShutdown > 0 {
		every = max(min(every, s.o.IdleShutdown/4), time.Millisecond)
	}
	announced := false
	for range periodic.Every(s.ctx, every) {
		idle, none := s.open.idle()
		for _, session := range idle {
			s.log.Info("a session ends: nobody used it", "for", s.o.IdleTimeout)
			s.wg.Go(func() { s.open.drop(session) })
		}
		if s.o.IdleShutdown > 0 && none >= s.o.IdleShutdown && !announced {
			announced = true
			close(s.idle)
		}
	}
}

// Close lets calls that run end, for a moment, then ends every session and waits until nothing runs.
func (s *Server) Close() error {
	left := s.open.close()
	for _, session := range left {
		session.standalone.end() // a GET would be waited for in vain
	}
	s.o.Rooms.Farewell() // as would what the other era has for it
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.open.hangUp()
	s.stop()
	var closing sync.WaitGroup
	for _, session := range left {
		closing.Go(func() { s.open.drop(session) })
	}
	closing.Wait()
	s.open.following.Wait()
	s.wg.Wait()
	return errors.Join(err, s.withdraw())
}
