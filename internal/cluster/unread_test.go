//go:build !nonats

package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

// A note that a replica cannot read is not gone. The others keep it, and a new write replaces it.
func TestUnreadNoteStays(t *testing.T) {
	t.Parallel()
	outside := startOutside(t)
	shelves, dir := [2]*shelf{{}, {}}, t.TempDir()
	for i, s := range shelves {
		c, err := Open(Options{URL: outside.ClientURL(), Name: fmt.Sprint(i), Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		Share(c, Lists, s, filepath.Join(dir, fmt.Sprint(i)), func(error) {})
	}
	put := func(n Note) {
		if err := shelves[0].Put(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	other := func(what, id, text string) {
		t.Helper()
		waits.Until(t, what, func() bool { return shelves[1].held()[id].Text == text })
	}
	put(Note{ID: "a", Text: "lists"})
	other("the other has it", "a", "lists")
	put(Note{ID: "a", Unread: true})
	put(Note{ID: "b", Text: "written later"})
	other("the other has what was written later", "b", "written later")
	if held := shelves[1].held(); held["a"].Text != "lists" {
		t.Errorf("it lost what the first cannot read: %v", held)
	}
	put(Note{ID: "b", Text: "written once more"})
	other("the other has the next", "b", "written once more")
	if held := shelves[1].held(); held["a"].Text != "lists" {
		t.Errorf("it lost what the first cannot read: %v", held)
	}
	put(Note{ID: "a", Text: "new lists"})
	other("the other has the new ones", "a", "new lists")
}

// counting counts how often notes are read.
type counting struct {
	*shelf
	reads int
}

func (c *counting) All() ([]Note, error) { c.reads++; return c.shelf.All() }

// An object that does not open is reported in each round, but read only once.
func TestUnreadObjectCostsNothing(t *testing.T) {
	t.Parallel()
	c := open(t, 1)[0]
	k := newSharing(c, Documents)
	notes := &counting{shelf: &shelf{}}
	k.notes, k.file = notes, filepath.Join(t.TempDir(), "agreed")
	if err := notes.Put(t.Context(), Note{ID: "a", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	round := func() error { return k.round(t.Context()) }
	if err := errors.Join(round(), round()); err != nil { // the second sees what the first wrote
		t.Fatal(err)
	}
	if _, err := k.store.PutBytes(t.Context(), "bad", []byte("not sealed")); err != nil {
		t.Fatal(err)
	}
	if err := round(); !errors.Is(err, errUnread) {
		t.Error(err)
	}
	before := notes.reads
	for range 3 {
		if err := round(); !errors.Is(err, errUnread) || !strings.Contains(err.Error(), "bad") {
			t.Error(err)
		}
	}
	if notes.reads != before {
		t.Errorf("notes were read %d times more", notes.reads-before)
	}
	if _, err := k.put(t.Context(), Note{ID: "bad", Text: "good now"}); err != nil {
		t.Fatal(err)
	}
	if err := round(); err != nil || notes.held()["bad"].Text != "good now" {
		t.Errorf("%v, %v", notes.held(), err)
	}
}

// A backup of a bucket with an unreadable document has everything else, and says what it lacks.
func TestBackupWithoutWhatIsUnread(t *testing.T) {
	t.Parallel()
	c := open(t, 1)[0]
	for _, name := range []string{"rules", "freeze"} {
		if _, err := c.Document(name).Replace(t.Context(), 0, []byte("{}"), "me"); err != nil {
			t.Fatal(err)
		}
	}
	waits.Until(t, "both are known here", func() bool { return len(c.bucket.valuesUnder("rules"))+len(c.bucket.valuesUnder("freeze")) == 2 })
	c.bucket.mu.Lock()
	v := c.bucket.seen["rules"]
	v.body, v.err = nil, ErrNewer
	c.bucket.seen["rules"] = v
	c.bucket.mu.Unlock()
	var backup bytes.Buffer
	if n, err := c.Backup(&backup); n != 1 || !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), "rules") || !strings.Contains(backup.String(), `"freeze"`) {
		t.Errorf("%d keys, %v: %s", n, err, &backup)
	}
}

// A command for a worker that never had a replica creates no bucket.
func TestLookMakesNothing(t *testing.T) {
	t.Parallel()
	outside := startOutside(t)
	_, err := Look(t.Context(), Options{URL: outside.ClientURL(), Name: "x", Worker: "typo", DataDir: t.TempDir(), Key: testKey, Lease: time.Second, Logger: logOf(t)})
	if err == nil || !strings.Contains(err.Error(), "no replica of worker typo") {
		t.Error(err)
	}
	c, err := Open(Options{URL: outside.ClientURL(), Name: "y", Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name := range c.js.StreamNames(t.Context()).Name() {
		if strings.Contains(name, "typo") {
			t.Errorf("there is the stream %s", name)
		}
	}
}

// A command that changes the rules learns which replicas go by them, and which have not said so: those deny everything
// when it returns.
func TestCommandAwaitsReplicas(t *testing.T) {
	t.Parallel()
	outside := startOutside(t)
	o := Options{URL: outside.ClientURL(), Name: "a", Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)}
	replica, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer replica.Close()
	waits.Until(t, "it hears from the cluster", func() bool { return replica.Fresh() == nil })
	o.Name, o.DataDir = "command", t.TempDir()
	command, err := Look(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer command.Close()
	change := func(onto uint64, text string) uint64 {
		t.Helper()
		revision, err := command.Document("rules").Replace(t.Context(), onto, []byte(text), "test")
		if err != nil {
			t.Fatal(err)
		}
		return revision
	}
	first := change(0, "one")
	if behind := command.Behind(t.Context(), first); len(behind) > 0 {
		t.Errorf("behind: %v", behind)
	}
	if now, err := replica.Document("rules").Now(); err != nil || string(now.Text) != "one" {
		t.Errorf("the replica goes by %s, %v", now.Text, err)
	}
	replica.bucket.taking.Lock() // it hears nothing
	second := change(first, "two")
	if behind := command.Behind(t.Context(), second); !slices.Equal(behind, []string{"a"}) {
		t.Errorf("behind: %v", behind)
	}
	if now, err := replica.Document("rules").Now(); err == nil {
		t.Errorf("the replica goes by %s", now.Text)
	}
	replica.bucket.taking.Unlock()
}
