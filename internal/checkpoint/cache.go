package checkpoint

import (
	"io/fs"
	"sync"
	"time"
)

// statCache caches the hashes of files, with the attributes that show whether they have changed. So a workspace is read
// once, and later only where it has changed.
type statCache struct {
	mu    sync.Mutex
	files map[string]statEntry
}

type statEntry struct {
	size     int64
	modified time.Time
	id       [2]uint64
	hash     Hash
	read     time.Time
}

// maxCached bounds the number of files in the cache. A full cache is emptied.
const maxCached = 200_000

// settled is how long before it was read a file must have been unchanged. Otherwise it may have changed again within
// the clock's resolution.
const settled = 2 * time.Second

func (c *statCache) get(path string, info fs.FileInfo) (Hash, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.files[path]
	ok = ok && e.size == info.Size() && e.modified.Equal(info.ModTime()) && e.id == identity(info) && e.read.Sub(e.modified) > settled && e.settledChange()
	return e.hash, ok
}

// settledChange applies settled to the time of the last inode change, if known.
func (e *statEntry) settledChange() bool {
	return e.id[1] == 0 || e.read.UnixNano()-int64(e.id[1]) > int64(settled)
}

func (c *statCache) put(path string, info fs.FileInfo, hash Hash, read time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil || len(c.files) >= maxCached {
		c.files = map[string]statEntry{}
	}
	c.files[path] = statEntry{info.Size(), info.ModTime(), identity(info), hash, read}
}
