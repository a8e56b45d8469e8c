package endpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"callgate/internal/spawn"
)

// A server notes its port in {dataDir}/endpoints/PID-PORT while it listens. Every callgate of the data directory keeps
// the tools behind it away from these ports, because a tool that reaches one could call tools outside its own session.

// PortsDir returns the folder of these notes.
func PortsDir(dataDir string) string { return filepath.Join(dataDir, "endpoints") }

// Announce notes the port and returns a function that removes the note.
func Announce(dataDir string, port int) (withdraw func() error, err error) {
	dir := PortsDir(dataDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("announce the port for hosts: %w", err)
	}
	sweep(dir)
	path := filepath.Join(dir, fmt.Sprintf("%d-%d", os.Getpid(), port))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, fmt.Errorf("announce the port for hosts: %w", err)
	}
	return func() error { return os.Remove(path) }, nil
}

// Ports lists the ports of all servers of the data directory. It only reads names, which is cheap enough for every
// call.
func Ports(dataDir string) (ports []string) {
	dir, err := os.Open(PortsDir(dataDir))
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if _, port, ok := strings.Cut(name, "-"); ok {
			ports = append(ports, port)
		}
	}
	return ports
}

// sweep removes the notes of processes that are gone and whose ports do not answer. A process that is not visible from
// here may run in another container.
func sweep(dir string) {
	notes, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, note := range notes {
		text, port, _ := strings.Cut(note.Name(), "-")
		pid, err := strconv.Atoi(text)
		if err != nil || spawn.Exists(pid) || answers(port) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, note.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return // the folder is not ours to change, which Announce will report
		}
	}
}

func answers(port string) bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
