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

// bindWithin is how long a new hub tries to bind the previous hub's address. The system may still be cleaning up after
// a killed process.
const bindWithin = time.Second

// Door is a TCP address where people's clients connect. A process has one while it is the hub or alone. The hub has a
// second one if other machines may connect. That one speaks TLS, and it is the only way in from outside this machine.
type Door struct {
	Address string          // host:port it listens on
	Remote  bool            // for other machines, over TLS
	Hosts   map[string]bool // accepted values of the Host header
	HTTP    *http.Server
	stop    context.CancelFunc // ends the WebSockets, which the HTTP server no longer tracks
	served  chan struct{}      // closed when the listener's loop has ended
}

type doorKey struct{}

// DoorOf returns the door through which a request came, or nil if it came from the hub.
func DoorOf(r *http.Request) *Door {
	d, _ := r.Context().Value(doorKey{}).(*Door)
	return d
}

// openDoor listens at the first address that is free, or at a free port of the last one's host. The caller announces
// the door.
func (h *Hub) openDoor(addresses ...string) (*Door, error) {
	listener, err := h.bind(addresses)
	if err != nil {
		return nil, err
	}
	d := h.serveDoor(listener, false, []string{"127.0.0.1", "localhost", "::1"})
	h.setAddress(d.Address)
	return d, nil
}

// openRemoteDoor listens for other machines. It announces the port before it serves anybody, so that no tool can reach
// it (see client.Ports).
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
		NextProtos:   []string{"http/1.1"}, // WebSocket needs it
	})
	return h.serveDoor(secured, true, h.o.Remote.Hosts), nil
}

// serveDoor serves clients in the background. hosts are names for this machine, besides the address itself.
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
		WriteTimeout:      h.o.Timing.Answer,
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

// Origin returns the origin of the door's page. guard MUST have checked the host.
func (d *Door) Origin(host string) string {
	if d.Remote {
		return "https://" + host
	}
	return "http://" + host
}

// close ends the connections through the door. Requests in progress get a second to finish.
func (d *Door) close() error {
	d.stop()
	err := endServer(d.HTTP)
	<-d.served
	return err
}

// endServer shuts a server down. Requests in progress get a second to finish.
func endServer(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if server.Shutdown(ctx) == nil {
		return nil
	}
	return server.Close()
}

// leaveDoor closes the door and withdraws its announcement.
func (h *Hub) leaveDoor(d *Door) {
	if err := errors.Join(d.close(), withdraw(h.o.DataDir, client.Announcement{Address: d.Address, Remote: d.Remote})); err != nil {
		h.o.Log.Warn("companion: the address was not released cleanly", slog.Any("error", err))
	}
}

// bind opens the listener. It waits up to bindWithin for every address but the last.
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
	host, _, _ := net.SplitHostPort(wanted) // Loopback wrote it, so it is valid
	listener, freeErr := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if freeErr != nil {
		return nil, fmt.Errorf("companion: %w", err)
	}
	h.o.Log.Warn("companion: the address is in use; taking another port", "wanted", wanted, "address", listener.Addr().String(), slog.Any("error", err))
	return listener, nil
}

// taken reports whether err means that the address is in use.
func taken(err error) bool {
	const windows = syscall.Errno(10048) // WSAEADDRINUSE, which the syscall package does not equate with EADDRINUSE
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windows)
}
