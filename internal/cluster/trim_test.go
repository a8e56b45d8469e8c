//go:build !nonats

package cluster

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callgate/audit"
)

// trimmed is a replica whose log is in the stream, and that removes from it what its options say.
type trimmed struct {
	*testing.T
	*trail
	log   *audit.Log
	taken int64 // how far all exports are
}

// trimming adds a replica with a separate log to a cluster.
func trimming(t *testing.T, c *Cluster, o Options) *trimmed {
	t.Helper()
	here := &Cluster{o: o, log: c.log, conn: c.conn, js: c.js, bucket: c.bucket}
	dir := audit.Dir(o.DataDir)
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return &trimmed{T: t, trail: here.trailOf(dir), log: log, taken: math.MaxInt64}
}

// write adds records of 1.6 MB.
func (r *trimmed) write() {
	r.Helper()
	for range 200 {
		if _, err := r.log.Append(audit.Record{Event: audit.Control, Summary: strings.Repeat("x", 8<<10)}); err != nil {
			r.Fatal(err)
		}
	}
	r.exportAll()
}

// exportAll goes on after an answer that came too late, as ShareTrail does.
func (r *trimmed) exportAll() {
	r.Helper()
	err := r.export(r.Context())
	for range 100 {
		if !errors.Is(err, context.DeadlineExceeded) {
			break
		}
		for _, one := range r.logs {
			one.known = false
		}
		err = r.export(r.Context())
	}
	if err != nil {
		r.Fatal(err)
	}
}

