package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/spawn"
)

// A process with a door announces it in a file of {dataDir}/companions: the hub, and processes that cannot join it.
// Beside these there is {dataDir}/companion.json, for clients that want one: a copy of the hub's announcement, or of
// the newest whose companion answers when no hub does. Each process updates the copy when it starts, when it ends, and
// from time to time in between. So it stays correct after the process that it names has ended, orderly or not.

const (
	publishEvery = 5 * time.Second // how long companion.json may name a process that crashed
)

// pathOf is where a door is announced. One for other machines may have the port of one for this machine, at another
// address.
func pathOf(dataDir string, a client.Announcement) (string, error) {
	_, port, err := net.SplitHostPort(a.Address)
	if err != nil {
		return "", err
	}
	whose := strconv.Itoa(a.PID)
	if a.Remote {
		whose += ".remote"
	}
	return filepath.Join(client.PortsDir(dataDir), whose+"-"+port+".json"), nil
}

// Announce writes the announcement of a companion of this process and removes those of processes that are gone. A hub
// is in companion.json before anybody can find it otherwise.
func Announce(dataDir, address string, isHub bool) error {
	a := announcementOf(client.Announcement{Address: address, Hub: isHub})
	if isHub {
		if err := name(dataDir, a); err != nil {
			return err
		}
	}
	if err := write(dataDir, a); err != nil {
		return err
	}
	sweep(dataDir)
	return Publish(dataDir, address)
}

// announceRemote writes down that this process has a door for other machines, so that no tool reaches it (Ports).
func announceRemote(dataDir, address string) error {
	return write(dataDir, announcementOf(client.Announcement{Address: address, Remote: true}))
}

// announcementOf adds whose door it is, and since when.
func announcementOf(a client.Announcement) client.Announcement {
	a.PID, a.Started = os.Getpid(), time.Now().UTC()
	return a
}

// write announces a door of this process.
func write(dataDir string, a client.Announcement) error {
	path, err := pathOf(dataDir, a)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(client.PortsDir(dataDir), 0o700); err != nil {
		return fmt.Errorf("announce companion: %w", err)
	}
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := credentials.WritePrivate(path, append(data, '\n')); err != nil {
		return fmt.Errorf("announce companion: %w", err)
	}
	return nil
}

// withdraw removes the announcement of a door of this process, and leaves companion.json to another.
func withdraw(dataDir string, a client.Announcement) error {
	a.PID = os.Getpid()
	path, err := pathOf(dataDir, a)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return Publish(dataDir, "")
}

// Publish has companion.json name the newest companion that answers, or takes it away when none does. The one
// at own is known to answer; one whose process is stopped is known not to.
func Publish(dataDir, own string) error {
	path := client.AnnouncePath(dataDir)
	found, err := client.Companions(dataDir)
	if err != nil && !errors.Is(err, wire.ErrNotRunning) {
		return err
	}
	at := slices.IndexFunc(found, func(a client.Announcement) bool {
		return a.Address == own || !stopped(a.PID) && client.Answers(dataDir, a.Address)
	})
	if at < 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	return name(dataDir, found[at])
}

// name writes a companion into companion.json, unless it stands there.
func name(dataDir string, a client.Announcement) error {
	path := client.AnnouncePath(dataDir)
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if old, err := credentials.ReadPrivate(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := credentials.WritePrivate(path, data); err != nil {
		return fmt.Errorf("announce companion: %w", err)
	}
	return nil
}

// Publish is publish for a door of this process, whose failure is told in the log.
func (h *Hub) publish(own string) {
	if err := Publish(h.o.DataDir, own); err != nil {
		h.o.Log.Warn("companion: not announced", slog.Any("error", err))
	}
}

// sweep removes announcements of processes that are gone and at whose address no callgate answers. A process
// that cannot be seen from here may still answer: it may live in another container.
func sweep(dataDir string) {
	found, _ := client.Announced(dataDir)
	for _, a := range found {
		if path, err := pathOf(dataDir, a); err == nil && !spawn.Exists(a.PID) && !client.Answers(dataDir, a.Address) {
			os.Remove(path)
		}
	}
}
