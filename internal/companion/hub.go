package companion

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/hashicorp/yamux"

	"callgate/internal/companion/credentials"
)

// hub is the place of the one process that people's clients come to. It lets other processes join and passes on
// what they show and what people answer. It decides nothing for them: an approval belongs to the process whose
// host waits, and that process' gate takes the answer or refuses it.
type hub struct {
	s        *Server
	lock     *flock.Flock
	door     *door
	remote   *door // for other machines; nil when there is none
	listener *net.UnixListener
}

// lead makes this process the hub. It owns the lock from here on. address is what it binds first; own is a door
// that is open already, or nil.
func (s *Server) lead(lock *flock.Flock, address string, own *door) (_ place, err error) {
	h := &hub{s: s, lock: lock, door: own}
	s.leads.Store(true) // before the door opens, so that nobody who comes in hears otherwise
	defer func() {
		if err != nil {
			s.leads.Store(false)
			err = errors.Join(err, lock.Close())
		}
	}()
	// Whoever left a socket here has lost the lock, and with it the hub's place.
	path := hubSocket(s.options.DataDir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("hub: %w", err)
	}
	h.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("hub: no unix socket can be made: %w", err)
	}
	if err := credentials.MakePrivate(path); err != nil {
		return nil, errors.Join(fmt.Errorf("hub: %w", err), h.listener.Close())
	}
	if h.door == nil {
		if h.door, err = s.openDoor(slices.Compact([]string{address, s.wanted})...); err != nil {
			return nil, errors.Join(err, h.listener.Close())
		}
	}
	if err := announce(s.options.DataDir, h.door.address, true); err != nil {
		err = errors.Join(err, h.listener.Close())
		if own == nil {
			err = errors.Join(err, h.door.close())
		}
		return nil, err
	}
	s.log.Info("companion: this process is the hub", "address", "http://"+h.door.address)
	return h, nil
}

func (h *hub) heir() string { return h.door.address }

// hold lets processes join until ctx ends. The order of the end matters: who comes next removes the socket that
// it finds, so the lock is the last to go.
func (h *hub) hold(ctx context.Context) place {
	defer h.s.leads.Store(false)
	var joining sync.WaitGroup
	joining.Go(func() { h.admitAll(ctx, &joining) })
	h.letMachinesIn()
	ticker := time.NewTicker(publishEvery)
	for lasts := true; lasts; {
		select {
		case <-ticker.C:
			h.s.publish(h.door.address)
			h.letMachinesIn()
		case <-ctx.Done():
			lasts = false
		}
	}
	ticker.Stop()
	err := h.listener.Close()
	h.s.fleet.dismiss()
	joining.Wait()
	if h.remote != nil {
		h.s.leaveDoor(h.remote)
	}
	h.s.leaveDoor(h.door)
	if err := errors.Join(err, h.lock.Close()); err != nil {
		h.s.log.Warn("companion: the hub's place was not given up cleanly", slog.Any("error", err))
	}
	return nil
}

// letMachinesIn opens the door for other machines, unless it is open or none is wanted. The hub before may still
// have the address, so what fails is tried again.
func (h *hub) letMachinesIn() {
	if h.remote != nil || h.s.options.Remote == nil {
		return
	}
	d, err := h.s.openRemoteDoor()
	if err == nil {
		if err = announceRemote(h.s.options.DataDir, d.address); err != nil {
			err = errors.Join(err, d.close())
		}
	}
	if err != nil {
		h.s.log.Error("companion: other machines cannot come in; trying again", slog.Any("error", err))
		return
	}
	h.remote = d
	h.s.log.Info("companion: other machines come in", "address", "https://"+d.address, "names", h.s.options.Remote.Hosts)
}

func (h *hub) admitAll(ctx context.Context, joining *sync.WaitGroup) {
	for {
		conn, err := h.listener.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return
		}
		if err != nil {
			h.s.log.Warn("companion: the hub cannot take a connection", slog.Any("error", err))
			h.s.pause(retryEvery)
			continue
		}
		joining.Go(func() {
			defer h.s.survive("a process that joins")
			h.admit(ctx, conn)
		})
	}
}

// admit serves one process that joins until it is gone.
func (h *hub) admit(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	peer, token, err := h.s.admit(conn, h.door.address)
	if err != nil {
		h.s.log.Warn("companion: a process was not let in", "process", peer.PID, slog.Any("error", err))
		return
	}
	session, err := yamux.Client(conn, h.s.streams(5*time.Second, 10*time.Second))
	if err != nil {
		h.s.log.Error("companion: a process was not let in", "process", peer.PID, slog.Any("error", err))
		return
	}
	defer session.Close()
	p := newProcess(peer, session)
	if !h.s.fleet.add(p) || ctx.Err() != nil {
		return
	}
	defer h.s.fleet.remove(p)
	h.s.log.Info("companion: a process joined", "process", p.pid, "worker", p.worker, "version", p.version)
	if p.version != h.s.options.Version {
		h.s.log.Warn("companion: a process of another version joined; what one of the two does not know cannot be done through the hub", "process", p.pid, "version", p.version, "hub", h.s.options.Version)
	}
	h.s.whileHolding(credentials.Worker, token, session, func() bool { return false })
	h.s.log.Info("companion: a process is gone", "process", p.pid)
}

// whileHolding returns when the session ends. It ends the session when the credential that the other side has proven
// to hold is replaced, and when the other side's process is stopped.
func (s *Server) whileHolding(name credentials.Credential, token string, session *yamux.Session, stopped func() bool) {
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	for {
		select {
		case <-session.CloseChan():
			return
		case <-ticker.C:
			if now, err := s.credentials.Token(name); err != nil || now != token {
				s.log.Info("companion: the credential between hub and processes was replaced; they meet anew", "credential", name)
				session.Close()
			}
			if stopped() {
				s.log.Warn("companion: the hub's process is stopped; continue or end it")
				session.Close()
			}
		}
	}
}

// streams is how a connection between hub and member is divided up: how often one asks whether the other is there, and how
// long it waits for an answer. A member notices a stopped hub by its silence and soon, because nobody sees its calls
// then. The hub is patient: it shows a stopped member as silent, and would forget it when the connection ends.
func (s *Server) streams(ask, wait time.Duration) *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval, c.ConnectionWriteTimeout = ask, wait
	c.StreamOpenTimeout = 10 * time.Second
	c.StreamCloseTimeout = 10 * time.Second
	c.LogOutput, c.Logger = nil, log.New(slogWriter{s.log}, "", 0)
	return c
}

// slogWriter sends lines of a library's log to ours. They are about connections that break, which is told elsewhere.
type slogWriter struct{ log *slog.Logger }

func (w slogWriter) Write(line []byte) (int, error) {
	w.log.Debug("companion: " + string(line))
	return len(line), nil
}
