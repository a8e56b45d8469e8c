//go:build !nonats

package cluster

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callgate/audit"
)

// TestOldRecordsLeaveTheStream lets time pass: what is old leaves the stream once every export has it, but nothing that
// this replica has not itself. The trail verifies all the same; what is gone too early is found out.
func TestOldRecordsLeaveTheStream(t *testing.T) {
	t.Parallel()
	const age = 24 * time.Hour
	c, later, taken := one(t), time.Duration(0), int64(math.MaxInt64)
	o := c.o
	o.TrailAge, o.now = age, func() time.Time { return time.Now().Add(later) }
	here := &Cluster{o: o, log: c.log, conn: c.conn, js: c.js, bucket: c.bucket}
	dir := audit.Dir(o.DataDir)
	trail := here.trailOf(dir)
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	write := func() {
		t.Helper()
		for range 200 {
			if _, err := log.Append(audit.Record{Event: audit.Control, Summary: strings.Repeat("x", 8<<10)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := trail.export(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left := func() int {
		t.Helper()
		return int(streamOf(t, trail).CachedInfo().State.Msgs)
	}
	breaks := func() []string {
		t.Helper()
		logs, err := here.VerifyTrail(t.Context(), dir)
		if err != nil || len(logs) != 1 {
			t.Fatal(logs, err)
		}
		return logs[0].Breaks
	}
	trim := func(what string, least, most int) {
		t.Helper()
		if err := trail.trim(t.Context(), func(string) int64 { return taken }); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := left(); n < least || n > most {
			t.Errorf("%s: %d messages are left, want %d to %d", what, n, least, most)
		}
		if found := breaks(); len(found) > 0 {
			t.Errorf("%s: it does not verify: %v", what, found)
		}
	}
	write()
	all := left()
	if all < 4 {
		t.Fatalf("%d messages", all)
	}
	trim("nothing is old", all, all)
	taken, later = 0, 2*age
	trim("nothing was exported", all, all)
	logs, err := audit.Logs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for line, err := range audit.Lines(dir, logs[0], 0) {
		if err != nil {
			t.Fatal(err)
		}
		if taken = line.End; line.Seq == 100 {
			break
		}
	}
	trim("some were exported", 2, all-1)
	taken = math.MaxInt64
	trim("all were exported", 1, 1)
	later = 0
	if len(breaks()) == 0 {
		t.Error("young records are gone, and nobody says so")
	}

	later = 2 * age
	write()
	all = left()
	trail.dir = t.TempDir() // the disk was lost
	if err := trail.trimLog(t.Context(), streamOf(t, trail), logs[0], trail.logs[logs[0]], taken); err == nil || left() != all {
		t.Errorf("%d of %d messages that are nowhere else are left: %v", left(), all, err)
	}
	trail.dir = dir
	trail.logs[logs[0]] = &exported{} // it was restarted
	if err := trail.export(t.Context()); err != nil {
		t.Fatal(err)
	}
	trim("after a restart", 1, 1)
}

func streamOf(t *testing.T, of *trail) jetstream.Stream {
	t.Helper()
	stream, err := of.stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return stream
}
