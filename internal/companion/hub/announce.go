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

// A process with a door announces it in a file in {dataDir}/companions: the hub, and each process that cannot join it.
// {dataDir}/companion.json is for clients that want a single announcement. It copies the hub's or, without a hub, the
// newest whose companion answers. Each process updates the copy when it starts, when it ends, and from time to time in
// between. So it stays correct after the process that it names has ended, even by a crash.

const (
	publishEvery = 5 * time.Second // how long companion.json may name a crashed process
)

// pathOf returns the file that announces a door. A door for other machines may have the same port as one for this
// machine, at another address.
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

// Announce writes the announcement of a companion of this process and removes those of processes that are gone. It
// writes a hub into companion.json first, before clients can find it in any other way.
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

// announceRemote announces this process's door for other machines, so that no tool may reach it (see client.Ports).
func announceRemote(dataDir, address string) error {
	return write(dataDir, announcementOf(client.Announcement{Address: address, Remote: true}))
}

// announcementOf adds this process's id and the current time.
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

// withdraw removes the announcement of a door of this process, and updates companion.json.
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

// Publish has companion.json name the first announced companion that answers, or removes the file if none does. The
// companion at own is taken to answer; one whose process is stopped is taken not to.
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

// name writes a companion into companion.json, unless it is already there.
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

// publish calls Publish and logs a failure.
func (h *Hub) publish(own string) {
	if err := Publish(h.o.DataDir, own); err != nil {
		h.o.Log.Warn("companion: not announced", slog.Any("error", err))
	}
}

// sweep removes announcements of processes that are gone and at whose address no callgate answers. A process that is
// not visible here may still answer: it may run in another container.
func sweep(dataDir string) {
	found, _ := client.Announced(dataDir)
	for _, a := range found {
		if path, err := pathOf(dataDir, a); err == nil && !spawn.Exists(a.PID) && !client.Answers(dataDir, a.Address) {
			os.Remove(path)
		}
	}
}
