package companion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// bindWithin is how long a new hub tries to get the address of the one before: the system may still be
// clearing up what a killed process had open.
const bindWithin = time.Second

// door is the TCP address that people's clients come in by. A process has one while it is the hub, or alone.
type door struct {
	address string          // host:port it listens on
	hosts   map[string]bool // values of the Host header that mean this door
	http    *http.Server
	stop    context.CancelFunc // ends the WebSockets, which the HTTP server does not know any more
	served  chan struct{}      // closed when the listener's loop has ended
}

type doorKey struct{}

// doorOf returns the door that a request came in by, nil when it came from the hub.
func doorOf(r *http.Request) *door {
	d, _ := r.Context().Value(doorKey{}).(*door)
	return d
}

// openDoor listens at the first of the addresses that is free, or at a free port of the last one's host. The
// caller announces it.
func (s *Server) openDoor(addresses ...string) (*door, error) {
	listener, err := s.bind(addresses)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(s.ctx)
	d := &door{address: listener.Addr().String(), hosts: make(map[string]bool), stop: stop, served: make(chan struct{})}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	for _, host := range []string{"127.0.0.1", "localhost", "::1"} {
		d.hosts[net.JoinHostPort(host, port)] = true
	}
	d.hosts[d.address] = true
	ctx = context.WithValue(ctx, doorKey{}, d)
	d.http = &http.Server{
		Handler:           s.guard(d, s.routed(s.routes())),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(d.served)
		if err := d.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("companion: stopped", slog.Any("error", err))
		}
	}()
	s.setAddress(d.address)
	return d, nil
}

// close ends what came in by the door.
func (d *door) close() error {
	d.stop()
	err := d.http.Close()
	<-d.served
	return err
}

// leaveDoor closes the door and takes its announcement away.
func (s *Server) leaveDoor(d *door) {
	if err := errors.Join(d.close(), withdraw(s.dataDir, d.address)); err != nil {
		s.log.Warn("companion: the address was not given up cleanly", slog.Any("error", err))
	}
}

// bind opens the listener. The first address is waited for when there are others.
func (s *Server) bind(addresses []string) (listener net.Listener, err error) {
	began := time.Now()
	for i, address := range addresses {
		for {
			var bindErr error
			if listener, bindErr = net.Listen("tcp", address); bindErr == nil {
				return listener, nil
			}
			err = cmp.Or(err, bindErr)
			if i == len(addresses)-1 || !errors.Is(bindErr, syscall.EADDRINUSE) || time.Since(began) > bindWithin || !s.pause(10*time.Millisecond) {
				break
			}
		}
	}
	wanted := addresses[len(addresses)-1]
	host, _, _ := net.SplitHostPort(wanted) // loopback wrote it
	listener, freeErr := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if freeErr != nil {
		return nil, fmt.Errorf("companion: %w", err)
	}
	s.log.Warn("companion: the address is not free, another port is used", "wanted", wanted, "address", listener.Addr().String(), slog.Any("error", err))
	return listener, nil
}

// loopback checks that an address is one that only this machine reaches, and spells it with an IP. "" is
// DefaultAddress.
func loopback(address string) (string, error) {
	host, port, err := net.SplitHostPort(cmp.Or(address, DefaultAddress))
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
