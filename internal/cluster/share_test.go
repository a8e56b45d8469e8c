package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"callgate/internal/testserver/waits"
)

// shelf holds the notes of a replica.
type shelf struct {
	mu      sync.Mutex
	notes   map[string]Note
	changes int // 0 for a new folder
}

func (s *shelf) Version() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes == 0 {
		return "", nil
	}
	return strconv.Itoa(s.changes), nil
}

func (s *shelf) All() (all []Note, err error) {
	for _, n := range s.held() {
		all = append(all, n)
	}
	return all, nil
}

func (s *shelf) Put(_ context.Context, n Note) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.notes == nil {
		s.notes = map[string]Note{}
	}
	s.notes[n.ID] = n
	s.changes++
	return nil
}

func (s *shelf) Remove(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.notes, id)
	s.changes++
	return nil
}

func (s *shelf) held() map[string]Note {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.notes)
}

// clear does what happens when somebody removes the folder.
func (s *shelf) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes, s.changes = nil, 0
}

// TestKnowledge changes documents at three replicas. All get them, even replicas that were away or lost theirs.
func TestKnowledge(t *testing.T) {
	t.Parallel()
	all := open(t, 3)
	shelves, dir := [3]*shelf{{}, {}, {}}, t.TempDir()
	var mu sync.Mutex
	trouble, rounds := make([]error, 3), make([]int, 3)
	share := func(i int) (stop func()) {
		return Share(all[i], Documents, shelves[i], filepath.Join(dir, fmt.Sprint(i)), func(err error) {
			mu.Lock()
			defer mu.Unlock()
			trouble[i] = err
			rounds[i]++
		})
	}
	settled := func() { // waits until all writes that had begun are done and taken over
		for range 2 {
			mu.Lock()
			before := slices.Clone(rounds)
			mu.Unlock()
			for i := range before {
				waits.Until(t, "two rounds end", func() bool { mu.Lock(); defer mu.Unlock(); return rounds[i] >= before[i]+2 })
			}
		}
	}
	stops := [3]func(){}
	for i := range stops {
		stops[i] = share(i)
	}
	everywhere := func(what string, want ...Note) {
		t.Helper()
		held := map[string]Note{}
		for _, n := range want {
			held[n.ID] = n
		}
		for i, s := range shelves {
			waits.Until(t, fmt.Sprintf("%s: replica %d", what, i), func() bool {
				has := s.held()
				return len(has) == len(held) && (len(held) == 0 || reflect.DeepEqual(has, held))
			})
		}
	}
	put := func(i int, n Note) {
		if err := shelves[i].Put(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(i int, id string) {
		if err := shelves[i].Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}

	one := Note{ID: "doc-1", Text: "SECRET TEXT", Metadata: map[string]string{"source": "SECRET PLACE"}}
	put(0, one)
	everywhere("a document", one)
	one.Metadata = map[string]string{"source": "elsewhere"}
	put(1, one)
	everywhere("its new metadata", one)
	two := Note{ID: "doc-2", Text: string(bytes.Repeat([]byte("x"), 3<<20))} // in many pieces
	put(1, two)
	put(2, two)
	everywhere("one that two add", one, two)

	stream, err := all[0].js.Stream(t.Context(), "OBJ_"+storeName(all[0], Documents))
	if err != nil {
		t.Fatal(err)
	}
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		if m, err := stream.GetMsg(t.Context(), seq); err == nil && bytes.Contains(m.Data, []byte("SECRET")) {
			t.Errorf("NATS sees %s", m.Data)
		}
	}

	stops[2]()
	remove(0, "doc-1")
	three := Note{ID: "doc-3", Text: "while it was away"}
	put(2, three)
	waits.Until(t, "the other hears that it is gone", func() bool { return len(shelves[1].held()) == 1 })
	stops[2] = share(2)
	everywhere("what changed while one was away", two, three)

	stops[1]()
	shelves[1].clear()
	stops[1] = share(1)
	everywhere("one whose folder was removed", two, three)

	for _, stop := range stops {
		stop()
	}
	if err := all[0].js.DeleteObjectStore(t.Context(), storeName(all[0], Documents)); err != nil {
		t.Fatal(err)
	}
	remove(0, "doc-2")
	for i := range stops {
		stops[i] = share(i)
	}
	everywhere("the store was lost", two, three)
	settled()
	remove(0, "doc-2")
	everywhere("it is removed again", three)

	waits.Until(t, "nothing is wrong any more", func() bool { mu.Lock(); defer mu.Unlock(); return errors.Join(trouble...) == nil })
}

// lagging is a connection to a copy of the stores that lacks the newest objects when it is first asked.
type lagging struct {
	jetstream.JetStream
	asked *int
}

type laggingStore struct {
	jetstream.ObjectStore
	asked *int
}

func (l lagging) ObjectStore(ctx context.Context, name string) (jetstream.ObjectStore, error) {
	store, err := l.JetStream.ObjectStore(ctx, name)
	return laggingStore{store, l.asked}, err
}

func (l laggingStore) List(ctx context.Context, options ...jetstream.ListObjectsOpt) ([]*jetstream.ObjectInfo, error) {
	if *l.asked++; *l.asked == 1 {
		return nil, jetstream.ErrNoObjectsFound
	}
	return l.ObjectStore.List(ctx, options...)
}

// TestLaggingStore has a replica hear late of a document that another added. It looks again, although nothing changes.
func TestLaggingStore(t *testing.T) {
	t.Parallel()
	c := one(t)
	sharing := func(js jetstream.JetStream, notes Notes) *sharing {
		k := newSharing(&Cluster{o: c.o, conn: c.conn, js: js}, Documents)
		k.notes, k.file = notes, filepath.Join(t.TempDir(), "agreed")
		return k
	}
	has, lacks := &shelf{}, &shelf{}
	if err := has.Put(t.Context(), Note{ID: "doc-1", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := sharing(c.js, has).round(t.Context()); err != nil {
		t.Fatal(err)
	}
	late := sharing(lagging{c.js, new(int)}, lacks)
	for range 2 {
		if err := late.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(lacks.held()) != 1 {
		t.Errorf("it holds %v", lacks.held())
	}
}

// TestKnowledgeOfOthers writes documents without the key, or in another place. No replica takes them.
func TestKnowledgeOfOthers(t *testing.T) {
	t.Parallel()
	c := open(t, 1)[0]
	s, told := &shelf{}, make(chan error, 1)
	Share(c, Documents, s, filepath.Join(t.TempDir(), "shared.json"), func(err error) {
		if err != nil {
			select {
			case told <- err:
			default:
			}
		}
	})
	good := Note{ID: "doc-1", Text: "good"}
	if err := s.Put(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	var store jetstream.ObjectStore
	waits.Until(t, "the document is in the store", func() (ok bool) {
		var err error
		if store, err = c.js.ObjectStore(t.Context(), storeName(c, Documents)); err == nil {
			_, err = store.GetInfo(t.Context(), "doc-1")
		}
		return err == nil
	})
	sealed, err := store.GetBytes(t.Context(), "doc-1")
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string][]byte{"doc-2": sealed, "doc-3": []byte(`{"id":"doc-3","text":"evil"}`), "doc-1": []byte(`{"id":"doc-1","removed":true}`)} {
		if _, err := store.PutBytes(t.Context(), name, body); err != nil {
			t.Fatal(err)
		}
	}
	<-told
	other := Note{ID: "doc-4", Text: "beside them"}
	if err := s.Put(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "others are still shared", func() bool {
		_, err := store.GetInfo(t.Context(), "doc-4")
		return err == nil
	})
	if held := s.held(); len(held) != 2 || held["doc-1"].Text != "good" {
		t.Errorf("it holds %v", held)
	}
}