func (r *trimmed) stream() jetstream.Stream {
	r.Helper()
	stream, err := r.trail.stream(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return stream
}

// left counts this replica's messages in the stream.
func (r *trimmed) left() (n int) {
	r.Helper()
	info, err := r.stream().Info(r.Context(), jetstream.WithSubjectFilter(r.prefix(r.c.o.Name)+">"))
	if err != nil {
		r.Fatal(err)
	}
	for _, messages := range info.State.Subjects {
		n += int(messages)
	}
	return n
}

func (r *trimmed) bytes() int64 {
	r.Helper()
	return int64(r.stream().CachedInfo().State.Bytes)
}

// breaks returns what VerifyTrail finds wrong with this replica's log.
func (r *trimmed) breaks() []string {
	r.Helper()
	logs, err := r.c.VerifyTrail(r.Context(), r.dir)
	if err != nil {
		r.Fatal(err)
	}
	for _, log := range logs {
		if log.Replica == r.c.o.Name {
			return log.Breaks
		}
	}
	r.Fatalf("its log is not among %v", logs)
	return nil
}

func (r *trimmed) trim(what string, least, most int) {
	r.Helper()
	if err := r.trail.trim(r.Context(), func(string) int64 { return r.taken }); err != nil {
		r.Errorf("%s: %v", what, err)
	}
	if n := r.left(); n < least || n > most {
		r.Errorf("%s: %d messages are left, want %d to %d", what, n, least, most)
	}
	if found := r.breaks(); len(found) > 0 {
		r.Errorf("%s: it does not verify: %v", what, found)
	}
}

// name returns the name of the log's file.
func (r *trimmed) name() string {
	r.Helper()
	logs, err := audit.Logs(r.dir)
	if err != nil || len(logs) != 1 {
		r.Fatal(logs, err)
	}
	return logs[0]
}

// end returns where a record of the log ends.
func (r *trimmed) end(seq uint64) int64 {
	r.Helper()
	for line, err := range audit.Lines(r.dir, r.name(), 0) {
		if err != nil {
			r.Fatal(err)
		}
		if line.Seq == seq {
			return line.End
		}
	}
	r.Fatalf("no record %d", seq)
	return 0
}

// restart makes the replica forget what it knew of the stream.
func (r *trimmed) restart() {
	r.Helper()
	r.logs[r.name()] = &exported{}
	r.exportAll()
}

// TestOldRecordsLeaveTheStream lets time pass. Old records leave the stream once every export has them, but only if
// this replica has them too. The trail still verifies, and records that were removed too early are detected.
func TestOldRecordsLeaveTheStream(t *testing.T) {
	t.Parallel()
	const age = 24 * time.Hour
	c, later := one(t), time.Duration(0)
	o := c.o
	o.TrailAge, o.now = age, func() time.Time { return time.Now().Add(later) }
	r := trimming(t, c, o)
	r.write()
	all := r.left()
	if all < 4 {
		t.Fatalf("%d messages", all)
	}
	r.trim("nothing is old", all, all)
	r.taken, later = 0, 2*age
	r.trim("nothing was exported", all, all)
	r.taken = r.end(100)
	r.trim("some were exported", 2, all-1)
	r.taken = math.MaxInt64
	r.trim("all were exported", 1, 1)
	later = 0
	if len(r.breaks()) == 0 {
		t.Error("young records are gone, and nobody says so")
	}

	later = 2 * age
	r.write()
	all = r.left()
	log, dir := r.name(), r.dir
	old := func(last audit.Line, _ int) bool { return r.old(last) }
	r.dir = t.TempDir() // the disk was lost
	if err := r.trimLog(t.Context(), r.stream(), log, r.logs[log], r.taken, old); err == nil || r.left() != all {
		t.Errorf("%d of %d messages that are nowhere else are left: %v", r.left(), all, err)
	}
	r.dir = dir
	r.restart()
	r.trim("after a restart", 1, 1)
}

// TestTooManyRecordsLeaveTheStream has two replicas write more than the stream may hold. Each removes its share of its
// oldest records, as far as all exports have them. The trail verifies, and foreign removals are detected.
func TestTooManyRecordsLeaveTheStream(t *testing.T) {
	t.Parallel()
	c := one(t)
	o := c.o
	o.TrailBytes = 2 << 20
	a := trimming(t, c, o)
	o.Name, o.DataDir = "two", t.TempDir()
	b := trimming(t, c, o)
	a.write()
	b.write()
	each := a.left()
	a.trim("there is room", each, each)
	a.write()
	b.write()
	over := a.bytes() - o.TrailBytes
	if over <= 0 {
		t.Fatalf("%d bytes are not too much", a.bytes())
	}
	each = a.left()
	a.taken = 0
	a.trim("nothing was exported", each, each)
	a.taken = a.end(10)
	a.trim("hardly anything was exported", each, each)
	a.taken = math.MaxInt64
	a.trim("a replica's share", each/2, each-1)
	if still := a.bytes() - o.TrailBytes; still <= 0 || still > over*3/4 {
		t.Errorf("of %d bytes too many, %d are left after one replica's share", over, still)
	}
	b.trim("the other's share", each/2, each-1)
	a.restart()
	for a.bytes() > o.TrailBytes { // rounding errors, or what nobody else removes
		a.trim("what is left", 2, each-1)
	}
	stay := a.left()
	a.trim("there is room again", stay, stay)

	if err := a.stream().Purge(t.Context(), jetstream.WithPurgeSubject(a.subject("one", a.name())), jetstream.WithPurgeKeep(1)); err != nil {
		t.Fatal(err)
	}
	if len(a.breaks()) == 0 {
		t.Error("somebody took out records, and nobody says so")
	}
}

// TestRenew has replicas use a stream that an older callgate created, and renews it. The trail verifies, and old
// records leave it. An interrupted renewal continues.
func TestRenew(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			all := open(t, n)
			later := time.Duration(0)
			o := all[0].o
			o.TrailAge, o.now = 24*time.Hour, func() time.Time { return time.Now().Add(later) }
			r := trimming(t, all[0], o)
			config := r.config()
			config.DenyPurge = true
			if _, err := all[0].js.CreateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
			r.write()
			held := r.left()
			later = 48 * time.Hour
			r.trim("an older callgate made it", held, held)

			if n == 3 { // it was interrupted after the old stream gave up its subjects
				config.Subjects = []string{"callgate.audit.renewed." + r.trail.name}
				if _, err := all[0].js.UpdateStream(t.Context(), config); err != nil {
					t.Fatal(err)
				}
				r.exportAll() // nothing is new
			}
			messages, renewed, err := RenewTrail(t.Context(), all[n-1])
			if err != nil || !renewed || messages != uint64(held) {
				t.Fatalf("%v, %d of %d messages, %v", renewed, messages, held, err)
			}
			if _, again, err := RenewTrail(t.Context(), all[0]); err != nil || again {
				t.Errorf("again: %v, %v", again, err)
			}
			if found := r.breaks(); len(found) > 0 || r.left() != held {
				t.Errorf("%d of %d messages, broken: %v", r.left(), held, found)
			}
			r.write() // with what it knew of the old stream
			r.restart()
			r.trim("renewed", 1, 1)
			if _, err := all[0].js.Stream(t.Context(), r.trail.name); !errors.Is(err, jetstream.ErrStreamNotFound) {
				t.Errorf("the old one: %v", err)
			}
		})
	}
}
