// Package rag indexes and searches files, documents and tool definitions.
//
// It finds by words (BM25), by meaning (embeddings), and by symbols and paths.
//
// An index is a directory that any number of processes can share. It consists of immutable segments and a manifest that
// names them. Writers hold a lock; readers follow the manifest and never wait. Every file has a checksum. A file that
// does not match its checksum is never searched; Sync replaces it.
package rag

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"callgate/internal/lazyregexp"
)

// Options configure an index. The zero value is usable.
type Options struct {
	// Embedder makes the vectors. Default: the built-in table, see Static.
	Embedder Embedder
	// Denied reports whether a file must not be read, given its absolute path. A denied file is not indexed, is left
	// out of results at once, and leaves the index with the next Sync. Denied may be called from several goroutines.
	Denied func(path string) bool
	// Rules returns a name for the rules behind Denied. When the name changes, the next search calls Denied for every
	// file and removes from the index those that are denied now. Nil means that Denied never changes its answers.
	Rules func() string
	// MaxFileSize is the size in bytes above which a file is left out. Default: 2 MiB.
	MaxFileSize int64
	// MaxFiles is how many files are indexed at most. Default: 200,000.
	MaxFiles int
	// MaxMemory is roughly how many bytes the index may take: half for its contents, half for writing it. It sets the
	// number of workers and the limit on chunks. Files that do not fit are left out, documents refused. Default: 1 GiB.
	MaxMemory int64
	// MaxTime bounds one Sync. The next Sync continues where it stopped. Default: no limit.
	MaxTime time.Duration
	// Logger gets warnings about repaired damage and failing embedders. Default: slog.Default().
	Logger *slog.Logger
}

// Index is an open index. It is safe for concurrent use.
type Index struct {
	options Options
	disk    *disk // nil: in memory

	writing chan struct{} // holds a token while no goroutine of this process writes

	mu      sync.Mutex
	current *snapshot
	closed  bool
}

// ErrClosed is what every method except Close returns after Close.
var ErrClosed = errors.New("rag: index is closed")

// DamagedError means that the files of an index are damaged. Sync repairs it.
type DamagedError struct {
	Dir string
	Err error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("index %s is damaged and has to be built again (callgate index): %v", e.Dir, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// Open opens the index in the directory dir, which it creates if needed. If dir is "", it returns an empty index in
// memory. It opens a damaged index too; searches fail until Sync has repaired it.
func Open(dir string, o Options) (*Index, error) {
	if o.Embedder == nil {
		var err error
		if o.Embedder, err = Static(); err != nil {
			return nil, err
		}
	}
	if d := o.Embedder.Dim(); d < 1 || d > maxDim {
		return nil, fmt.Errorf("rag: embedder %s has %d dimensions, not 1 to %d", o.Embedder.ID(), d, maxDim)
	}
	if o.MaxFileSize <= 0 {
		o.MaxFileSize = 2 << 20
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 200_000
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = 1 << 30
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	x := &Index{options: o, writing: make(chan struct{}, 1), current: newSnapshot(manifest{Format: format}, nil, nil)}
	x.writing <- struct{}{}
	if dir == "" {
		return x, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	x.disk = &disk{dir: dir}
	if _, err := readManifest(x.disk, manifestName); errors.Is(err, errFormat) {
		ctx, stop := context.WithTimeout(context.Background(), patienceOfOpen)
		defer stop()
		if err := x.change(ctx, func(*writer) error { return nil }); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
	}
	return x, nil
}

// patienceOfOpen is how long Open waits for another process that is writing an index in the earlier format.
const patienceOfOpen = 10 * time.Second

// Close releases the files. It waits for a change in progress in this process. Running searches finish normally.
func (x *Index) Close() error {
	<-x.writing
	defer func() { x.writing <- struct{}{} }()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	return x.current.release()
}

// open returns the segment of a manifest entry, sharing the one in have if it is the same. The caller owns a reference.
func (x *Index) open(e *entry, have []part) (part, error) {
	dead, err := e.dead()
	if err != nil {
		return part{}, err
	}
	for i := range have {
		if have[i].name == e.Name && slices.Equal(have[i].files, e.Files) {
			return part{have[i].retain(), dead}, nil
		}
	}
	s, err := openSegment(x.disk, e)
	if err != nil {
		return part{}, err
	}
	return part{s.retain(), dead}, nil
}

// Stats describes what an index holds.
type Stats struct {
	Root      string `json:"root,omitempty"` // of the workspace that was indexed last
	Files     int    `json:"files"`
	Documents int    `json:"documents"`
	Chunks    int    `json:"chunks"`
	Segments  int    `json:"segments"`
	// Vectors is the number of chunks that can be found by meaning. It is below Chunks after the embedder failed or was
	// replaced, until the next Sync.
	Vectors int `json:"vectors"`
}

// Stats counts what the index holds.
func (x *Index) Stats() (Stats, error) {
	s, err := x.acquire()
	if err != nil {
		return Stats{}, err
	}
	stats := s.stats(x.options.Embedder)
	return stats, s.release()
}

func (s *snapshot) stats(e Embedder) Stats {
	stats := Stats{Root: s.manifest.Root, Chunks: s.live, Segments: len(s.parts)}
	for i := range s.parts {
		p := &s.parts[i]
		if p.vectorsOf(e) {
			stats.Vectors += p.live()
		}
		for j := range p.rows.Sources {
			switch source := &p.rows.Sources[j]; {
			case !p.liveSource(source):
			case source.Document:
				stats.Documents++
			default:
				stats.Files++
			}
		}
	}
	return stats
}

// Clear empties the index.
func (x *Index) Clear(ctx context.Context) error {
	return x.change(ctx, func(w *writer) error {
		w.drop()
		w.manifest.Root = ""
		return nil
	})
}

// Dir returns the directory of the index of the workspace root, below indexes, the directory of all indexes. It
// resolves links in root.
func Dir(indexes, root string) (string, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(root))
	name := unusual.ReplaceAllString(filepath.Base(root), "_")
	return filepath.Join(indexes, name[:min(len(name), 40)]+"-"+hex.EncodeToString(sum[:6])), nil
}

var unusual = lazyregexp.New(`[^A-Za-z0-9._-]`)
