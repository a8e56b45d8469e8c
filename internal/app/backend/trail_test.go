package backend

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/audit"
	"callgate/internal/companion"
	"callgate/internal/testserver/unraced"
)

// A search for a text finds the same pages as reading the whole trail.
func TestSearchFindsWhatTheTrailHolds(t *testing.T) {
	if unraced.Elsewhere(t) {
		return
	}
	dir := t.TempDir()
	log, err := audit.Open(dir, audit.Options{MaxFile: 400 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	random := rand.New(rand.NewPCG(3, 4))
	words := []string{"zebra", "Giraffe", "ant", "reads a file", "writes a file", "runs a command"}
	word := func() string { return words[random.IntN(len(words))] }
	var open []string
	for i := range 3000 {
		r := audit.Record{Event: audit.Control, Summary: word()}
		switch n := random.IntN(10); {
		case n < 5:
			r = audit.Record{Event: audit.Decision, CallID: fmt.Sprintf("call-%d", i), SessionID: fmt.Sprintf("s-%d", i%7), Tool: "fs_read", Decision: []string{"approved", "denied"}[i%2], Summary: words[3+random.IntN(3)]}
			if random.IntN(20) == 0 {
				r.Reason = word()
			}
			open = append(open, r.CallID)
			if random.IntN(5) == 0 { // asked first, in other words
				asked := r
				asked.Event, asked.Summary = audit.Asked, word()
				if _, err := log.Append(asked); err != nil {
					t.Fatal(err)
				}
			}
		case n < 9 && len(open) > 0:
			at := random.IntN(len(open))
			r = audit.Record{Event: audit.Outcome, CallID: open[at], SessionID: "s-1", Tool: "fs_read"}
			if random.IntN(10) == 0 {
				r.Error = word()
			}
			open = append(open[:at], open[at+1:]...)
		}
		if _, err := log.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := audit.BuildIndex(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		q := companion.AuditQuery{Text: word(), Calls: random.IntN(4) > 0, Limit: 1 + random.IntN(40)}
		if random.IntN(3) == 0 {
			q.Decision = "denied"
		}
		if random.IntN(4) == 0 {
			q.SessionID = "s-1"
		}
		for range 4 {
			got, next, err := search(dir, q)
			if err != nil {
				t.Fatal(err)
			}
			want, wantNext, err := companion.ReadAudit(audit.Read(dir, audit.Filter{SessionID: q.SessionID}), q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || next != wantNext {
				t.Fatalf("%+v: next %q, want %q; want (-), got (+):\n%.2000s", q, next, wantNext, diff)
			}
			if q.Before = next; next == "" {
				break
			}
		}
	}
}

func TestTroubleWithTheIndexIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "index.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	var x indexing
	for range 3 {
		x.begin(dir, log)
		x.all.Wait()
		x.begun = time.Time{}
	}
	if n := strings.Count(out.String(), "without an index"); n != 1 {
		t.Errorf("told %d times:\n%s", n, out.String())
	}
}
