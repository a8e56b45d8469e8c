//go:build !nonats

package cluster

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"callgate/audit"
	"callgate/internal/testserver/waits"
)

// startOutside starts an external NATS. Without users, anybody may connect.
func startOutside(t *testing.T, users ...*natsserver.NkeyUser) *natsserver.Server {
	t.Helper()
	outside, err := natsserver.NewServer(&natsserver.Options{
		Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, Nkeys: users,
	})
	if err != nil {
		t.Fatal(err)
	}
	outside.Start()
	t.Cleanup(outside.Shutdown)
	if !outside.ReadyForConnections(time.Minute) {
		t.Fatal("NATS is not ready")
	}
	return outside
}

// TestOutside has two replicas share an external NATS, which knows them by an NKey.
func TestOutside(t *testing.T) {
	t.Parallel()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, _ := pair.Seed()
	public, _ := pair.PublicKey()
	creds := filepath.Join(t.TempDir(), "gate.nk")
	if err := os.WriteFile(creds, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	outside := startOutside(t, &natsserver.NkeyUser{Nkey: public})
	options := func(name string) Options {
		return Options{URL: outside.ClientURL(), Name: name, Worker: "default", DataDir: t.TempDir(), Key: testKey, Creds: creds, Lease: testLease, Logger: logOf(t)}
	}
	var all []*Cluster
	for _, name := range []string{"a", "b"} {
		c, err := Open(options(name))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		all = append(all, c)
	}
	for _, c := range all {
		waits.Until(t, "the replicas hear of each other", func() bool { return c.Fresh() == nil && len(c.Replicas()) == 2 })
	}
	if _, err := all[0].Document("rules").Replace(t.Context(), 0, []byte("{}"), "x"); err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "the other has it", func() bool { v, err := all[1].Document("rules").Now(); return err == nil && string(v.Text) == "{}" })

	// Documents are stored there, although a single server keeps one copy.
	notes := [2]*shelf{{}, {}}
	for i, c := range all {
		stop := Share(c, Documents, notes[i], filepath.Join(t.TempDir(), "shared.json"), func(error) {})
		defer stop()
	}
	if err := notes[0].Put(t.Context(), Note{ID: "doc-1", Text: "a document"}); err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "the other has the document", func() bool { return notes[1].held()["doc-1"].Text == "a document" })

	// The trail is stored there, each line once, even if the replica restarts.
	dir := filepath.Join(all[0].o.DataDir, "audit")
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(n int) {
		for range n {
			if _, err := log.Append(audit.Record{Event: audit.Control, Summary: "something"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(100)
	verified := func(c *Cluster, n int) bool {
		logs, err := c.VerifyTrail(t.Context(), dir)
		if err != nil || len(logs) != 1 {
			return false
		}
		if len(logs[0].Breaks) > 0 {
			t.Fatalf("broken: %v", logs[0].Breaks)
		}
		return logs[0].Records == n && logs[0].Behind == 0
	}
	all[0].ShareTrail(dir, nil, func(error) {})
	waits.Until(t, "the stream has all", func() bool { return verified(all[0], 100) })
	write(50)
	all[0].Close()
	again := options("a")
	again.DataDir = all[0].o.DataDir
	c, err := Open(again)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.ShareTrail(dir, nil, func(error) {})
	waits.Until(t, "the stream has the rest", func() bool { return verified(c, 150) })
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	// A rewritten log on disk is detected.
	logs, err := audit.Logs(dir)
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	path := filepath.Join(dir, logs[0])
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text[:len(text)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := c.VerifyTrail(t.Context(), dir)
	if err != nil || len(found) != 1 || len(found[0].Breaks) == 0 {
		t.Errorf("half of the log is gone, and nobody says so: %+v, %v", found, err)
	}
}

// TestFollowsAgain makes a replica give up following the bucket while NATS is slow to recreate its lost consumer.
func TestFollowsAgain(t *testing.T) {
	t.Parallel()
	outside := startOutside(t)
	c, err := Open(Options{URL: outside.ClientURL(), Name: "a", Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: time.Second, Logger: logOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	waits.Until(t, "it hears from the cluster", func() bool { return c.Fresh() == nil })
	conn, err := nats.Connect(outside.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	wanted, err := conn.SubscribeSync("wanted.>")
	if err != nil {
		t.Fatal(err)
	}
	beats, err := conn.SubscribeSync(c.bucket.subject("beat.>"))
	if err != nil {
		t.Fatal(err)
	}
	const create = "$JS.API.CONSUMER.CREATE."
	if err := errors.Join(conn.Flush(), outside.GlobalAccount().AddMapping(create+">", "wanted.>")); err != nil {
		t.Fatal(err)
	}
	for lost := range c.bucket.stream.ListConsumers(t.Context()).Info() {
		if err := c.bucket.stream.DeleteConsumer(t.Context(), lost.Name); err != nil {
			t.Fatal(err)
		}
	}
	request, err := wanted.NextMsg(waits.Limit)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil { // it beats until it gives up
		_, err = beats.NextMsg(c.o.Lease)
	}
	outside.GlobalAccount().RemoveMapping(create + ">")
	request.Subject = create + strings.TrimPrefix(request.Subject, "wanted.")
	if err := conn.PublishMsg(request); err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "it hears from the cluster again", func() bool { return c.Fresh() == nil })
}

// TestBackup loses the NATS, and restores a backup.
func TestBackup(t *testing.T) {
	t.Parallel()
	start := func() *Cluster {
		c, err := Open(Options{URL: Embedded, Name: "one", Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		waits.Until(t, "it hears from the cluster", func() bool { return c.Fresh() == nil })
		return c
	}
	before := start()
	if _, err := before.Document("rules").Replace(t.Context(), 0, []byte("{}"), "x"); err != nil {
		t.Fatal(err)
	}
	ask(t, before.Approvals(), "waits", "k1", true)
	ask(t, before.Approvals(), "decided", "k2", false)
	if err := before.Approvals().Decide("decided", []byte(`"yes"`), false, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "backup")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "all is heard", func() bool { p, u := before.approvals.count(); return p == 1 && u == 1 })
	if n, err := before.Backup(file); err != nil || n != 2 {
		t.Fatalf("%d keys, %v", n, err)
	}
	file.Close()
	after := start()
	adopter := &gateOf{}
	after.Approvals().Serve(adopter)
	for i, want := range []int{2, 0} {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		restored, kept, err := after.Restore(t.Context(), file, Restoring{})
		file.Close()
		if err != nil || restored != want || kept != 2-want {
			t.Fatalf("time %d: restored %d, kept %d, %v", i+1, restored, kept, err)
		}
	}
	waits.Until(t, "what waited is shown", func() bool { n, _, _ := adopter.counts(); return n == 1 })
	if decision, err := after.Approvals().Claim("k2", "c"); err != nil || decision != nil {
		t.Errorf("a decision came back, and could be taken twice: %s, %v", decision, err)
	}
}

// TestOtherSettings gives the bucket settings that lose data. No replica uses it and no command changes it. But a
// backup has everything, and restore puts that into a new bucket.
func TestOtherSettings(t *testing.T) {
	t.Parallel()
	o := Options{URL: Embedded, Name: "one", Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)}
	start := func() *Cluster {
		c, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	before := start()
	waits.Until(t, "it hears from the cluster", func() bool { return before.Fresh() == nil })
	if _, err := before.Document("rules").Replace(t.Context(), 0, []byte("{}"), "x"); err != nil {
		t.Fatal(err)
	}
	config := before.bucket.config(1)
	config.MaxAge = time.Hour
	if _, err := before.js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	before.Close()
	after := start()
	waits.Until(t, "it says so", func() bool { err := after.Fresh(); return err != nil && strings.Contains(err.Error(), "max age") })

	look := func(restores bool) *Cluster {
		o := o
		o.Recreate = restores
		c, err := Look(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	reads := look(false)
	var kept bytes.Buffer
	if n, err := reads.Backup(&kept); err != nil || n != 1 {
		t.Fatalf("%d keys, %v", n, err)
	}
	v, err := reads.Document("rules").Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reads.Document("rules").Replace(t.Context(), v.Revision, []byte("{ }"), "x"); err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("it was changed: %v", err)
	}
	reads.Close()
	restores := look(true)
	if n, _, err := restores.Restore(t.Context(), &kept, Restoring{Replace: true}); err != nil || n != 1 {
		t.Fatalf("%d keys, %v", n, err)
	}
	restores.Close()
	waits.Until(t, "it goes by it again", func() bool { v, err := after.Document("rules").Now(); return err == nil && string(v.Text) == "{}" })
}
