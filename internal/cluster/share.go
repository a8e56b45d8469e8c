package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"callgate/internal/durable"
	"callgate/internal/periodic"
)

// What replicas share, each in a separate object store.
const (
	Documents = "kb"     // of the knowledge base
	Lists     = "lists1" // the lists that servers last sent; the number is that of their format, so that versions do not mix
	snapshots = "snapshots"
)

// Note is a text that replicas share: a document of the knowledge base, or a server's lists.
type Note struct {
	ID       string            `json:"id"`
	Text     string            `json:"text,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Removed  bool              `json:"removed,omitempty"` // it was removed, and has neither text nor metadata

	Unread bool `json:"-"` // it exists but cannot be read here; the others keep their versions
}

// Notes holds the texts on this replica's disk. Other processes may change them.
type Notes interface {
	// Version returns a value that changes whenever a text does. It is "" if there has never been a text.
	Version() (string, error)
	All() ([]Note, error)
	Put(ctx context.Context, n Note) error
	Remove(ctx context.Context, id string) error
}

// sharing keeps a replica's notes in line with the cluster's object store. If two replicas change a note at once, the
// last write wins. It recovers after a restart, and after the store was lost.
type sharing struct {
	c      *Cluster
	name   string // of the store
	notes  Notes
	file   string // where agreed is saved
	store  jetstream.ObjectStore
	sealer sealer

	heads   map[string]string // by ID: the digest of the store's object
	unread  map[string]unread // by ID: the objects that cannot be used
	agreed  map[string]agreed // by ID: the version that this replica and the store last both had
	looked  bool
	version string // of the notes, when they were last compared
	state   string // of the store, at that time
}

// agreed is the version of a note that this replica and the store both had.
type agreed struct {
	Object string `json:"object"`         // digest of the sealed object
	Note   string `json:"note,omitempty"` // digest of the note; "" if it was removed
}

// unread is an object that does not open or holds something else.
type unread struct {
	object string // its digest
	err    error
}

// errUnread means that an object is not read again until it changes.
var errUnread = errors.New("it cannot be read")

const (
	noteEvery   = time.Second
	notesWithin = 20 * time.Second // to read or write one note
	maxObject   = 64 << 20         // most bytes in a sealed note
	maxAgreed   = 64 << 20         // most bytes in the file
)

// Share shares notes until the cluster is closed or stop is called, which waits. what is Documents or Lists. In file,
// this replica keeps what it knows about the others' notes. Share calls trouble every round, with the error or nil.
func Share(c *Cluster, what string, notes Notes, file string, trouble func(error)) (stop func()) {
	ctx, cancel := context.WithCancel(c.ctx)
	k := newSharing(c, what)
	k.notes, k.file = notes, file
	var rounds sync.WaitGroup
	rounds.Go(func() {
		for ctx.Err() == nil {
			if err := k.round(ctx); ctx.Err() == nil {
				trouble(err)
			}
			periodic.Sleep(ctx, noteEvery)
		}
	})
	c.owned.Go(rounds.Wait)
	return func() { cancel(); rounds.Wait() }
}

func newSharing(c *Cluster, what string) *sharing {
	name := storeName(c, what)
	return &sharing{c: c, name: name, unread: map[string]unread{}, sealer: c.o.Key.sealer(name)}
}

func storeName(c *Cluster, what string) string {
	return "callgate_" + what + "_" + bucketNames.Replace(c.o.Worker)
}

// round brings the notes and the store in line.
func (k *sharing) round(ctx context.Context) (err error) {
	if k.agreed == nil {
		held := map[string]agreed{}
		if err := durable.LoadJSON(k.file, maxAgreed, &held); err != nil {
			return fmt.Errorf("%w: remove the file", err)
		}
		k.agreed = held
	}
	state, err := k.list(ctx)
	if err != nil {
		return err
	}
	version, err := k.notes.Version()
	if err != nil || k.looked && version == k.version && state != "" && state == k.state {
		return errors.Join(err, k.cannotRead())
	}
	if version == "" { // the folder is new or was deleted; that does not mean that its documents were removed
		clear(k.agreed)
	}
	all, err := k.notes.All()
	if err != nil {
		return err
	}
	failed := k.reconcile(ctx, all)
	if failed == nil {
		k.looked, k.version, k.state = true, version, state
	}
	return errors.Join(failed, k.cannotRead(), durable.SaveJSON(k.file, k.agreed))
}

// cannotRead returns an error that names the objects that cannot be used, or nil.
func (k *sharing) cannotRead() (failed error) {
	for _, id := range slices.Sorted(maps.Keys(k.unread)) {
		failed = errors.Join(failed, k.unread[id].err)
	}
	return failed
}

// reconcile takes what has changed in the store since both sides agreed, and gives what has changed here. If a note
// changed on both sides, the store's version wins.
func (k *sharing) reconcile(ctx context.Context, all []Note) (failed error) {
	here := make(map[string]string, len(all))
	for _, n := range all {
		here[n.ID] = n.digest()
	}
	maps.DeleteFunc(k.unread, func(id string, u unread) bool { return k.heads[id] != u.object })
	for id, object := range k.heads {
		if k.agreed[id].Object == object || k.unread[id].object == object {
			continue
		}
		if err := k.take(ctx, id, here); errors.Is(err, errUnread) {
			k.unread[id] = unread{object, err}
		} else {
			failed = errors.Join(failed, err)
		}
	}
	give := func(n Note) {
		if was, is := k.agreed[n.ID], k.heads[n.ID]; is == "" || is == was.Object && was.Note != n.digest() {
			failed = errors.Join(failed, k.give(ctx, n))
		}
	}
	for _, n := range all {
		if !n.Unread && here[n.ID] == n.digest() { // and it was not replaced just now
			give(n)
		}
	}
	for id := range k.agreed {
		switch {
		case here[id] != "":
		case k.heads[id] == "": // the store was lost; others may still have the document
			delete(k.agreed, id)
		default:
			give(Note{ID: id, Removed: true})
		}
	}
	return failed
}

// list reads which notes the store has, unless it cannot have changed. It returns the state of the store's stream
// before that, or "" if the copy that it read was not as recent.
func (k *sharing) list(ctx context.Context) (state string, err error) {
	ctx, cancel := context.WithTimeout(ctx, notesWithin)
	defer cancel()
	stream, err := findStream(ctx, k.c.js, "OBJ_"+k.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if err = createStore(ctx, k.c, k.name, 0); err == nil {
			stream, err = findStream(ctx, k.c.js, "OBJ_"+k.name)
		}
	}
	if err != nil {
		return "", err
	}
	info := stream.CachedInfo()
	if state = fmt.Sprint(info.Created.UnixNano(), info.State.LastSeq); state == k.state {
		return state, nil
	}
	if k.store, err = k.c.js.ObjectStore(ctx, k.name); err != nil {
		return "", err
	}
	objects, err := k.store.List(ctx, jetstream.ListObjectsShowDeleted())
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return "", err
	}
	k.heads = map[string]string{}
	for _, object := range objects {
		if !object.Deleted {
			k.heads[object.Name] = object.Digest
		}
	}
	if info.State.LastSeq == 0 {
		return state, nil
	}
	var last jetstream.ObjectInfo // the last written one, unless the last message was a piece of an object
	m, err := stream.GetMsg(ctx, info.State.LastSeq)
	if err == nil {
		err = json.Unmarshal(m.Data, &last)
	}
	if err != nil || !slices.ContainsFunc(objects, func(o *jetstream.ObjectInfo) bool { return o.NUID == last.NUID }) {
		return "", nil // the next round looks again
	}
	return state, nil
}

// createStore creates an object store. It drops what is older than age, unless age is 0.
func createStore(ctx context.Context, c *Cluster, name string, age time.Duration) error {
	config := jetstream.ObjectStoreConfig{
		Bucket: name, Description: "callgate, what replicas of worker " + c.o.Worker + " share", TTL: age,
		Storage: jetstream.FileStorage, Replicas: c.copies(),
	}
	_, err := c.js.CreateObjectStore(ctx, config)
	if oneServer(c.o.URL, err) {
		config.Replicas = 1
		_, err = c.js.CreateObjectStore(ctx, config)
	}
	return err
}

// take brings a note from the store to this replica. here holds the digests of this replica's notes.
func (k *sharing) take(ctx context.Context, id string, here map[string]string) error {
	n, object, _, err := k.fetch(ctx, id)
	if err != nil {
		return fmt.Errorf("%s of another replica: %w", id, err)
	}
	is := n.digest()
	switch {
	case is == here[id]:
	case n.Removed:
		err = k.notes.Remove(ctx, id)
	default:
		err = k.notes.Put(ctx, n)
	}
	if err == nil {
		here[id], k.agreed[id] = is, agreed{object, is}
	}
	return err
}

// fetch reads a note from the store, and reports whether an older secret of the key sealed it.
func (k *sharing) fetch(ctx context.Context, id string) (n Note, object string, old bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, notesWithin)
	defer cancel()
	info, err := k.store.GetInfo(ctx, id)
	if err == nil && info.Size > maxObject {
		err = fmt.Errorf("%w: it has %d bytes, more than %d", errUnread, info.Size, maxObject)
	}
	if err != nil {
		return n, "", false, err
	}
	result, err := k.store.Get(ctx, id)
	if err != nil {
		return n, "", false, err
	}
	sealed, err := io.ReadAll(io.LimitReader(result, maxObject+1))
	if err := errors.Join(err, result.Close()); err != nil {
		return n, "", false, err
	}
	if info, err = result.Info(); err != nil {
		return n, "", false, err
	}
	body, old, err := k.sealer.unsealBy(id, sealed)
	if err == nil {
		err = json.Unmarshal(body, &n)
	}
	if err == nil && n.ID != id {
		err = fmt.Errorf("it says that it is %q", n.ID)
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnread, err)
	}
	return n, info.Digest, old, err
}

// give writes a note, or its removal, to the store.
func (k *sharing) give(ctx context.Context, n Note) error {
	object, err := k.put(ctx, n)
	if err != nil {
		return fmt.Errorf("%s: %w", n.ID, err)
	}
	k.heads[n.ID], k.agreed[n.ID] = object, agreed{object, n.digest()}
	return nil
}

// put writes a note to the store and returns the object's digest.
func (k *sharing) put(ctx context.Context, n Note) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, notesWithin)
	defer cancel()
	body, err := json.Marshal(n)
	if err != nil {
		return "", err
	}
	info, err := k.store.PutBytes(ctx, n.ID, k.sealer.seal(n.ID, body))
	if err != nil {
		return "", err
	}
	return info.Digest, nil
}

// resealShared seals again, with the key's first secret, what an older secret sealed. The error names each object that
// cannot be read, which the others do not wait for.
func resealShared(ctx context.Context, c *Cluster, what string) (n int, err error) {
	k := newSharing(c, what)
	k.store, err = c.js.ObjectStore(ctx, k.name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	objects, err := k.store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return 0, err
	}
	var unread error
	for _, object := range objects {
		note, _, old, err := k.fetch(ctx, object.Name)
		if err == nil && old {
			if _, err = k.put(ctx, note); err == nil {
				n++
			}
		}
		if err != nil {
			unread = errors.Join(unread, fmt.Errorf("%s: %w", object.Name, err))
		}
		if err != nil && !errors.Is(err, errUnread) {
			break
		}
	}
	return n, unread
}

// digest tells versions of a note apart. It is "" for a removed note.
func (n Note) digest() string {
	if n.Removed {
		return ""
	}
	text, _ := json.Marshal(n) // only strings, and maps with sorted keys
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
