package audit

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	manifestName = "manifest.jsonl"
	lockExt      = ".lock"
	// manifestWait bounds the wait for other processes that open or close a log at the same moment.
	manifestWait = 5 * time.Second
)

// Kinds of manifest entries.
const (
	entryOpen  = "open"  // File begins; its first record names this entry's hash as the hash before it
	entryHead  = "head"  // File had got this far
	entryClose = "close" // File is complete
	entrySeal  = "seal"  // File's process ended without closing it; a later process found it like this
)

// entry is one line of the manifest.
type entry struct {
	Seq       uint64    `json:"seq"`
	Time      time.Time `json:"time"`
	Kind      string    `json:"kind"`
	File      string    `json:"file"`
	Continues string    `json:"continues,omitzero"` // open: the file whose chain goes on in File
	Records   uint64    `json:"records"`            // number of the last record so far
	Head      string    `json:"head,omitzero"`      // its hash; an empty log's is the hash of its open entry
	PID       int       `json:"pid,omitzero"`
	Prev      string    `json:"prev"`
	Hash      string    `json:"-"`
}

// manifest says which logs exist and how far each had got, so that a removed or cut log is noticed. All processes
// append to one manifest, one at a time.
type manifest struct {
	dir  string
	disk disk
}

// errManifest means that the manifest was touched and its content is not known.
var errManifest = errors.New("manifest not written")

// update appends the entries that build returns, in order, by one write, and makes them durable. It
// holds the manifest's lock from before build runs until after the write. The entries come back with
// their numbers and hashes. After an error that is not errManifest nothing was written.
func (m manifest) update(build func() ([]entry, error)) (written []entry, err error) {
	unlock, err := m.disk.lock(filepath.Join(m.dir, "manifest"+lockExt), manifestWait)
	if err != nil {
		return nil, err
	}
	defer func() { err = closing(unlock, err) }()

	f, err := m.disk.openAppend(filepath.Join(m.dir, manifestName))
	if err != nil {
		return nil, err
	}
	defer func() { err = closing(f, err) }()

	last, size, err := lastEntry(f)
	if err != nil {
		return nil, err
	}
	entries, err := build()
	if err != nil {
		return nil, err
	}
	var lines []byte
	for i := range entries {
		e := &entries[i]
		e.Seq, e.Prev, e.Time = last.Seq+1, last.Hash, time.Now().UTC().Round(0)
		line, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		line, e.Hash = appendSealed(line[:len(line)-1])
		lines = append(lines, line...)
		last = *e
	}
	if _, err := f.Write(lines); err != nil {
		if failed := f.Truncate(size); failed != nil {
			return nil, fmt.Errorf("%w: %w", errManifest, errors.Join(err, failed))
		}
		return nil, err
	}
	if err := f.Sync(); err != nil {
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	}
	if err := m.disk.syncDir(m.dir); err != nil {
		return nil, fmt.Errorf("%w: %w", errManifest, err)
	}
	return entries, nil
}

// closing adds what c's Close says to err. It may come after a write, so the manifest counts as touched.
func closing(c io.Closer, err error) error {
	if failed := c.Close(); failed != nil {
		return errors.Join(err, fmt.Errorf("%w: %w", errManifest, failed))
	}
	return err
}

// lastEntry returns the end of the chain and the size of the manifest up to there. A line without a newline is from a
// process that died while it wrote. Nobody relies on it, so it is cut off.
func lastEntry(f file) (last entry, size int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return entry{}, 0, err
	}
	b := newBackward(f, info.Size())
	if err := b.settle(); err != nil {
		return entry{}, 0, err
	}
	if size = b.end(); size < info.Size() {
		if err := f.Truncate(size); err != nil {
			return entry{}, 0, err
		}
	}
	line, err := b.line()
	if errors.Is(err, io.EOF) {
		return entry{Hash: manifestGenesis}, size, nil
	}
	if err != nil {
		return entry{}, 0, err
	}
	last, err = decodeEntry(line)
	if err != nil {
		return entry{}, 0, fmt.Errorf("%s: last line: %w: it was changed after it was written", manifestName, err)
	}
	return last, size, nil
}

var errHash = errors.New("the hash does not fit the line")

// decodeEntry reads one line of the manifest and checks its own hash, not its place in the chain.
func decodeEntry(line []byte) (entry, error) {
	hash, ok := checkSealed(line)
	if !ok {
		return entry{}, errHash
	}
	var e entry
	if err := json.Unmarshal(line, &e); err != nil {
		return entry{}, fmt.Errorf("not a manifest entry: %w", err)
	}
	e.Hash = hash
	return e, nil
}
