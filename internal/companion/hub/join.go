package hub

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
)

// membership is the place of a process that joined the hub.
type membership struct {
	hub     *Hub
	peer    Introduction
	token   string // the approve credential that the hub has proved to hold
	session *yamux.Session
	stopped func() bool // reports whether the hub's process is stopped
	replica bool        // the hub belongs to another replica, and connected over the cluster
}

// join finds the hub and joins it.
func (h *Hub) join() (place, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: Socket(h.o.DataDir), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoHubYet, err)
	}
	peer, token, err := h.JoinHub(conn)
	if err != nil {
		if !errors.Is(err, ErrRefused) {
			err = fmt.Errorf("%w: %w", errNoHubYet, err)
		}
		return nil, errors.Join(err, conn.Close())
	}
	session, err := yamux.Server(conn, h.Streams(time.Second, time.Second))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	h.setAddress(peer.Address)
	h.o.Log.Info("companion: joined the hub", "process", peer.PID, "address", "http://"+peer.Address, "version", peer.Version)
	if peer.Address != h.o.Address {
		h.o.Log.Info("companion: people connect at the hub's address, not at the one configured here", "configured", h.o.Address, "address", peer.Address)
	}
	return &membership{hub: h, peer: peer, token: token, session: session, stopped: suspended(conn)}, nil
}

func (m *membership) successor() string { return m.peer.Address }

// hold serves the hub's requests until the hub ends.
func (m *membership) hold(ctx context.Context) place {
	ctx, stop := context.WithCancel(context.WithValue(ctx, membershipKey{}, m))
	defer stop()
	server := m.server(ctx)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(m.session) }) // ends with the session, which is logged below
	defer context.AfterFunc(ctx, func() { m.session.Close() })()
	m.hub.whileHolding(credentials.Approve, m.token, m.session, m.stopped)
	stop()
	server.Close()
	m.session.Close()
	serving.Wait()
	if m.hub.ctx.Err() != nil {
		return nil
	}
	m.hub.o.Log.Info("companion: the hub is gone", "process", m.peer.PID)
	if m.stopped() { // a stopped hub keeps its lock and socket, so there is no other hub to wait for
		if alone, err := m.hub.beAlone(); err == nil {
			return alone
		}
	}
	return nil
}

// server returns the server for the hub's requests, which concern only this process.
func (m *membership) server(ctx context.Context) *http.Server {
	return &http.Server{
		Handler:           m.hub.o.Member,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      m.hub.o.Timing.Answer,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(m.hub.o.Log.Handler(), slog.LevelDebug),
	}
}

type membershipKey struct{}

// membershipOf returns the membership through which the hub sent a request, or nil if it came through a door.
func membershipOf(r *http.Request) *membership {
	m, _ := r.Context().Value(membershipKey{}).(*membership)
	return m
}

// OnBehalf is the header in which the hub names the credential that the person's client has shown.
const OnBehalf = "Callgate-Credential"

// credential returns the credential that the hub passes on, or "" if the approve credential was replaced since joining.
func (m *membership) credential(r *http.Request) credentials.Credential {
	if !m.replica { // a replica has proved that it holds the cluster's key, so no credential is needed
		if now, err := m.hub.o.Credentials.Token(credentials.Approve); err != nil || now != m.token {
			return ""
		}
	}
	switch c := credentials.Credential(r.Header.Get(OnBehalf)); c {
	case credentials.Approve, credentials.View, credentials.Tools, credentials.Prompt:
		return c
	}
	return ""
}
