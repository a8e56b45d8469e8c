package cluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"callgate/internal/durable"
)

// memory is what this replica has seen of its bucket, kept in a file. So a replica notices, even after a restart, that
// the bucket was purged, deleted or rolled back.
type memory struct {
	file   string
	bucket string

	mu   sync.Mutex
	kept remembered
}

type remembered struct {
	Bucket    string                `json:"bucket"`
	Last      uint64                `json:"last"` // the last change seen
	Documents map[string]rememberOf `json:"documents"`
}

type rememberOf struct {
	Revision uint64 `json:"revision"`
	Sum      string `json:"sum"` // SHA-256 of the sealed text
}

// ErrLost means that data of the cluster is gone, or older than what this replica has seen. Nothing runs until somebody
// restores it.
var ErrLost = errors.New("the cluster's memory was taken back")

// beyond is how far a recreated bucket starts beyond what this replica has seen, because others may have seen more.
const beyond = 1 << 20

func openMemory(dataDir, bucket string) (*memory, error) {
	m := &memory{file: filepath.Join(dataDir, "cluster-"+bucket+".seen"), bucket: bucket}
	if err := durable.LoadJSON(m.file, 1<<20, &m.kept); err != nil {
		return nil, fmt.Errorf("this replica's record of the cluster cannot be read (%w): if you trust the cluster, remove %s", err, m.file)
	}
	if m.kept.Documents == nil {
		m.kept.Documents = map[string]rememberOf{}
	}
	return m, nil
}

// last returns the newest change seen, or 0.
func (m *memory) last() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept.Last
}

// isLastSeen reports whether a text is exactly the one last seen under its key.
func (m *memory) isLastSeen(key string, rev uint64, sealed []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return rev != 0 && m.kept.Documents[key] == rememberOf{rev, sumOf(sealed)}
}

func sumOf(sealed []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(sealed))
}

// revision returns the last change seen of a document, or 0.
func (m *memory) revision(key string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept.Documents[key].Revision
}

// saw notes a change on disk. sealed is the document's text, or nil if the change is not a document's.
func (m *memory) saw(key string, rev uint64, sealed []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.kept
	m.kept.Bucket, m.kept.Last = m.bucket, max(m.kept.Last, rev)
	if sealed != nil {
		m.kept.Documents = maps.Clone(m.kept.Documents)
		m.kept.Documents[key] = rememberOf{rev, sumOf(sealed)}
	}
	err := durable.SaveJSON(m.file, m.kept)
	if err != nil {
		m.kept = before
	}
	return err
}

// before returns the documents that were seen before. Each is unknown until it is heard of.
func (m *memory) before() map[string]value {
	m.mu.Lock()
	defer m.mu.Unlock()
	held := map[string]value{}
	for key, one := range m.kept.Documents {
		held[key] = value{rev: one.Revision, err: errTaken}
	}
	return held
}

// dataLost returns the error for a bucket that lost data, with what to do.
func (m *memory) dataLost(what string) error {
	return fmt.Errorf("%w: %s: restore a backup with callgate cluster restore --replace, or start over by removing %s at every replica", ErrLost, what, filepath.Base(m.file))
}

// lockWithin bounds how long a replica waits for its data directory, because Runs holds the lock for a moment.
const lockWithin = 2 * time.Second

func lockFile(dataDir string) string { return filepath.Join(dataDir, "cluster.lock") }

// lockDataDir keeps other replicas out of a data directory until unlock is called.
func lockDataDir(dataDir string) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWithin)
	defer cancel()
	if unlock, err = durable.Lock(ctx, lockFile(dataDir)); ctx.Err() != nil {
		return nil, fmt.Errorf("cluster: another replica runs in %s: give each a data directory of its own with --data-dir", dataDir)
	}
	return unlock, err
}

// Runs reports whether a replica runs in a data directory.
func Runs(dataDir string) bool {
	if _, err := os.Stat(lockFile(dataDir)); err != nil {
		return false
	}
	unlock, err := durable.TryLock(lockFile(dataDir))
	if err == nil {
		err = unlock()
	}
	return errors.Is(err, durable.ErrHeld)
}
