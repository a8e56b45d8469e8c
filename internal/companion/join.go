package companion

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/yamux"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// membership is the place of a process that joined the hub.
type membership struct {
	s       *Server
	hub     introduction
	token   string // the approve credential that the hub has proven to hold
	session *yamux.Session
	stopped func() bool // whether the hub's process is
}

// join finds the hub and joins it.
func (s *Server) join() (place, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: hubSocket(s.options.DataDir), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoHubYet, err)
	}
	peer, token, err := s.joinHub(conn)
	if err != nil {
		if !errors.Is(err, errRefused) {
			err = fmt.Errorf("%w: %w", errNoHubYet, err)
		}
		return nil, errors.Join(err, conn.Close())
	}
	session, err := yamux.Server(conn, s.streams(time.Second, time.Second))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	s.setAddress(peer.Address)
	s.log.Info("companion: joined the hub", "process", peer.PID, "address", "http://"+peer.Address, "version", peer.Version)
	if peer.Address != s.wanted {
		s.log.Info("companion: people come in at the hub's address, not at the one that is configured here", "configured", s.wanted, "address", peer.Address)
	}
	return &membership{s, peer, token, session, suspended(conn)}, nil
}

func (m *membership) heir() string { return m.hub.Address }

// hold serves what the hub asks until the hub ends.
func (m *membership) hold(ctx context.Context) place {
	ctx, stop := context.WithCancel(context.WithValue(ctx, membershipKey{}, m))
	defer stop()
	server := &http.Server{
		Handler:           m.s.surviving(m.s.admitted(m.s.routes())),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(m.s.log.Handler(), slog.LevelDebug),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(m.session) }) // ends with the session, whose end is told below
	defer context.AfterFunc(ctx, func() { m.session.Close() })()
	m.s.whileHolding(credentials.Approve, m.token, m.session, m.stopped)
	stop()
	server.Close()
	m.session.Close()
	serving.Wait()
	if m.s.ctx.Err() != nil {
		return nil
	}
	m.s.log.Info("companion: the hub is gone", "process", m.hub.PID)
	if m.stopped() { // it keeps its lock and socket, so there is no other hub to wait for
		if alone, err := m.s.beAlone(); err == nil {
			return alone
		}
	}
	return nil
}

type membershipKey struct{}

// membershipOf returns the membership by which the hub sent a request, nil when it came in by a door.
func membershipOf(r *http.Request) *membership {
	m, _ := r.Context().Value(membershipKey{}).(*membership)
	return m
}

// onBehalf is the header by which the hub says which credential the person's client has shown to it.
const onBehalf = "Callgate-Credential"

// credential is what the hub passes on, "" when the hub no longer holds what makes it one.
func (m *membership) credential(r *http.Request) credentials.Credential {
	if now, err := m.s.credentials.Token(credentials.Approve); err != nil || now != m.token {
		return ""
	}
	switch c := credentials.Credential(r.Header.Get(onBehalf)); c {
	case credentials.Approve, credentials.View, credentials.Tools, credentials.Prompt:
		return c
	}
	return ""
}

// admitted stands before what the hub asks, as guard does before what clients ask.
func (s *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.enter() {
			writeError(w, http.StatusServiceUnavailable, wire.CodeInternal, "callgate ends")
			return
		}
		defer s.serving.Done()
		next.ServeHTTP(w, r)
	})
}

// caller says what the request may do, whichever way it came; "" is nothing.
func (s *Server) caller(r *http.Request, subprotocols []string) credentials.Credential {
	if m := membershipOf(r); m != nil {
		return m.credential(r)
	}
	return s.identify(bearer(r, subprotocols)).Role()
}
