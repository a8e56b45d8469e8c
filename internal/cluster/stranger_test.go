//go:build !nonats

package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callgate/internal/testserver/waits"
)

// one starts a single replica.
func one(t *testing.T) *Cluster {
	t.Helper()
	c, err := Open(Options{URL: Embedded, Name: "one", Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	waits.Until(t, "it hears from the cluster", func() bool { return c.Fresh() == nil })
	return c
}

// stored returns what NATS stores under a key, which anybody who may read there can see.
func stored(t *testing.T, c *Cluster, key string) *jetstream.RawStreamMsg {
	t.Helper()
	stream, err := c.bucket.connectedStream()
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetLastMsgForSubject(t.Context(), c.bucket.subject(key))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put writes any data, as somebody without the key can.
func put(t *testing.T, c *Cluster, key string, h nats.Header, data []byte) error {
	t.Helper()
	_, err := c.js.PublishMsg(t.Context(), &nats.Msg{Subject: c.bucket.subject(key), Header: h, Data: data})
	return err
}

// TestDecisionIsNotReplayed puts back a decision that was taken, as somebody can who may write to NATS but has no key.
func TestDecisionIsNotReplayed(t *testing.T) {
	t.Parallel()
	c := one(t)
	ask(t, c.Approvals(), "id", "k", false)
	if err := c.Approvals().Decide("id", []byte(`"yes"`), false, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	key := entryKey("k", "id")
	old := stored(t, c, key)
	if decision, err := c.Approvals().Claim("k", "first"); err != nil || string(decision) != `"yes"` {
		t.Fatalf("%s, %v", decision, err)
	}
	was := old.Header.Get(jetstream.ExpectedLastSubjSeqHeader)
	for name, headers := range map[string]func() nats.Header{
		"as it was":      func() nats.Header { return nats.Header{jetstream.ExpectedLastSubjSeqHeader: {was}} },
		"without a word": func() nats.Header { return nil },
		"after the newest": func() nats.Header {
			return nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(stored(t, c, key).Sequence, 10)}}
		},
		"after another key": func() nats.Header {
			return nats.Header{jetstream.ExpectedLastSubjSeqHeader: {was}, jetstream.ExpectedLastSubjSeqSubjHeader: {c.bucket.subject("none")}}
		},
	} {
		refused := put(t, c, key, headers(), old.Data)
		if decision, _ := c.Approvals().Claim("k", "again"); decision != nil {
			t.Errorf("%s: the decision was taken twice (NATS said: %v)", name, refused)
		}
	}
}

// TestDocumentsDoNotVanish removes a freeze without the key, spoils it, and puts an older one back. No replica goes on
// as if there were none, and a backup repairs it.
func TestDocumentsDoNotVanish(t *testing.T) {
	t.Parallel()
	c := one(t)
	freeze := c.Document("freeze")
	rev, err := freeze.Replace(t.Context(), 0, []byte("[]"), "x")
	if err != nil {
		t.Fatal(err)
	}
	first := stored(t, c, "freeze")
	if _, err = freeze.Replace(t.Context(), rev, []byte("frozen"), "x"); err != nil {
		t.Fatal(err)
	}
	var backup bytes.Buffer
	if _, err := c.Backup(&backup); err != nil {
		t.Fatal(err)
	}
	stream, err := c.bucket.connectedStream()
	if err != nil {
		t.Fatal(err)
	}
	for _, attack := range []struct {
		name string
		does func() error
	}{
		{"deletes it", func() error { return put(t, c, "freeze", nats.Header{"KV-Operation": {"PURGE"}}, nil) }},
		{"spoils it", func() error { return put(t, c, "freeze", nil, []byte("garbage")) }},
		{"puts the first one back", func() error {
			if err := stream.Purge(t.Context(), jetstream.WithPurgeSubject(c.bucket.subject("freeze"))); err != nil {
				return err
			}
			return put(t, c, "freeze", nats.Header{jetstream.ExpectedLastSubjSeqHeader: {"0"}}, first.Data)
		}},
	} {
		if err := attack.does(); err != nil {
			t.Fatalf("%s: %v", attack.name, err)
		}
		at := stored(t, c, "freeze").Sequence
		waits.Until(t, "the replica hears of it", func() bool { return c.bucket.last("freeze").rev == at || c.bucket.last("freeze").rev == 0 })
		if v, err := freeze.Now(); err == nil {
			t.Errorf("who %s is believed: %q", attack.name, v.Text)
		}
		if _, _, err := c.Restore(t.Context(), bytes.NewReader(backup.Bytes()), Restoring{Replace: true}); err != nil {
			t.Fatalf("%s: %v", attack.name, err)
		}
		waits.Until(t, "a backup mends it", func() bool { v, err := freeze.Now(); return err == nil && string(v.Text) == "frozen" })
	}
}

// TestOlderInTheSamePlace makes a bucket without the key in which an older value has the exact place of the newest.
func TestOlderInTheSamePlace(t *testing.T) {
	t.Parallel()
	c := one(t)
	rules := c.Document("rules")
	rev, err := rules.Replace(t.Context(), 0, []byte("allow"), "x")
	if err != nil {
		t.Fatal(err)
	}
	older := stored(t, c, "rules")
	if rev, err = rules.Replace(t.Context(), rev, []byte("deny"), "x"); err != nil {
		t.Fatal(err)
	}
	newest := stored(t, c, "rules")
	waits.Until(t, "it is remembered", func() bool { return c.bucket.memory.revision("rules") == rev })
	again := func() *bucket { // as it is after a restart
		b, err := newBucket(&Cluster{o: c.o, log: c.log})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, b := range map[string]*bucket{"one that runs": c.bucket, "one that begins": again()} {
		b.take("rules", older.Header, older.Data, rev)
		if v, err := b.version("rules"); err == nil && string(v.Text) != "deny" {
			t.Errorf("%s goes by %q", name, v.Text)
		}
	}
	b := again()
	b.take("rules", older.Header, older.Data, rev)
	b.take("rules", newest.Header, newest.Data, rev)
	if v, err := b.version("rules"); err == nil { // another value may have been there meanwhile
		t.Errorf("what was rolled back is believed: %q", v.Text)
	}
	b = again()
	b.take("rules", newest.Header, newest.Data, rev)
	if v, err := b.version("rules"); err != nil || string(v.Text) != "deny" {
		t.Errorf("the newest is not known after a restart: %q, %v", v.Text, err)
	}
}

// TestUnsavedDocumentComesBack changes a document while this replica's disk is full. The change is not used until it
// could be saved, and then it is, without another change.
func TestUnsavedDocumentComesBack(t *testing.T) {
	t.Parallel()
	c := one(t)
	rules := c.Document("rules")
	rev, err := rules.Replace(t.Context(), 0, []byte("first"), "x")
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(Version{Text: []byte("second"), Chance: chance()})
	if err != nil {
		t.Fatal(err)
	}
	saveAt := func(file string) (before string) {
		c.bucket.memory.mu.Lock()
		defer c.bucket.memory.mu.Unlock()
		before, c.bucket.memory.file = c.bucket.memory.file, file
		return before
	}
	waits.Until(t, "the first is saved", func() bool { return c.bucket.memory.revision("rules") > 0 })
	file := saveAt(filepath.Join(t.TempDir(), "full", "file"))
	if _, err := c.bucket.write(t.Context(), "rules", body, rev, 0); err != nil { // as another replica would
		t.Fatal(err)
	}
	waits.Until(t, "it is not gone by", func() bool { _, err := rules.Now(); return errors.Is(err, errUnsaved) })
	saveAt(file)
	waits.Until(t, "it is", func() bool { v, err := rules.Now(); return err == nil && string(v.Text) == "second" })
}

// blind is a stream in which NATS finds nothing while its leader's storage fails.
type blind struct {
	jetstream.Stream
	fails atomic.Bool
}

func (b *blind) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	if b.fails.Load() {
		return nil, jetstream.ErrMsgNotFound
	}
	return b.Stream.GetLastMsgForSubject(ctx, subject)
}

// TestUnfoundDocumentComesBack has NATS not find a document for a while. Meanwhile another replica writes a newer
// version.
func TestUnfoundDocumentComesBack(t *testing.T) {
	t.Parallel()
	c := one(t)
	rules := c.Document("rules")
	rev, err := rules.Replace(t.Context(), 0, []byte("first"), "x")
	if err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "it is saved", func() bool { return c.bucket.memory.revision("rules") > 0 })
	c.bucket.mu.Lock()
	stream := &blind{Stream: c.bucket.stream}
	c.bucket.stream = stream
	c.bucket.mu.Unlock()
	for _, text := range []string{"first", "second"} {
		stream.fails.Store(true)
		waits.Until(t, "it is not gone by", func() bool { _, err := rules.Now(); return errors.Is(err, errTaken) })
		if text != "first" {
			body, err := json.Marshal(Version{Text: []byte(text), Chance: chance()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.bucket.write(t.Context(), "rules", body, rev, 0); err != nil { // as another replica would
				t.Fatal(err)
			}
		}
		stream.fails.Store(false)
		waits.Until(t, "it is", func() bool { v, err := rules.Now(); return err == nil && string(v.Text) == text })
	}
}

// deaf is a connection that loses the answer to a write, after others have written.
type deaf struct {
	jetstream.JetStream
	others func()
}

func (d deaf) PublishMsg(ctx context.Context, m *nats.Msg, options ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if _, err := d.JetStream.PublishMsg(ctx, m, options...); err != nil {
		return nil, err
	}
	d.others()
	return nil, context.DeadlineExceeded
}

// leaderless is a connection on which nobody answers for a stream the first time.
type leaderless struct {
	jetstream.JetStream
	asked int
}

func (l *leaderless) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if l.asked++; l.asked == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.JetStream.Stream(ctx, name)
}

// TestStreamGetsALeader has a replica look for a stream while another replica creates it.
func TestStreamGetsALeader(t *testing.T) {
	t.Parallel()
	c := one(t)
	late := &Cluster{o: c.o, conn: c.conn, js: &leaderless{JetStream: c.js}}
	if _, err := newSharing(late, Documents).list(t.Context()); err != nil {
		t.Errorf("documents: %v", err)
	}
	late.js = &leaderless{JetStream: c.js}
	b, err := newBucket(late)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waits.Limit)
	defer cancel()
	if _, err := b.bind(ctx); err != nil {
		t.Errorf("the bucket: %v", err)
	}
}

// TestOvertakenWriteIsUnknown has another replica write after a write whose answer is lost. Nobody may say that the
// first write failed. A write in its place is told apart.
func TestOvertakenWriteIsUnknown(t *testing.T) {
	t.Parallel()
	c := one(t)
	write := func(text string, expect uint64) uint64 {
		rev, err := c.bucket.write(t.Context(), "rules", []byte(text), expect, 0)
		if err != nil {
			t.Error(err)
		}
		return rev
	}
	stream, err := c.bucket.connectedStream()
	if err != nil {
		t.Fatal(err)
	}
	others := func() {}
	hard, err := newBucket(&Cluster{o: c.o, conn: c.conn, js: deaf{c.js, func() { others() }}})
	if err != nil {
		t.Fatal(err)
	}
	hard.stream = stream
	first := write("first", 0)
	if rev, err := hard.write(t.Context(), "rules", []byte("second"), first, 0); err != nil || rev != stored(t, c, "rules").Sequence {
		t.Errorf("a write whose answer is lost ends in %v", err)
	}
	second := stored(t, c, "rules").Sequence
	others = func() { write("fourth", stored(t, c, "rules").Sequence) }
	if _, err := hard.write(t.Context(), "rules", []byte("third"), second, 0); !errors.Is(err, ErrAway) {
		t.Errorf("a write that was overtaken ends in %v", err)
	}
	if _, err := hard.write(t.Context(), "rules", []byte("late"), second, 0); !errors.Is(err, errConflict) {
		t.Errorf("a write of what was changed ends in %v", err)
	}
}

// TestNewerFormat has a newer callgate write in a format that this one does not know. Nothing runs here, and the value
// stays as it is until it is taken back. Without the key, nobody can stop replicas that way.
func TestNewerFormat(t *testing.T) {
	t.Parallel()
	c := one(t)
	document := c.Document("sessions")
	rev, err := document.Replace(t.Context(), 0, []byte("{}"), "x")
	if err != nil {
		t.Fatal(err)
	}
	write := func(key string, after uint64, says string, is format, body []byte) {
		t.Helper()
		h := nats.Header{jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(after, 10)}}
		if says != "" {
			h.Set(headerFormat, says)
		}
		if err := put(t, c, key, h, c.bucket.sealer.seal(place(key, after)+is.seals(), body)); err != nil {
			t.Fatal(err)
		}
		at := stored(t, c, key).Sequence
		waits.Until(t, "the replica hears of it", func() bool { return c.bucket.last(key).rev >= at })
	}
	body, err := json.Marshal(Version{Text: []byte("{}"), Chance: chance()})
	if err != nil {
		t.Fatal(err)
	}

	write("sessions", rev, "2", 2, body)
	waits.Until(t, "the replica stops", func() bool { return errors.Is(c.Fresh(), ErrNewer) })
	waits.Until(t, "it follows the bucket all the same", func() bool { return c.bucket.followError() == nil })
	newer := stored(t, c, "sessions")
	if _, err := document.Now(); !errors.Is(err, ErrNewer) {
		t.Errorf("Now: %v", err)
	}
	if _, err := document.Read(t.Context()); !errors.Is(err, ErrNewer) {
		t.Errorf("Read: %v", err)
	}
	if _, err := document.Replace(t.Context(), newer.Sequence, []byte("{}"), "x"); !errors.Is(err, ErrNewer) {
		t.Errorf("Replace: %v", err)
	}
	if err := c.bucket.drop(t.Context(), "sessions"); !errors.Is(err, ErrNewer) {
		t.Errorf("drop: %v", err)
	}
	if now := stored(t, c, "sessions"); now.Sequence != newer.Sequence {
		t.Error("what a newer callgate wrote was overwritten")
	}
	write("sessions", newer.Sequence, "", first, body)
	waits.Until(t, "the replica goes on", func() bool { return c.Fresh() == nil })

	key := entryKey("k", "id")
	write(key, 0, "2", 2, []byte("{}"))
	waits.Until(t, "the replica stops at an approval", func() bool { return errors.Is(c.Fresh(), ErrNewer) })
	if decision, err := c.Approvals().Claim("k", "call"); decision != nil || !errors.Is(err, ErrNewer) {
		t.Errorf("Claim: %s, %v", decision, err)
	}
	write(key, stored(t, c, key).Sequence, "", first, []byte(`{"state":"ended"}`))
	waits.Until(t, "the replica goes on again", func() bool { return c.Fresh() == nil })

	for says, is := range map[string]format{"2": first, "3": 2, "1": first, "x": first} {
		write("sessions", stored(t, c, "sessions").Sequence, says, is, body)
		at := stored(t, c, "sessions").Sequence
		waits.Until(t, "the replica hears of a forged one", func() bool { return c.bucket.last("sessions").rev == at })
		if _, err := document.Now(); c.Fresh() != nil || !errors.Is(err, errSealed) {
			t.Errorf("format %q of who has no key: %v, %v", says, c.Fresh(), err)
		}
	}
}

