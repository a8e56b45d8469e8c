package hooks

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"callgate/internal/durable"
)

// queue holds the events that wait to be posted. It is a folder in which all processes of the worker put files, one for
// each event, named by time. The process that holds the lock posts them in that order. A file is either complete or
// missing. It is there before anybody relies on it, and is removed once the receiver has it. So a killed process loses
// nothing in the folder, and the next one goes on. A power cut can lose the newest events.
type queue struct {
	dir string

	mu      sync.Mutex
	counted bool
	files   int
	bytes   int64
	puts    int
}

// Limits of a queue. A full queue refuses new events, so that the old ones keep their order.
const (
	maxFiles  = 10_000
	maxBytes  = 64 << 20
	maxAge    = 72 * time.Hour
	lockFile  = "lock"
	eventFile = ".json"
)

func newQueue(dir string) *queue { return &queue{dir: dir} }

// entry is a waiting event.
type entry struct {
	file string // in dir
	id   string // the message's: the same in every attempt
	at   time.Time
	size int64
}

// put adds an event. When put returns, the event outlives this process.
func (q *queue) put(body []byte) error {
	if err := os.MkdirAll(q.dir, 0o700); err != nil {
		return err
	}
	if err := q.room(int64(len(body))); err != nil {
		return err
	}
	name := fmt.Sprintf("%020d-%s%s", time.Now().UnixNano(), rand.Text(), eventFile)
	return durable.Put(filepath.Join(q.dir, name), body)
}

// recount is the number of additions after which the folder is counted again: others add to it and take from it.
const recount = 64

// room reserves room for an event, or fails if the queue is full.
func (q *queue) room(size int64) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if full := q.files >= maxFiles || q.bytes+size > maxBytes; !q.counted || full || q.puts >= recount {
		waiting, err := q.list()
		if err != nil {
			return err
		}
		q.counted, q.puts, q.files, q.bytes = true, 0, len(waiting), 0
		for _, e := range waiting {
			q.bytes += e.size
		}
	}
	if q.files >= maxFiles || q.bytes+size > maxBytes {
		return fmt.Errorf("%d events are waiting to be posted, which is the limit: this one is lost", q.files)
	}
	q.files, q.bytes, q.puts = q.files+1, q.bytes+size, q.puts+1
	return nil
}

// list returns the waiting events, oldest first.
func (q *queue) list() ([]entry, error) {
	found, err := os.ReadDir(q.dir) // sorted by name
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(found))
	for _, f := range found {
		stamp, id, ok := strings.Cut(strings.TrimSuffix(f.Name(), eventFile), "-")
		if !ok || !strings.HasSuffix(f.Name(), eventFile) {
			continue
		}
		var nanos int64
		info, err := f.Info()
		if _, scanErr := fmt.Sscanf(stamp, "%d", &nanos); scanErr != nil || err != nil {
			continue // not ours, or posted meanwhile
		}
		entries = append(entries, entry{file: f.Name(), id: "msg_" + id, at: time.Unix(0, nanos), size: info.Size()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.file, b.file) })
	return entries, nil
}

// status describes what waits. It ignores a queue that cannot be read: the sender reports that.
func (q *queue) status() *Queue {
	waiting, _ := q.list()
	s := &Queue{Events: len(waiting)}
	if len(waiting) > 0 {
		oldest := waiting[0].at.UTC()
		s.Oldest = &oldest
	}
	return s
}

func (q *queue) read(e entry) ([]byte, error) {
	return durable.ReadFile(filepath.Join(q.dir, e.file), 64<<20)
}

// remove removes an event that the receiver has, or will never get.
func (q *queue) remove(e entry) error {
	err := os.Remove(filepath.Join(q.dir, e.file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// lock makes this process the one that posts. It returns durable.ErrHeld if another process already is.
func (q *queue) lock() (unlock func() error, err error) {
	if err := os.MkdirAll(q.dir, 0o700); err != nil {
		return nil, err
	}
	return durable.TryLock(filepath.Join(q.dir, lockFile))
}
