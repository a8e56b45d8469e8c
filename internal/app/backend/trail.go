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

// Close ends what works in the background. Nothing of b may be used after it.
func (b *Backend) Close() { b.indexing.close() }

// Audit reads the trail that all processes of a data directory write.
func (b *Backend) Audit(q companion.AuditQuery) ([]companion.AuditRecord, string, error) {
	dir := audit.Dir(b.Config.DataDir)
	if q.Text != "" {
		b.indexing.begin(dir, b.Log)
	}
	return search(dir, q)
}

// indexing keeps the indexes of the trail up to date while people search it.
type indexing struct {
	mu     sync.Mutex
	begun  time.Time
	told   string             // the trouble that was logged last
	stop   context.CancelFunc // nil while none are built
	closed bool
	all    sync.WaitGroup
}

// indexAgain is how long an index counts as new enough. Newer records are searched without one.
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

// mostCalls bounds how many calls are looked at together.
const mostCalls = 4096

// search is companion.ReadAudit of the trail in dir.
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
	if q.Calls || q.Before != "" { // which may be any record
		f = all
	}
	return companion.ReadAudit(audit.Read(dir, f), q)
}

// searchCalls is search among the calls of the newest records that hold the text. known is false when others could
// belong among those it finds.
func searchCalls(dir string, f audit.Filter, q companion.AuditQuery, many int) (records []companion.AuditRecord, next string, known bool) {
	var after time.Time // what is known to be found is of after this
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
	q.Limit++ // says whether there are more
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
