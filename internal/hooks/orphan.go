package hooks

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Orphan is the queue of a webhook that the configuration no longer has.
type Orphan struct {
	Name   string // the webhook's
	Events int
	Oldest time.Time
}

// Orphans lists the queues in queueDir that belong to none of r's webhooks; a nil r has none. Their events are posted
// once the configuration has a webhook of that name again.
func Orphans(queueDir string, r *Runner) ([]Orphan, error) {
	folders, err := os.ReadDir(queueDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var orphans []Orphan
	for _, f := range folders {
		if !f.IsDir() || r.sends(f.Name()) {
			continue
		}
		waiting, err := newQueue(filepath.Join(queueDir, f.Name())).list()
		if err != nil {
			return nil, err
		}
		if len(waiting) > 0 {
			orphans = append(orphans, Orphan{Name: f.Name(), Events: len(waiting), Oldest: waiting[0].at})
		}
	}
	return orphans, nil
}

// Expire removes orphaned events that are too old for a webhook to post, and logs what it removes and what still waits.
// Another process may have the webhook: it would drop the same events.
func Expire(queueDir string, r *Runner, log *slog.Logger) error {
	orphans, err := Orphans(queueDir, r)
	for _, o := range orphans {
		removed, failed := newQueue(filepath.Join(queueDir, o.Name)).expire()
		err = errors.Join(err, failed)
		if removed > 0 {
			log.Warn("events for a webhook that is no longer configured are dropped", "hook", o.Name, "events", removed, "olderThan", maxAge)
		}
		if left := o.Events - removed; left > 0 {
			log.Warn("events wait for a webhook that is not configured: they are posted once it is, and dropped when they are too old", "hook", o.Name, "events", left, "olderThan", maxAge)
		}
	}
	return err
}

// sends reports whether a webhook of that name is configured.
func (r *Runner) sends(name string) bool {
	if r == nil {
		return false
	}
	h := r.find(name)
	if h == nil {
		return false
	}
	_, ok := h.action.(*webhook)
	return ok && h.name == name // the folder has the name exactly as written
}

// expire removes events that are too old to be posted, and returns their number.
func (q *queue) expire() (removed int, err error) {
	waiting, err := q.list()
	for _, e := range waiting {
		if time.Since(e.at) <= maxAge {
			break // the rest are younger
		}
		if failed := q.remove(e); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		removed++
	}
	return removed, err
}
