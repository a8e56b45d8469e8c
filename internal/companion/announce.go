package companion

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// announcement is {dataDir}/companion.json: how clients of the same user find a running companion.
type announcement struct {
	PID     int       `json:"pid"`
	Address string    `json:"address"` // host:port
	Started time.Time `json:"started"`
}

// ErrNotRunning says that no companion is announced in the data directory.
var ErrNotRunning = errors.New("no callgate is running")

func announcePath(dataDir string) string { return filepath.Join(dataDir, "companion.json") }

// announce writes the announcement of this process. The newest process wins the file.
func announce(dataDir, address string) error {
	data, err := json.Marshal(announcement{PID: os.Getpid(), Address: address, Started: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return err
	}
	if err := writePrivate(announcePath(dataDir), append(data, '\n')); err != nil {
		return fmt.Errorf("announce companion: %w", err)
	}
	return nil
}

// withdraw removes the announcement if it is still the one with address: another process may have put
// its own there since.
func withdraw(dataDir, address string) error {
	switch found, err := findCompanion(dataDir); {
	case errors.Is(err, ErrNotRunning):
		return nil
	case err != nil:
		return err
	case found.PID != os.Getpid() || found.Address != address:
		return nil
	}
	return os.Remove(announcePath(dataDir))
}

// findCompanion reads the announcement. It says nothing of whether that process still lives.
func findCompanion(dataDir string) (announcement, error) {
	data, err := readPrivate(announcePath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return announcement{}, fmt.Errorf("%w: %s does not exist", ErrNotRunning, announcePath(dataDir))
	}
	if err != nil {
		return announcement{}, err
	}
	var a announcement
	if err := json.Unmarshal(data, &a); err != nil {
		return announcement{}, fmt.Errorf("%s: %w", announcePath(dataDir), err)
	}
	return a, nil
}
