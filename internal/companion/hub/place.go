package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/durable"
)

// Of the processes that share a data directory, the hub is the one that holds the lock on {dataDir}/hub/lock. The
// system takes the lock from a process that ends, however it ends. So a lock is never stale, and the content of the
// file means nothing. The others join the hub over the unix socket {dataDir}/hub/callgate.sock. When their connection
// ends they know that the hub has ended. Then each of them tries to get the lock; one succeeds, and the rest join it.
//
// A process may be able neither to get the lock nor to join for Timing.Alone: because the file system has no locks or
// sockets, or because the hub hangs or speaks another version. Then it opens its own door, so that people can answer
// its questions, and keeps trying.

// SocketName is the name of the hub's socket in its folder. No other file has this name, because no tool may name it.
const SocketName = "callgate.sock"

const (
	retryEvery = 20 * time.Millisecond // pause between attempts to get the lock or join, while people cannot reach this process
	aloneEvery = time.Second           // the same, while this process has its own door
)

// place is the role of a process: hub, member or alone.
type place interface {
	// hold keeps the place until it is lost, given up for next, or ctx ends. It leaves nothing running or open except
	// what next owns.
	hold(ctx context.Context) (next place)
	// successor returns the address where people look for the next process; "" if any will do.
	successor() string
}

func Dir(dataDir string) string    { return filepath.Join(dataDir, "hub") }
func Socket(dataDir string) string { return filepath.Join(Dir(dataDir), SocketName) }

// keepPlace holds one place after another until the hub's context ends. Every place that is taken MUST be held, because
// only hold gives it up.
func (h *Hub) keepPlace(p place) {
	for {
		next := p.hold(h.ctx)
		for next == nil {
			if h.ctx.Err() != nil {
				return
			}
			var err error
			if next, err = h.takePlace(cmp.Or(p.successor(), h.o.Address), min(h.o.Timing.Alone, silence)); err != nil {
				h.o.Log.Error("companion: people cannot reach this callgate; trying again", slog.Any("error", err))
				h.pause(aloneEvery)
			}
		}
		p = next
	}
}

// silence is how long a process whose hub is gone looks for the next one. A stopped hub keeps the lock and answers
// nobody.
const silence = time.Second

// takePlace makes this process hub or member or, after patience, alone. A hub tries to bind address first.
func (h *Hub) takePlace(address string, patience time.Duration) (place, error) {
	began := time.Now()
	for {
		p, err := h.tryPlace(address, nil)
		switch {
		case err == nil:
			return p, nil
		case h.ctx.Err() != nil:
			return nil, h.ctx.Err()
		case !errors.Is(err, errNoHubYet), time.Since(began) > patience:
			h.o.Log.Warn("companion: this callgate has an address of its own, because there is no hub that it can join", slog.Any("error", err))
			return h.beAlone()
		}
		h.pause(retryEvery/2 + mathrand.N(retryEvery))
	}
}

// errNoHubYet means that another process holds the lock but does not answer at the socket. A new hub takes a moment.
var errNoHubYet = errors.New("the hub does not answer")

// tryPlace tries once to become the hub or a member. A hub takes own as its door unless own is nil. A member leaves own
// to the caller, as tryPlace does when it fails.
func (h *Hub) tryPlace(address string, own *Door) (place, error) {
	if err := h.prepareHubDir(); err != nil {
		return nil, err
	}
	path := filepath.Join(Dir(h.o.DataDir), "lock")
	if err := durable.Regular(path); err != nil {
		return nil, fmt.Errorf("the hub's lock: %w", err)
	}
	lock := flock.New(path, flock.SetPermissions(0o600))
	mine, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("the hub's lock: %w", errors.Join(err, lock.Close()))
	}
	if mine {
		return h.becomeHub(lock, address, own)
	}
	if err := lock.Close(); err != nil {
		return nil, err
	}
	return h.join()
}

// prepareHubDir makes the hub's folder, which only the user may look into.
func (h *Hub) prepareHubDir() error {
	if path := Socket(h.o.DataDir); len(path) > maxSocketPath {
		return fmt.Errorf("the path of the hub's socket, %s, has %d bytes and the system takes %d: use a shorter --data-dir", path, len(path), maxSocketPath)
	}
	dir := Dir(h.o.DataDir)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("hub: %w", err)
	}
	return credentials.CheckPrivate(dir)
}

// alone is a process that is neither hub nor member. Its door shows only its own calls.
type alone struct {
	hub  *Hub
	door *Door
}

func (h *Hub) beAlone() (_ place, err error) {
	h.apart.Store(true) // before the door opens, so that no client takes this part for the whole
	defer func() {
		if err != nil {
			h.apart.Store(false)
		}
	}()
	d, err := h.openDoor(h.o.Address)
	if err != nil {
		return nil, err
	}
	if err := Announce(h.o.DataDir, d.Address, false); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return &alone{h, d}, nil
}

// Problems returns sentences on calls that people do not see here, or nil if they see all.
func (h *Hub) Problems() (said []string) {
	if h.apart.Load() {
		return []string{wire.UnseenElsewhere}
	}
	for _, pid := range h.fleet.recentlyLeft() {
		said = append(said, wire.Unseen(pid, ""))
	}
	return said
}

func (a *alone) successor() string { return "" }

func (a *alone) hold(ctx context.Context) place {
	defer a.hub.apart.Store(false)
	published := time.Now()
	for a.hub.pause(aloneEvery) {
		next, err := a.hub.tryPlace(a.hub.o.Address, a.door)
		if err == nil {
			if _, leads := next.(*leader); !leads {
				a.hub.leaveDoor(a.door)
			}
			return next
		}
		a.hub.o.Log.Debug("companion: still alone", slog.Any("error", err))
		if time.Since(published) > publishEvery {
			a.hub.publish(a.door.Address)
			published = time.Now()
		}
	}
	a.hub.leaveDoor(a.door)
	return nil
}
