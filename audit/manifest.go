package audit

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	manifestName = "manifest.jsonl"
	lockExt      = ".lock"
	// manifestWait bounds the wait for other processes that open or close a log at the same time.
	manifestWait = 5 * time.Second
)

// Kinds of manifest entries.
const (
	entryOpen  = "open"  // File begins; its first record has this entry's hash as the previous hash
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
	Continues string    `json:"continues,omitzero"` // open: the file whose chain continues in File
	Records   uint64    `json:"records"`            // number of the last record so far
	Head      string    `json:"head,omitzero"`      // its hash; for an empty log, the hash of its open entry
	PID       int       `json:"pid,omitzero"`
	Prev      string    `json:"prev"`
	Hash      string    `json:"-"`
}

// manifest lists the logs and how far each had got, so that a removed or cut log is noticed. All processes append to
// one manifest, one at a time.
type manifest struct {
	dir  string
	disk disk
	// damaged counts invalid lines at the end of the manifest, after which update has continued.
	damaged atomic.Int64
}

// errManifest means that the manifest may have been written and its content is unknown.
var errManifest = errors.New("manifest not written")

// update appends the entries that build returns, in order and in one write, and makes them durable. It holds the
// manifest's lock from before build runs until after the write. It returns the entries with their numbers and hashes.
// After an error other than errManifest, nothing was written.
func (m *manifest) update(build func() ([]entry, error)) (written []entry, err error) {
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

	at, err := findEnd(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: move the folder away and keep it as evidence", manifestName, err)
	}
	entries, err := build()
	if err != nil {
		return nil, err
	}
	lines := at.newline
	for i := range entries {
		e := &entries[i]
		e.Seq, e.Prev, e.Time = at.seq+1, at.hash, time.Now().UTC().Round(0)
		line, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		line, e.Hash = appendSealed(line[:len(line)-1])
		lines = append(lines, line...)
		at.seq, at.hash = e.Seq, e.Hash
	}
	if _, err := f.Write(lines); err != nil {
		if failed := f.Truncate(at.size); failed != nil {
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
	m.damaged.Add(int64(at.damaged))
	return entries, nil
}

// closing closes c and adds its error to err. The close may follow a write, so the manifest counts as touched.
func closing(c io.Closer, err error) error {
	if failed := c.Close(); failed != nil {
		return errors.Join(err, fmt.Errorf("%w: %w", errManifest, failed))
	}
	return err
}

// end is where the manifest continues.
type end struct {
	seq     uint64 // of the last line
	hash    string // the previous hash of the next entry
	size    int64  // in bytes, of what stays
	damaged int    // invalid lines at the end
	newline []byte // the newline that the last line lacks
}

// findEnd returns where the manifest continues. It cuts off the beginning of an entry, left by a process that died
// while writing, because nobody relies on it. Damaged lines stay as evidence. The next entry names the digest of the
// last one, so Verify reports the damage forever, even after the line is removed.
func findEnd(f file) (at end, err error) {
	info, err := f.Stat()
	if err != nil {
		return end{}, err
	}
	at.size = info.Size()
	b := newBackward(f, at.size)
	if err := b.settle(); err != nil {
		return end{}, err
	}
	whole := b.end()
	if err := at.chain(b); err != nil {
		return end{}, err
	}
	if at.size-whole > maxLine {
		return end{}, errLong
	}
	rest := make([]byte, at.size-whole)
	if _, err := f.ReadAt(rest, whole); err != nil && !errors.Is(err, io.EOF) {
		return end{}, err
	}
	switch {
	case len(rest) == 0:
	case isTorn(rest, at.seq+1):
		at.size = whole
		return at, f.Truncate(whole)
	default:
		at.seq++
		at.damaged++
		at.hash, at.newline = digest(rest), []byte("\n")
	}
	return at, nil
}

// chain reads back to the last valid entry.
func (at *end) chain(b *backward) error {
	at.hash = manifestGenesis
	for {
		line, err := b.line()
		if errors.Is(err, io.EOF) {
			at.seq = uint64(at.damaged)
			return nil
		}
		if err != nil {
			return err
		}
		last, err := decodeEntry(line)
		if err != nil {
			last.Hash = digest(line)
		}
		if at.damaged == 0 {
			at.hash = last.Hash
		}
		if err == nil {
			at.seq = last.Seq + uint64(at.damaged)
			return nil
		}
		at.damaged++
	}
}

var errHash = errors.New("the hash does not match the line")

// decodeEntry parses one line of the manifest. It checks its hash, but not its place in the chain.
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
