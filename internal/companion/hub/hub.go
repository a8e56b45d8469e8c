package hub

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
	"callgate/internal/companion/rest"
	"callgate/internal/periodic"
)

// leader is the place of the hub, the one process to which people's clients connect. It lets other processes join, and
// relays what they show and what people answer. It decides nothing for them: an approval belongs to the process whose
// host waits, and the gate of that process accepts or refuses the answer.
type leader struct {
	hub      *Hub
	lock     *flock.Flock
	door     *Door
	remote   *Door // for other machines; nil if not open
	listener *net.UnixListener
}

// becomeHub makes this process the hub. It owns the lock from here on. address is the address to try first; own
// is a door that is already open, or nil.
func (h *Hub) becomeHub(lock *flock.Flock, address string, own *Door) (_ place, err error) {
	l := &leader{hub: h, lock: lock, door: own}
	h.leads.Store(true) // before the door opens, so that no client hears otherwise
	defer func() {
		if err != nil {
			h.leads.Store(false)
			err = errors.Join(err, lock.Close())
		}
	}()
	// The process that left this socket has lost the lock, so it is no longer the hub.
	path := Socket(h.o.DataDir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("hub: %w", err)
	}
	l.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("hub: no unix socket can be made: %w", err)
	}
	if err := credentials.MakePrivate(path); err != nil {
		return nil, errors.Join(fmt.Errorf("hub: %w", err), l.listener.Close())
	}
	if l.door == nil {
		if l.door, err = h.openDoor(slices.Compact([]string{address, h.o.Address})...); err != nil {
			return nil, errors.Join(err, l.listener.Close())
		}
	}
	if err := Announce(h.o.DataDir, l.door.Address, true); err != nil {
		err = errors.Join(err, l.listener.Close())
		if own == nil {
			err = errors.Join(err, l.door.close())
		}
		return nil, err
	}
	h.o.Log.Info("companion is listening, and this process is the hub", "address", "http://"+l.door.Address)
	return l, nil
}

func (l *leader) successor() string { return l.door.Address }

// hold lets processes join until ctx ends. It releases the lock last, because the next hub removes any socket that it
// finds.
func (l *leader) hold(ctx context.Context) place {
	defer l.hub.leads.Store(false)
	var joining sync.WaitGroup
	joining.Go(func() { l.admitAll(ctx, &joining) })
	l.letMachinesIn()
	for range periodic.Every(ctx, publishEvery) {
		l.hub.publish(l.door.Address)
		l.letMachinesIn()
	}
	err := l.listener.Close()
	l.hub.fleet.dismiss()
	joining.Wait()
	if l.remote != nil {
		l.hub.leaveDoor(l.remote)
	}
	l.hub.leaveDoor(l.door)
	if err := errors.Join(err, l.lock.Close()); err != nil {
		l.hub.o.Log.Warn("companion: the hub's place was not released cleanly", slog.Any("error", err))
	}
	return nil
}

// letMachinesIn opens the door for other machines, if one is wanted and not open yet. The previous hub may still hold
// the address, so the caller retries.
func (l *leader) letMachinesIn() {
	if l.remote != nil || l.hub.o.Remote == nil {
		return
	}
	d, err := l.hub.openRemoteDoor()
	if err != nil {
		l.hub.o.Log.Error("companion: other machines cannot connect; trying again", slog.Any("error", err))
		return
	}
	l.remote = d
	l.hub.o.Log.Info("companion: other machines can connect", "address", "https://"+d.Address, "names", l.hub.o.Remote.Hosts)
}

func (l *leader) admitAll(ctx context.Context, joining *sync.WaitGroup) {
	for {
		conn, err := l.listener.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return
		}
		if err != nil {
			l.hub.o.Log.Warn("companion: the hub cannot take a connection", slog.Any("error", err))
			l.hub.pause(retryEvery)
			continue
		}
		joining.Go(func() {
			defer rest.Recover(l.hub.o.Log, "a process that joins")
			l.admit(ctx, conn)
		})
	}
}

// admit serves one joining process until it is gone.
func (l *leader) admit(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	peer, token, err := l.hub.admit(conn, l.door.Address)
	if err != nil {
		l.hub.o.Log.Warn("companion: a process was not let in", "process", peer.PID, slog.Any("error", err))
		return
	}
	session, err := yamux.Client(conn, l.hub.Streams(5*time.Second, 10*time.Second))
	if err != nil {
		l.hub.o.Log.Error("companion: a process was not let in", "process", peer.PID, slog.Any("error", err))
		return
	}
	defer session.Close()
	p := newProcess(peer, session)
	if !l.hub.fleet.add(p) || ctx.Err() != nil {
		return
	}
	defer l.hub.fleet.remove(p)
	l.hub.o.Log.Info("companion: a process joined", "process", p.PID, "worker", p.Worker, "version", p.Version)
	if p.Version != l.hub.o.Version {
		l.hub.o.Log.Warn("companion: a process of another version joined; what one of the two does not know cannot be done through the hub", "process", p.PID, "version", p.Version, "hub", l.hub.o.Version)
	}
	l.hub.whileHolding(credentials.Worker, token, session, func() bool { return false })
	l.hub.o.Log.Info("companion: a process is gone", "process", p.PID)
}

// whileHolding returns when the session ends. It ends the session when the credential that the other side proved to
// hold is replaced, or when stopped returns true.
func (h *Hub) whileHolding(name credentials.Credential, token string, session *yamux.Session, stopped func() bool) {
	ticker := time.NewTicker(time.Second / 2)
	defer ticker.Stop()
	for {
		select {
		case <-session.CloseChan():
			return
		case <-ticker.C:
			if now, err := h.o.Credentials.Token(name); err != nil || now != token {
				h.o.Log.Info("companion: the credential between hub and processes was replaced; they connect again", "credential", name)
				session.Close()
			}
			if stopped() {
				h.o.Log.Warn("companion: the hub's process is stopped; continue or end it")
				session.Close()
			}
		}
	}
}

// Streams configures a connection between hub and member: ask is the interval of the keepalives, and wait is how long a
// side may take to answer one. A member must soon notice that the hub is stopped, because nobody sees its calls then.
// The hub is patient: it shows a stopped member as silent, and would forget it if the connection ended.
func (h *Hub) Streams(ask, wait time.Duration) *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval, c.ConnectionWriteTimeout = ask, wait
	c.StreamOpenTimeout = 10 * time.Second
	c.StreamCloseTimeout = 10 * time.Second
	c.LogOutput, c.Logger = nil, log.New(slogWriter{h.o.Log}, "", 0)
	return c
}

// slogWriter logs lines of a library at debug level. They report broken connections, which are logged elsewhere.
type slogWriter struct{ log *slog.Logger }

func (w slogWriter) Write(line []byte) (int, error) {
	w.log.Debug("companion: " + string(line))
	return len(line), nil
}
