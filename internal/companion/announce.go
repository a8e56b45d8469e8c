package companion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"callgate/internal/spawn"
)

// Who has a door announces it in {dataDir}/companions/PID-PORT.json: the hub, and processes that cannot join it.
// Beside these there is {dataDir}/companion.json, for clients that want one: a copy of the hub's announcement, or
// of the newest whose companion answers when no hub does. Who starts, who ends and, in between, everybody from time
// to time sees to it, so that it survives the end of the process that it names, orderly or not.

// announcement says how clients of the same user find one running companion.
type announcement struct {
	PID     int       `json:"pid"`
	Address string    `json:"address"`          // host:port
	Hub     bool      `json:"hub"`              // all processes of the data directory that could join are reached there
	Remote  bool      `json:"remote,omitempty"` // for other machines: clients of this one go elsewhere
	Started time.Time `json:"started"`
}

// ErrNotRunning says that no companion is announced in the data directory.
var ErrNotRunning = errors.New("no callgate is running")

const (
	publishEvery = 5 * time.Second // how long companion.json may name a process that crashed
	proofTimeout = 2 * time.Second // how long one of several announced companions may take to prove itself
)

func announcePath(dataDir string) string { return filepath.Join(dataDir, "companion.json") }

// PortsDir is the folder in which companions are announced, each in a file of its own.
func PortsDir(dataDir string) string { return filepath.Join(dataDir, "companions") }

// ownPath is where a companion of this process at address announces itself.
func ownPath(dataDir, address string) (string, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	return filepath.Join(PortsDir(dataDir), fmt.Sprintf("%d-%s.json", os.Getpid(), port)), nil
}

// announce writes the announcement of a companion of this process and removes those of processes that are gone.
func announce(dataDir, address string, isHub bool) error {
	if err := write(dataDir, announcement{Address: address, Hub: isHub}); err != nil {
		return err
	}
	sweep(dataDir)
	return publish(dataDir, address)
}

// announceRemote writes down that this process has a door for other machines, so that no tool reaches it (Ports).
func announceRemote(dataDir, address string) error {
	return write(dataDir, announcement{Address: address, Remote: true})
}

// write announces a door of this process.
func write(dataDir string, a announcement) error {
	address := a.Address
	path, err := ownPath(dataDir, address)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(PortsDir(dataDir), 0o700); err != nil {
		return fmt.Errorf("announce companion: %w", err)
	}
	a.PID, a.Started = os.Getpid(), time.Now().UTC()
	data, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := writePrivate(path, append(data, '\n')); err != nil {
		return fmt.Errorf("announce companion: %w", err)
	}
	return nil
}

// withdraw removes the announcement of a companion of this process, and leaves companion.json to another.
func withdraw(dataDir, address string) error {
	path, err := ownPath(dataDir, address)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return publish(dataDir, "")
}

// publish has companion.json name the newest companion that answers, or takes it away when none does. The one
// at own is known to answer.
func publish(dataDir, own string) error {
	path := announcePath(dataDir)
	found, err := companions(dataDir)
	if err != nil && !errors.Is(err, ErrNotRunning) {
		return err
	}
	at := slices.IndexFunc(found, func(a announcement) bool { return a.Address == own || answers(dataDir, a.Address) })
	if at < 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	data, err := json.Marshal(found[at])
	if err != nil {
		return err
	}
	data = append(data, '\n')
	if old, err := readPrivate(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := writePrivate(path, data); err != nil {
		return fmt.Errorf("announce companion: %w", err)
	}
	return nil
}

// publish is publish for a door of this process, whose failure is told in the log.
func (s *Server) publish(own string) {
	if err := publish(s.dataDir, own); err != nil {
		s.log.Warn("companion: not announced", slog.Any("error", err))
	}
}

// companions reads the announcement of every door for clients of this machine; see announced.
func companions(dataDir string) ([]announcement, error) {
	found, err := announced(dataDir)
	found = slices.DeleteFunc(found, func(a announcement) bool { return a.Remote })
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w with the data directory %s", ErrNotRunning, dataDir)
	}
	return found, err
}

// announced reads every announcement, the hub's first, then the newest. Some may be of processes that are gone; what
// cannot be read is left out unless it is all there is. The error is ErrNotRunning when there is none.
func announced(dataDir string) (found []announcement, err error) {
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
		data, err := readPrivate(path)
		if errors.Is(err, fs.ErrNotExist) { // withdrawn meanwhile
			continue
		}
		var a announcement
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
		return nil, fmt.Errorf("%w with the data directory %s", ErrNotRunning, dataDir)
	}
	if len(found) == 0 {
		return nil, unreadable
	}
	slices.SortStableFunc(found, func(a, b announcement) int {
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

// Ports lists the TCP ports of all companions that are announced in the data directory. It reads names alone,
// which is cheap enough for every call.
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

// announcedPort reads the port from the name PID-PORT.json.
func announcedPort(name string) (port string, ok bool) {
	name, ok = strings.CutSuffix(name, ".json")
	if !ok {
		return "", false
	}
	_, port, ok = strings.Cut(name, "-")
	return port, ok
}

// answers reports whether this user's callgate listens at address.
func answers(dataDir, address string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), proofTimeout)
	defer cancel()
	_, _, err := Target{DataDir: dataDir, Address: address}.prove(ctx, CredentialView)
	return err == nil
}

// sweep removes announcements of processes that are gone and at whose address no callgate answers. A process
// that cannot be seen from here may still answer: it may live in another container.
func sweep(dataDir string) {
	found, _ := announced(dataDir)
	for _, a := range found {
		_, port, err := net.SplitHostPort(a.Address)
		if err != nil || spawn.Exists(a.PID) || answers(dataDir, a.Address) {
			continue
		}
		os.Remove(filepath.Join(PortsDir(dataDir), fmt.Sprintf("%d-%s.json", a.PID, port)))
	}
}
