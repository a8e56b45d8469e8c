package upstream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"callgate/internal/durable"
)

// cacheFormat changes when callgate would misread files of an older version. cluster.Lists has it, too.
const cacheFormat = 1

// maxCacheFile bounds a cache file, in bytes. Longer lists are fetched at every start.
const maxCacheFile = 32 << 20

// keepUnused is how long a file is kept that nobody loads. An environment with a changing token makes a new file for
// every token.
const keepUnused = 30 * 24 * time.Hour

// record is the content of a cache file. It holds results as the server sent them, so that they go through the same
// checks as results from the server itself.
type record struct {
	Format     int                 `json:"format"`
	Initialize []byte              `json:"initialize,omitempty"`
	Lists      map[string][][]byte `json:"lists,omitempty"` // pages by Kind
	Failure    *failure            `json:"failure,omitempty"`
	Era        Era                 `json:"era,omitzero"` // the era that the server spoke
	EraAt      time.Time           `json:"eraAt,omitzero"`
}

// failure says why the last start failed.
type failure struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// cache is the file that remembers a server between runs. It only saves time, so a fault in it costs only time. Two
// processes may write it, always as a whole; the last one wins.
type cache struct {
	dir string // "" if nothing is kept between runs

	mu   sync.Mutex
	path string // "" until load
	log  *slog.Logger
	rec  record
}

func newCache(dir string) *cache {
	if dir != "" {
		dir = filepath.Join(dir, "upstreams")
	}
	return &cache{dir: dir}
}

// cacheKey names the file. Another command, environment or host may see another server. The environment's values may be
// secrets, so only their digest is in the name. The part before the dash is the same for all hosts.
func cacheKey(cfg Config, hello Hello) (string, error) {
	env := slices.Clone(cfg.Env)
	slices.SortStableFunc(env, func(a, b string) int {
		an, _, _ := strings.Cut(a, "=")
		bn, _, _ := strings.Cut(b, "=")
		return strings.Compare(an, bn)
	})
	server, err := json.Marshal([]any{cfg.Command, cfg.Args, cfg.Dir, env, cfg.InheritEnv, cfg.URL, cfg.Header}, json.Deterministic(true))
	if err != nil {
		return "", err
	}
	host, err := json.Marshal([]any{hello.ProtocolVersion, hello.Capabilities, hello.Era, hello.Tasks})
	if err != nil {
		return "", err
	}
	s, h := sha256.Sum256(server), sha256.Sum256(host)
	return hex.EncodeToString(s[:16]) + "-" + hex.EncodeToString(h[:16]), nil
}

// load reads the server's file. If it is missing, load returns what the server said to another host; if it is damaged,
// an empty record.
func (c *cache) load(cfg Config, hello Hello, log *slog.Logger) record {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir == "" || cfg.Serve != nil {
		return record{}
	}
	c.log = log
	key, err := cacheKey(cfg, hello)
	if err != nil {
		log.Warn("server not cached: its configuration is not text", "error", err)
		return record{}
	}
	c.path = filepath.Join(c.dir, key+".json")
	now := time.Now()
	if err := os.Chtimes(c.path, now, now); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Debug("cache file not marked as used", "path", c.path, "error", err)
	}
	c.prune(now.Add(-keepUnused))
	rec, err := readRecord(c.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c.sibling(key)
	case err != nil:
		log.Warn("cache file ignored", "path", c.path, "error", err)
		return record{}
	}
	c.rec = rec
	return rec
}

// sibling returns what the same server last said to another host. Most servers say the same to all. If this one does
// not, its own lists replace these once it has started.
func (c *cache) sibling(key string) (newest record) {
	server, _, _ := strings.Cut(key, "-")
	paths, err := filepath.Glob(filepath.Join(c.dir, server+"-*.json"))
	if err != nil {
		return record{}
	}
	var at time.Time
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.ModTime().After(at) {
			continue
		}
		if rec, err := readRecord(path); err == nil && rec.Failure == nil {
			newest, at = rec, info.ModTime()
		}
	}
	newest.EraAt = time.Time{} // it was found with another host
	return newest
}

// Remembered returns the items of the list that the server sent last, to any host. ok is false if none is cached. It
// starts no server.
func Remembered(cfg Config, k Kind, cacheDir string) (items []Item, ok bool) {
	if cacheDir == "" || cfg.Serve != nil {
		return nil, false
	}
	key, err := cacheKey(cfg, Hello{})
	if err != nil {
		return nil, false
	}
	pages, ok := newCache(cacheDir).sibling(key).Lists[k.String()]
	if !ok {
		return nil, false
	}
	list, err := parseList(k, pages, slog.New(slog.DiscardHandler))
	return list.Items, err == nil
}

