package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// Announcement tells clients of the same user how to reach a running companion.
type Announcement struct {
	PID     int       `json:"pid"`
	Address string    `json:"address"`          // host:port
	Hub     bool      `json:"hub"`              // reaches every process of the data directory that could join
	Remote  bool      `json:"remote,omitempty"` // serves other machines; local clients skip it
	Started time.Time `json:"started"`
}

func AnnouncePath(dataDir string) string { return filepath.Join(dataDir, "companion.json") }

// PortsDir returns the folder in which each companion has its announcement file.
func PortsDir(dataDir string) string { return filepath.Join(dataDir, "companions") }

// Companions returns the announcements for clients on this machine, in the order of Announced.
func Companions(dataDir string) ([]Announcement, error) {
	found, err := Announced(dataDir)
	found = slices.DeleteFunc(found, func(a Announcement) bool { return a.Remote })
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w with the data directory %s", wire.ErrNotRunning, dataDir)
	}
	return found, err
}

// Announced returns all announcements: the hub's first, then the newest. Some may belong to processes that are gone.
// Unreadable files are skipped unless nothing else is there. The error is wire.ErrNotRunning if there are none.
func Announced(dataDir string) (found []Announcement, err error) {
	files, err := os.ReadDir(PortsDir(dataDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var unreadable error
	for _, file := range files {
		if _, ok := announcedPort(file.Name()); !ok {
			continue
		}
		path := filepath.Join(PortsDir(dataDir), file.Name())
		data, err := credentials.ReadPrivate(path)
		if errors.Is(err, fs.ErrNotExist) { // withdrawn in the meantime
			continue
		}
		var a Announcement
		if err == nil {
			err = json.Unmarshal(data, &a)
		}
		if err != nil {
			unreadable = errors.Join(unreadable, fmt.Errorf("%s: %w", path, err))
			continue
		}
		found = append(found, a)
	}
	if len(found) == 0 && unreadable == nil {
		return nil, fmt.Errorf("%w with the data directory %s", wire.ErrNotRunning, dataDir)
	}
	if len(found) == 0 {
		return nil, unreadable
	}
	slices.SortStableFunc(found, func(a, b Announcement) int {
		if a.Hub != b.Hub {
			if a.Hub {
				return -1
			}
			return 1
		}
		return b.Started.Compare(a.Started)
	})
	return found, nil
}

// Ports returns the TCP ports of all companions announced in the data directory. It reads only file names, so it is
// cheap enough for every call.
func Ports(dataDir string) (ports []string) {
	dir, err := os.Open(PortsDir(dataDir))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if port, ok := announcedPort(name); ok {
			ports = append(ports, port)
		}
	}
	return ports
}

// announcedPort returns the port in a name such as PID-PORT.json or PID.remote-PORT.json.
func announcedPort(name string) (port string, ok bool) {
	name, ok = strings.CutSuffix(name, ".json")
	if !ok {
		return "", false
	}
	_, port, ok = strings.Cut(name, "-")
	return port, ok
}

// proofTimeout is how long one of several announced companions may take to prove itself before the next is asked.
const proofTimeout = 2 * time.Second

// Answers reports whether a callgate of this user listens at address.
func Answers(dataDir, address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), proofTimeout)
	defer cancel()
	_, _, err := Target{DataDir: dataDir, Address: address}.prove(ctx, credentials.View)
	return err == nil
}
