package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"callgate/internal/companion/client"
)

// bindWithin is how long a new hub tries to get the address of the one before: the system may still be
// clearing up what a killed process had open.
const bindWithin = time.Second

// Door is a TCP address that people's clients come in by. A process has one while it is the hub, or alone. The hub
// has a second one when other machines may come in too: that one speaks TLS, and nothing else leads off this machine.
type Door struct {
	Address string          // host:port it listens on
	Remote  bool            // other machines come in here, over TLS
	Hosts   map[string]bool // values of the Host header that mean this door
	HTTP    *http.Server
	stop    context.CancelFunc // ends the WebSockets, which the HTTP server does not know any more
	served  chan struct{}      // closed when the listener's loop has ended
}

type doorKey struct{}

// DoorOf returns the door that a request came in by, nil when it came from the hub.
func DoorOf(r *http.Request) *Door {
	d, _ := r.Context().Value(doorKey{}).(*Door)
	return d
}

// openDoor listens at the first of the addresses that is free, or at a free port of the last one's host. The
// Caller announces it.
func (h *Hub) openDoor(addresses ...string) (*Door, error) {
	listener, err := h.bind(addresses)
	if err != nil {
		return nil, err
	}
	d := h.serveDoor(listener, false, []string{"127.0.0.1", "localhost", "::1"})
	h.setAddress(d.Address)
	return d, nil
}

// openRemoteDoor listens where other machines come in. Nobody does before no tool reaches the port (Ports).
func (h *Hub) openRemoteDoor() (*Door, error) {
	listener, err := net.Listen("tcp", h.o.Remote.Address)
	if err != nil {
		return nil, fmt.Errorf("companion: the address for other machines: %w", err)
	}
	if err := announceRemote(h.o.DataDir, listener.Addr().String()); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	secured := tls.NewListener(listener, &tls.Config{
		Certificates: []tls.Certificate{*h.o.Remote.Certificate},
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"http/1.1"}, // a WebSocket is an upgrade of it
	})
	return h.serveDoor(secured, true, h.o.Remote.Hosts), nil
}

// serveDoor lets clients in. hosts are the names that they may know this machine by, beside the address itself.
func (h *Hub) serveDoor(listener net.Listener, remote bool, hosts []string) *Door {
	ctx, stop := context.WithCancel(h.ctx)
	d := &Door{Address: listener.Addr().String(), Remote: remote, Hosts: make(map[string]bool), stop: stop, served: make(chan struct{})}
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	for _, host := range hosts {
		d.Hosts[net.JoinHostPort(host, port)] = true
		if remote && port == "443" {
			d.Hosts[host] = true
		}
	}
	d.Hosts[d.Address] = true
	ctx = context.WithValue(ctx, doorKey{}, d)
	d.HTTP = &http.Server{
		Handler:           h.o.Door(d),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          slog.NewLogLogger(h.o.Log.Handler(), slog.LevelWarn),
	}
	go func() {
		defer close(d.served)
		if err := d.HTTP.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			h.o.Log.Error("companion: stopped", slog.Any("error", err))
		}
	}()
	return d
}

// Origin is the origin of the door's own page. guard has checked the host.
func (d *Door) Origin(host string) string {
	if d.Remote {
		return "https://" + host
	}
	return "http://" + host
}

// close ends what came in by the door. Requests that it has in hand are answered.
func (d *Door) close() error {
	d.stop()
	err := endServer(d.HTTP)
	<-d.served
	return err
}

// endServer ends a server, and gives the requests that it has in hand a second to be answered.
func endServer(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return server.Close()
}

// leaveDoor closes the door and takes its announcement away.
func (h *Hub) leaveDoor(d *Door) {
	if err := errors.Join(d.close(), withdraw(h.o.DataDir, client.Announcement{Address: d.Address, Remote: d.Remote})); err != nil {
		h.o.Log.Warn("companion: the address was not released cleanly", slog.Any("error", err))
	}
}

// bind opens the listener. The first address is waited for when there are others.
func (h *Hub) bind(addresses []string) (listener net.Listener, err error) {
	began := time.Now()
	for i, address := range addresses {
		for {
			var bindErr error
			if listener, bindErr = net.Listen("tcp", address); bindErr == nil {
				return listener, nil
			}
			err = cmp.Or(err, bindErr)
			if i == len(addresses)-1 || !taken(bindErr) || time.Since(began) > bindWithin || !h.pause(10*time.Millisecond) {
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
	h.o.Log.Warn("companion: the address is in use; taking another port", "wanted", wanted, "address", listener.Addr().String(), slog.Any("error", err))
	return listener, nil
}

// taken reports whether somebody has the address.
func taken(err error) bool {
	const windows = syscall.Errno(10048) // WSAEADDRINUSE, which the syscall package does not take for EADDRINUSE
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windows)
}