// Cached holds what servers last said about themselves, by the key of their configuration, as other replicas can use
// it.
type Cached struct{ dir string }

// CachedIn returns the cache of a data directory.
func CachedIn(cacheDir string) Cached { return Cached{newCache(cacheDir).dir} }

// Version returns a text that changes whenever a file does, or "" if there is no cache.
func (c Cached) Version() (string, error) {
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	sum := sha256.New()
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // otherwise it was just removed
			fmt.Fprintln(sum, e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

// Servers returns the records by key, without the state of the last start here. The text is "" for records without a
// list and for unreadable records, because those were not removed.
func (c Cached) Servers() (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(c.dir, "*.json"))
	servers := make(map[string]string, len(paths))
	for _, path := range paths {
		key := strings.TrimSuffix(filepath.Base(path), ".json")
		rec, err := readRecord(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was just removed
			continue
		case err != nil || len(rec.Lists) == 0:
			servers[key] = ""
			continue
		}
		rec.Failure, rec.EraAt = nil, time.Time{}
		text, err := json.Marshal(rec, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		servers[key] = string(text)
	}
	return servers, err
}

// Put stores a record from another replica. It keeps the state of the last start here.
func (c Cached) Put(key, text string) error {
	path, err := c.path(key)
	if err != nil {
		return err
	}
	rec, err := parseRecord([]byte(text))
	if err != nil {
		return err
	}
	if own, err := readRecord(path); err == nil {
		rec.Failure, rec.EraAt = own.Failure, own.EraAt
	}
	return writeRecord(path, rec)
}

// Remove removes a record. A missing record is no error.
func (c Cached) Remove(key string) error {
	path, err := c.path(key)
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// path returns the file for a key, which it checks because it comes from another replica.
func (c Cached) path(key string) (string, error) {
	if strings.Trim(key, "0123456789abcdef-") != "" || key == "" {
		return "", fmt.Errorf("%q is not a key of a server", key)
	}
	return filepath.Join(c.dir, key+".json"), nil
}

// prune removes files that nobody has used since then.
func (c *cache) prune(then time.Time) {
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.log.Debug("cache not pruned", "error", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.ModTime().After(then) {
			continue // another process may have removed it
		}
		if err := os.Remove(filepath.Join(c.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.log.Debug("cache file not removed", "error", err)
		}
	}
}

func readRecord(path string) (record, error) {
	text, err := durable.ReadFile(path, maxCacheFile)
	if err != nil {
		return record{}, err
	}
	return parseRecord(text)
}

func parseRecord(text []byte) (rec record, err error) {
	if err := json.Unmarshal(text, &rec, json.RejectUnknownMembers(true)); err != nil {
		return record{}, err
	}
	if rec.Format != cacheFormat {
		return record{}, fmt.Errorf("format %d", rec.Format)
	}
	return rec, nil
}

// failure returns why and when the last start failed. ok is false if it did not fail.
func (c *cache) failure() (reason string, at time.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rec.Failure == nil {
		return "", time.Time{}, false
	}
	return c.rec.Failure.Reason, c.rec.Failure.At, true
}

// update changes the record. If mutate returns true, it also writes the file.
func (c *cache) update(mutate func(*record) (changed bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !mutate(&c.rec) || c.path == "" {
		return
	}
	c.rec.Format = cacheFormat
	if err := writeRecord(c.path, c.rec); err != nil {
		c.log.Warn("cache file not written", "path", c.path, "error", err)
	}
}

// writeRecord replaces the file. It does not sync, because a file damaged by a power cut is ignored.
func writeRecord(path string, rec record) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	if len(text) > maxCacheFile {
		return fmt.Errorf("longer than %d bytes", maxCacheFile)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return durable.Put(path, text)
}

// saveInfo stores that the server started, and what it said.
func (c *cache) saveInfo(info *Info, era Era) {
	c.update(func(r *record) bool {
		kept := time.Since(r.EraAt) < eraKept && r.Era == era
		if r.Failure == nil && kept && bytes.Equal(r.Initialize, info.Raw) {
			return false
		}
		if !kept {
			r.Era, r.EraAt = era, time.Now()
		}
		r.Failure, r.Initialize = nil, info.Raw
		return true
	})
}

// saveFailure stores that the server did not start.
func (c *cache) saveFailure(down *DownError) {
	c.update(func(r *record) bool {
		r.Failure = &failure{At: time.Now(), Reason: down.Reason}
		return true
	})
}

// saveList stores a list.
func (c *cache) saveList(k Kind, list List) {
	c.update(func(r *record) bool {
		if r.Lists == nil {
			r.Lists = map[string][][]byte{}
		}
		r.Lists[k.String()] = list.pages
		return true
	})
}
