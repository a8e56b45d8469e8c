// Package endpoint serves hosts over HTTP: admission, sessions and streams.
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

// DefaultAddress is where hosts are served by default.
const DefaultAddress = "127.0.0.1:7778"

// Settings say who may come in. Configure can replace them while hosts are served. Door is required.
type Settings struct {
	TLS     *tls.Certificate // required if other machines can reach the address
	Hosts   []string         // more names that hosts may use in the Host header; a balancer's with its port
	Origins []string         // web pages that may connect, as scheme://host[:port]
	Door    Door             // who may come in
}

// Options configures a server. Rooms, Door and Logger are required.
type Options struct {
	Address string // host:port; port 0 picks one
	Settings
	Rooms   Rooms  // what admitted hosts get into
	DataDir string // where the port is noted, see Ports; "" means nowhere
	Logger  *slog.Logger

	Replicas Replicas                     // the other servers behind the same address; may be nil
	Replaced func(name string, gone bool) // hears that a client's token was replaced, or is gone; may be nil
	Ready    func() error                 // returns why nothing can run here now; may be nil

	MaxMessage   int           // bytes of one message of a host; 0 means 64 MiB
	IdleTimeout  time.Duration // a session ends after this time without use; 0 means 30 min
	IdleShutdown time.Duration // Idle is closed after this time without any session; 0 means never
}

const (
	defaultMaxMessage  = 64 << 20
	defaultIdleTimeout = 30 * time.Minute
	headerPatience     = 10 * time.Second // for the header of a request
	bodyPatience       = time.Minute      // for the whole request
	refusedPatience    = time.Second      // for the rest of a refused request
	farewell           = 3 * time.Second  // for running calls to end before the server does
)

// Server is a running endpoint. The caller MUST Close it.
type Server struct {
	o         Options
	log       *slog.Logger
	listens   *net.TCPAddr
	set       atomic.Pointer[settings] // in effect now
	refusals  refusals
	http      *http.Server
	relay     *relay // to other replicas; nil if there are none
	idle      chan struct{}
	evictions evictions

	withdraw func() error // removes the note of the port

	ctx  context.Context // ends when Close begins
	stop context.CancelFunc
	wg   sync.WaitGroup

	open open
}

// Listen starts a server on the address.
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

// settings are Settings with what is derived from them.
type settings struct {
	Settings
	hosts  map[string]bool // values of the Host header that mean this server
	routes http.Handler
}

func (s *Server) settings(of Settings) *settings {
	return &settings{of, hostNames(of.Hosts, s.listens), s.routes(of.Door)}
}

// Configure checks the settings and returns a function that applies them. Sessions and requests of hosts that are still
// admitted stay open.
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

// URL returns the address for hosts.
func (s *Server) URL() string {
	if s.o.TLS != nil {
		return "https://" + s.listens.String() + "/mcp"
	}
	return "http://" + s.listens.String() + "/mcp"
}

// Idle returns a channel that is closed after IdleShutdown without any session.
func (s *Server) Idle() <-chan struct{} { return s.idle }

// routes returns the handlers by path. The path names the view.
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
		panic(err) // cannot happen: strings
	}
	w.Header().Set("Retry-After", "1")
	writeJSON(w, http.StatusServiceUnavailable, text)
}

// visit is one admitted HTTP request.
type visit struct {
	w    http.ResponseWriter
	r    *http.Request
	who  Guest
	room *Room
	view proxy.View
	held *held
}

// admitted serves requests that the door admits, in rooms and views that exist.
func (s *Server) admitted(serve func(visit)) http.HandlerFunc {
	return s.known(func(v visit) { s.enter(v, serve) })
}

// known serves requests that the door admits. A request's context ends when the door no longer admits the host.
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
		if s.set.Load() != set { // just replaced: Configure may not have seen what is held
			s.known(serve)(w, r)
			return
		}
		serve(visit{w: w, r: r.WithContext(ctx), who: who, held: h})
	}
}

// begin begins a session. The caller MUST register or close it.
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

// reap ends sessions that nobody uses, and closes idle after a long time without sessions.
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

// Close lets running calls end, for at most farewell, then ends every session and waits until nothing is running.
func (s *Server) Close() error {
	left := s.open.close()
	for _, session := range left {
		session.standalone.end() // otherwise Shutdown would wait for its GET in vain
	}
	s.o.Rooms.Farewell() // likewise for the listeners of the modern era
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
