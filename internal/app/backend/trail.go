package backend

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"callgate/audit"
	"callgate/internal/companion"
)

// Close stops the background work. Nothing of b may be used after it.
func (b *Backend) Close() { b.indexing.close() }

// Audit reads the trail that all processes of a data directory write.
func (b *Backend) Audit(q companion.AuditQuery) ([]companion.AuditRecord, string, error) {
	dir := audit.Dir(b.Config.DataDir)
	if q.Text != "" {
		b.indexing.begin(dir, b.Log)
	}
	return search(dir, q)
}

// indexing keeps the trail's indexes up to date while people search it.
type indexing struct {
	mu     sync.Mutex
	begun  time.Time
	told   string             // the last error that was logged
	stop   context.CancelFunc // nil while no index is being built
	closed bool
	all    sync.WaitGroup
}

// indexAgain is how long an index counts as current. Newer records are searched without an index.
const indexAgain = time.Minute

func (x *indexing) begin(dir string, log *slog.Logger) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.stop != nil || time.Since(x.begun) < indexAgain {
		return
	}
	x.begun = time.Now()
	var ctx context.Context
	ctx, x.stop = context.WithCancel(context.Background())
	x.all.Go(func() {
		err := audit.BuildIndex(ctx, dir)
		x.mu.Lock()
		defer x.mu.Unlock()
		if err != nil && ctx.Err() == nil && err.Error() != x.told {
			x.told = err.Error()
			log.Warn("the audit trail is searched without an index", "error", err)
		}
		x.stop()
		x.stop = nil
	})
}

func (x *indexing) close() {
	x.mu.Lock()
	x.closed = true
	if x.stop != nil {
		x.stop()
	}
	x.mu.Unlock()
	x.all.Wait()
}

// mostCalls bounds how many calls are searched together.
const mostCalls = 4096

// search returns what companion.ReadAudit does for the trail in dir.
func search(dir string, q companion.AuditQuery) ([]companion.AuditRecord, string, error) {
	f := audit.Filter{SessionID: q.SessionID, Tool: q.Tool, Since: q.Since}
	all := f
	if q.Text != "" {
		f.Text = q.Text
		for many := 4 * (q.Limit + 1); q.Calls && many <= mostCalls; many *= 4 {
			if records, next, known := searchCalls(dir, f, q, many); known {
				return records, next, nil
			}
		}
	}
	if q.Calls || q.Before != "" { // either may need any record
		f = all
	}
	return companion.ReadAudit(audit.Read(dir, f), q)
}

// searchCalls searches among the newest calls whose records hold the text, up to many of them. known is false if other
// calls could belong among those it finds.
func searchCalls(dir string, f audit.Filter, q companion.AuditQuery, many int) (records []companion.AuditRecord, next string, known bool) {
	var after time.Time // only records newer than this are certain to be complete; zero if all are
	seen := map[string]bool{}
	for r, err := range audit.Read(dir, f) {
		if err != nil || r.CallID == "" && r.Event != audit.Control {
			return nil, "", false
		}
		if r.CallID == "" {
			continue
		}
		if seen[r.CallID] = true; len(seen) == many {
			after = r.Time
			break
		}
	}
	if len(seen) == 0 {
		return nil, "", true
	}
	f.Text, f.Calls = "", slices.Collect(maps.Keys(seen))
	limit := q.Limit
	q.Limit++ // one more shows whether there are more
	records, _, err := companion.ReadAudit(audit.Read(dir, f), q)
	if err != nil {
		return nil, "", false
	}
	whole := after.IsZero()
	for i := range records {
		if !whole && !records[i].Time.After(after) {
			records = records[:i]
			break
		}
	}
	if len(records) > limit {
		return records[:limit], records[limit-1].Hash, true
	}
	return records, "", whole && (q.Before == "" || len(records) > 0)
}
