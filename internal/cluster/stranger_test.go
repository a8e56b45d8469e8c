//go:build !nonats

package cluster

import (
	"bytes"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"callgate/internal/testserver/waits"
)

// one starts a replica that is alone.
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

// stored is what NATS, and whoever may read there, has under a key.
func stored(t *testing.T, c *Cluster, key string) *jetstream.RawStreamMsg {
	t.Helper()
	stream, err := c.bucket.there()
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.GetLastMsgForSubject(t.Context(), c.bucket.subject(key))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put writes what it likes, as who has no key can.
func put(t *testing.T, c *Cluster, key string, h nats.Header, data []byte) error {
	t.Helper()
	_, err := c.js.PublishMsg(t.Context(), &nats.Msg{Subject: c.bucket.subject(key), Header: h, Data: data})
	return err
}

// TestDecisionIsNotReplayed has somebody who can write to NATS, and has no key, put back a decision that was taken.
func TestDecisionIsNotReplayed(t *testing.T) {
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

// TestDocumentsDoNotVanish has somebody without the key take a freeze away, spoil it, and put an older one back. Nobody
// goes on as if there were none, and a backup mends it.
func TestDocumentsDoNotVanish(t *testing.T) {
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
	stream, err := c.bucket.there()
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
		if _, _, err := c.Restore(t.Context(), bytes.NewReader(backup.Bytes()), true); err != nil {
			t.Fatalf("%s: %v", attack.name, err)
		}
		waits.Until(t, "a backup mends it", func() bool { v, err := freeze.Now(); return err == nil && string(v.Text) == "frozen" })
	}
}

// TestLinkWritesToInboxes has somebody without the key ask for a link to a subject that only replicas may write to.
func TestLinkWritesToInboxes(t *testing.T) {
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

// TestLeaseEndsWhileAsleep has the machine sleep for longer than the lease: the clock of the process stands still then.
func TestLeaseEndsWhileAsleep(t *testing.T) {
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
	c.bucket.telling.Lock() // no beat comes back
	slept.Store(int64(time.Hour))
	err = c.Fresh()
	c.bucket.telling.Unlock()
	if err == nil {
		t.Error("it goes by rules of before it slept")
	}
	waits.Until(t, "it hears again", func() bool { return c.Fresh() == nil })
}

// TestStrangersTakeFewLinks has somebody without the key open more links than a replica keeps, and show no key on any.
func TestStrangersTakeFewLinks(t *testing.T) {
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

// TestWorkersHaveBucketsOfTheirOwn: names that differ in what a bucket's name cannot hold are not mixed up.
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