// TestLinkWritesToInboxes asks without the key for a link to a subject that only replicas may write to.
func TestLinkWritesToInboxes(t *testing.T) {
	t.Parallel()
	c := one(t)
	sub, err := c.conn.SubscribeSync("links")
	if err != nil {
		t.Fatal(err)
	}
	for _, peer := range []string{c.bucket.subject("rules"), "$JS.API.STREAM.PURGE.KV_" + c.bucket.name, "_INBOX.>", ""} {
		if err := c.conn.PublishRequest("links", c.conn.NewInbox(), []byte(peer)); err != nil {
			t.Fatal(err)
		}
		m, err := sub.NextMsgWithContext(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p, err := acceptPipe(c.conn, m); err == nil {
			p.Close()
			t.Errorf("a link writes to %q", peer)
		}
	}
}

// TestLeaseEndsWhileAsleep has the machine sleep for longer than the lease, while the monotonic clock stops.
func TestLeaseEndsWhileAsleep(t *testing.T) {
	t.Parallel()
	var slept atomic.Int64
	c, err := Open(Options{
		URL: Embedded, Name: "one", Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: time.Minute, Logger: logOf(t),
		now: func() time.Time { return time.Now().Add(time.Duration(slept.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	waits.Until(t, "it hears from the cluster", func() bool { return c.Fresh() == nil })
	c.bucket.telling.Lock() // so that no beat comes back
	slept.Store(int64(time.Hour))
	err = c.Fresh()
	c.bucket.telling.Unlock()
	if err == nil {
		t.Error("it goes by rules of before it slept")
	}
	waits.Until(t, "it hears again", func() bool { return c.Fresh() == nil })
}

// TestStrangersTakeFewLinks opens more links without the key than a replica keeps, and shows no key on any.
func TestStrangersTakeFewLinks(t *testing.T) {
	t.Parallel()
	c := one(t)
	answers, err := c.conn.SubscribeSync(nats.NewInbox())
	if err != nil {
		t.Fatal(err)
	}
	const links = 2 * mostUnproven
	for range links {
		if err := c.conn.PublishRequest(linkSubject("one", c.epoch), answers.Subject, []byte(nats.NewInbox())); err != nil {
			t.Fatal(err)
		}
	}
	refused := 0
	for range links {
		m, err := answers.NextMsg(waits.Limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Data) == 0 {
			refused++
		}
	}
	if refused == 0 {
		t.Errorf("all of %d links were taken", links)
	}
	waits.Until(t, "there is place again", func() bool { return len(c.links.unproven) == 0 })
}

// TestWorkersHaveBucketsOfTheirOwn: names that differ only in characters that bucket names cannot have do not collide.
func TestWorkersHaveBucketsOfTheirOwn(t *testing.T) {
	of := map[string]string{}
	for _, worker := range []string{"a.b", "a-b", "a_b", "a--b", "a-.b", "a.-b", "a-db", "a_dot_b", "default"} {
		name := bucketNames.Replace(worker)
		if other, taken := of[name]; taken {
			t.Errorf("%s and %s share the bucket %s", worker, other, name)
		}
		of[name] = worker
	}
}

// startAt opens a single replica, and waits for nothing.
func startAt(t *testing.T, dir string, key Key) *Cluster {
	t.Helper()
	c, err := Open(Options{URL: Embedded, Name: "one", Worker: "default", DataDir: dir, Key: key, Lease: testLease, Logger: logOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestBucketDoesNotVanish empties the bucket without the key, deletes it, and puts an older one in its place. Each is
// noticed after a restart and, if callgate keeps running, before one. A backup repairs all of it.
func TestBucketDoesNotVanish(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(c *Cluster) error{
		"purges it": func(c *Cluster) error {
			stream, err := c.bucket.connectedStream()
			if err != nil {
				return err
			}
			return stream.Purge(t.Context())
		},
		"deletes it": func(c *Cluster) error { return c.js.DeleteStream(t.Context(), "KV_"+c.bucket.name) },
		"makes another": func(c *Cluster) error {
			if err := c.js.DeleteStream(t.Context(), "KV_"+c.bucket.name); err != nil {
				return err
			}
			waits.Until(t, "NATS makes another", func() bool { // NATS refuses while it still removes the files of the first
				_, err := c.js.CreateStream(t.Context(), c.bucket.config(1))
				return err == nil
			})
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := startAt(t, dir, testKey)
			waits.Until(t, "it hears from the cluster", func() bool { return c.Fresh() == nil })
			rules := c.Document("rules")
			rev, err := rules.Replace(t.Context(), 0, []byte("first"), "x")
			if err == nil {
				_, err = rules.Replace(t.Context(), rev, []byte("deny"), "x")
			}
			if err != nil {
				t.Fatal(err)
			}
			waits.Until(t, "it is remembered", func() bool { return c.bucket.memory.revision("rules") > 0 && c.bucket.memory.last() > 2 })
			var backup bytes.Buffer
			if _, err := c.Backup(&backup); err != nil {
				t.Fatal(err)
			}
			if err := attack(c); err != nil {
				t.Fatal(err)
			}
			lost := func(c *Cluster) func() bool {
				return func() bool { _, err := c.Document("rules").Now(); return errors.Is(err, ErrLost) }
			}
			waits.Until(t, "it is noticed", lost(c))
			c.Close()
			c = startAt(t, dir, testKey)
			waits.Until(t, "it is noticed after a restart", lost(c))
			if v, err := c.Document("rules").Read(t.Context()); err == nil {
				t.Errorf("rules %q count, and others can become the first", v.Text)
			}
			one, err := Look(t.Context(), Options{URL: Embedded, Name: "x", Worker: "default", DataDir: dir, Key: testKey, Lease: testLease, Logger: logOf(t), Recreate: true})
			if err != nil {
				t.Fatal(err)
			}
			defer one.Close()
			if _, _, err := one.Restore(t.Context(), &backup, Restoring{Replace: true}); err != nil {
				t.Fatal(err)
			}
			waits.Until(t, "a backup mends it", func() bool { v, err := c.Document("rules").Now(); return err == nil && string(v.Text) == "deny" })
		})
	}
}

// TestKeyIsRotated drops the older secret after everything was sealed again, except an object that nobody can read.
// Approvals that wait go on waiting.
func TestKeyIsRotated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fresh := strings.Repeat("n", shortestSecret)
	both, only := Key{append([]string{fresh}, testKey.secrets...)}, Key{[]string{fresh}}
	c := startAt(t, dir, testKey)
	waits.Until(t, "it hears from the cluster", func() bool { return c.Fresh() == nil })
	if _, err := c.Document("rules").Replace(t.Context(), 0, []byte("deny"), "x"); err != nil {
		t.Fatal(err)
	}
	if err := createStore(t.Context(), c, storeName(c, Documents), 0); err != nil {
		t.Fatal(err)
	}
	store, err := c.js.ObjectStore(t.Context(), storeName(c, Documents))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deleted", "foreign"} {
		if _, err := store.PutString(t.Context(), name, "not sealed"); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Delete(t.Context(), "deleted"); err != nil {
		t.Fatal(err)
	}
	document := Note{ID: "doc-1", Text: "a document"}
	Share(c, Documents, &shelf{notes: map[string]Note{document.ID: document}, changes: 1}, filepath.Join(dir, "shared.json"), func(error) {})
	waits.Until(t, "the document is shared", func() bool {
		_, err := store.GetInfo(t.Context(), document.ID)
		return err == nil
	})
	c.Close()
	c = startAt(t, dir, both)
	waits.Until(t, "it hears from the cluster", func() bool { return c.Fresh() == nil })
	ask(t, c.Approvals(), "id", "k", true)
	_, v, err := c.bucket.read(t.Context(), "rules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.bucket.write(t.Context(), "rules", v.body, v.rev, time.Millisecond); err == nil { // NATS refuses so short a time
		t.Error("what was not written is taken for sealed anew")
	}
	if n, err := c.Reseal(t.Context()); n != 2 || err == nil || !strings.HasPrefix(err.Error(), "foreign: it cannot be read") {
		t.Fatalf("%d, %v", n, err)
	}
	waits.Until(t, "nothing old is left", func() bool { return len(c.bucket.old()) == 0 })
	if err := c.Approvals().Decide("id", []byte(`"yes"`), true, time.Now()); err != nil {
		t.Errorf("what waited is lost: %v", err)
	}
	c.Close()
	c = startAt(t, dir, only)
	waits.Until(t, "the new secret suffices", func() bool { v, err := c.Document("rules").Now(); return err == nil && string(v.Text) == "deny" })
	another := &shelf{}
	Share(c, Documents, another, filepath.Join(dir, "another.json"), func(error) {})
	waits.Until(t, "it suffices for the document", func() bool { return reflect.DeepEqual(another.held()[document.ID], document) })
}

// TestLostClaimEnds loses the answer to a claim. The call does not run, and nobody believes that it did.
func TestLostClaimEnds(t *testing.T) {
	t.Parallel()
	for _, arrived := range []bool{true, false} {
		c := one(t)
		a := c.Approvals()
		ask(t, a, "id", "k", false)
		if err := a.Decide("id", []byte(`"yes"`), false, time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		at := entryKey("k", "id")
		_, v, err := c.bucket.read(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		var e entry
		if err := json.Unmarshal(v.body, &e); err != nil {
			t.Fatal(err)
		}
		e.State, e.Call, e.Replica, e.Epoch = stateClaimed, "call", c.o.Name, c.epoch
		if arrived {
			if _, err := a.write(at, e, v.rev, keepUnspent); err != nil {
				t.Fatal(err)
			}
		}
		a.mu.Lock()
		a.unsure[at] = true
		a.mu.Unlock()
		a.endLater(at)
		waits.Until(t, "it is looked at", func() bool { a.mu.Lock(); defer a.mu.Unlock(); return !a.unsure[at] && len(a.ending) == 0 })
		if _, err := a.write(at, e, v.rev, keepUnspent); !errors.Is(err, errConflict) {
			t.Errorf("the lost claim still arrives: %v", err)
		}
		decision, err := a.Claim("k", "again")
		if err != nil || (decision == nil) != arrived {
			t.Errorf("arrived %t: %s, %v", arrived, decision, err)
		}
		waits.Until(t, "it is done", func() bool { // the wait above was not for the write
			_, v, err := c.bucket.read(t.Context(), at)
			return err == nil && json.Unmarshal(v.body, &e) == nil && (e.State == stateDone) == arrived
		})
	}
}

// TestSpoiledApprovalHoldsUpNoOther spoils, without the key, an approval that ends. Other approvals end all the same.
func TestSpoiledApprovalHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	c := one(t)
	a := c.Approvals()
	ask(t, a, "spoiled", "k", false)
	ask(t, a, "whole", "other", false)
	if err := put(t, c, entryKey("k", "spoiled"), nil, []byte("garbage")); err != nil {
		t.Fatal(err)
	}
	a.End("spoiled")
	a.End("whole")
	waits.Until(t, "the other ends", func() bool { return stateAt(c, entryKey("other", "whole")) == stateEnded })
}

// TestStreamMadeByAnother refuses an existing bucket whose settings lose what replicas write.
func TestStreamMadeByAnother(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"max age":      func(s *jetstream.StreamConfig) { s.MaxAge, s.SubjectDeleteMarkerTTL = time.Hour, 0 },
		"discard":      func(s *jetstream.StreamConfig) { s.Discard, s.MaxMsgs = jetstream.DiscardOld, 100 },
		"allow direct": func(s *jetstream.StreamConfig) { s.AllowDirect = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := startAt(t, dir, testKey)
			waits.Until(t, "it hears from the cluster", func() bool { return c.Fresh() == nil })
			config := c.bucket.config(1)
			change(&config)
			waits.Until(t, "another makes the stream", func() bool { // the replica may be creating it again at the same time
				err := c.js.DeleteStream(t.Context(), config.Name)
				if err == nil || errors.Is(err, jetstream.ErrStreamNotFound) {
					_, err = c.js.CreateStream(t.Context(), config)
				}
				return err == nil
			})
			c.Close()
			if err := os.Remove(c.bucket.memory.file); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			c = startAt(t, dir, testKey)
			waits.Until(t, "it is refused", func() bool { err := c.Fresh(); return err != nil && strings.Contains(err.Error(), name+" is ") })
		})
	}
}

// TestLinkMeansOneReplica has a man in the middle lead a link to another replica.
func TestLinkMeansOneReplica(t *testing.T) {
	t.Parallel()
	identity, err := testKey.identity()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		meant string
		fails bool
	}{{"b", false}, {"c", true}} {
		near, far := net.Pipe()
		server := tls.Server(far, boundTo(identity, "b", "1"))
		shaken := make(chan error, 1)
		go func() { shaken <- server.HandshakeContext(t.Context()); far.Close() }()
		err := tls.Client(near, boundTo(identity, c.meant, "1")).HandshakeContext(t.Context())
		near.Close()
		if other := <-shaken; (errors.Join(err, other) != nil) != c.fails {
			t.Errorf("meant %s, came to b: %v, %v", c.meant, err, other)
		}
	}
}

// TestKeyIsPrivate refuses a key that other users can read.
func TestKeyIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing there")
	}
	file := filepath.Join(t.TempDir(), "cluster.key")
	if err := os.WriteFile(file, []byte(strings.Repeat("k", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o666: false} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ReadKey(file)
		if (err == nil) != good || !good && !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
}
