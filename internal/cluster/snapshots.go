package cluster

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Snapshots stores large files, such as indexes, that replicas make for replicas that start later. Each has a name, and
// a new one replaces the old one of that name. They are sealed in pieces, so that no whole one is held in memory.
// Snapshots is safe for concurrent use.
type Snapshots struct {
	c      *Cluster
	name   string // of the store
	sealer sealer
}

const (
	snapshotPiece = 1 << 20             // bytes that are sealed together
	maxSnapshot   = 2 << 30             // most bytes in a sealed snapshot
	snapshotAge   = 30 * 24 * time.Hour // when a snapshot that nobody replaced is dropped
	getWithin     = 10 * time.Minute    // bounds Get
	contentKey    = "Content"           // key in an object's metadata: what it is a snapshot of, sealed
)

// ErrNoSnapshot means that there is no snapshot of that name, or that this replica's key does not open it.
var ErrNoSnapshot = errors.New("there is no snapshot")

// Snapshots returns the snapshots of this replica's worker.
func (c *Cluster) Snapshots() *Snapshots {
	name := storeName(c, snapshots)
	return &Snapshots{c: c, name: name, sealer: c.o.Key.sealer(name)}
}

// Put stores what write writes as the snapshot of that name. content tells what it is a snapshot of.
func (s *Snapshots) Put(ctx context.Context, name, content string, write func(io.Writer) error) error {
	store, err := s.c.js.ObjectStore(ctx, s.name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		if err = createStore(ctx, s.c, s.name, snapshotAge); err == nil {
			store, err = s.c.js.ObjectStore(ctx, s.name)
		}
	}
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	var writing sync.WaitGroup
	defer writing.Wait()
	defer r.Close() // ends the writer if the store takes no more
	writing.Go(func() {
		pieces := &sealing{w: w, s: s.sealer, place: name}
		err := write(pieces)
		if err == nil {
			err = pieces.flush(true)
		}
		w.CloseWithError(err)
	})
	_, err = store.Put(ctx, jetstream.ObjectMeta{
		Name: name, Metadata: map[string]string{contentKey: base64.StdEncoding.EncodeToString(s.sealer.seal(contentPlace(name), []byte(content)))},
	}, r)
	return err
}

// contentPlace returns what the content of a snapshot is sealed for.
func contentPlace(name string) string { return name + " content" }

// Content returns what the snapshot of that name is a snapshot of, and when it was stored.
func (s *Snapshots) Content(ctx context.Context, name string) (content string, at time.Time, err error) {
	store, err := s.c.js.ObjectStore(ctx, s.name)
	if err == nil {
		var info *jetstream.ObjectInfo
		if info, err = store.GetInfo(ctx, name); err == nil {
			content, err = s.content(info)
			return content, info.ModTime, err
		}
	}
	return "", time.Time{}, asNoSnapshot(err)
}

// content returns the content from an object's metadata.
func (s *Snapshots) content(info *jetstream.ObjectInfo) (string, error) {
	sealed, err := base64.StdEncoding.DecodeString(info.Metadata[contentKey])
	if err == nil {
		sealed, err = s.sealer.unseal(contentPlace(info.Name), sealed)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoSnapshot, err)
	}
	return string(sealed), nil
}

// asNoSnapshot returns ErrNoSnapshot for a store's "not found" errors, and other errors unchanged.
func asNoSnapshot(err error) error {
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrObjectNotFound) {
		return ErrNoSnapshot
	}
	return err
}

// Get passes the snapshot of that name to read, within getWithin. The reader fails unless all of it is a replica's.
func (s *Snapshots) Get(ctx context.Context, name string, read func(io.Reader) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, getWithin) // without a deadline the store allows five seconds
	defer cancel()
	store, err := s.c.js.ObjectStore(ctx, s.name)
	if err != nil {
		return asNoSnapshot(err)
	}
	info, err := store.GetInfo(ctx, name)
	if err != nil {
		return asNoSnapshot(err)
	}
	if info.Size > maxSnapshot {
		return fmt.Errorf("it has %d bytes, more than %d", info.Size, maxSnapshot)
	}
	object, err := store.Get(ctx, name)
	if err != nil {
		return asNoSnapshot(err)
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	return read(&unsealing{r: object, s: s.sealer, place: name})
}

// drop removes the snapshots that the key's first secret did not seal. Replicas make new ones.
func (s *Snapshots) drop(ctx context.Context) (n int, err error) {
	store, err := s.c.js.ObjectStore(ctx, s.name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	objects, err := store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return 0, err
	}
	newest := &Snapshots{c: s.c, name: s.name, sealer: sealer{open: s.sealer.open[:1]}}
	for _, info := range objects {
		if _, err := newest.content(info); err == nil {
			continue
		}
		if err := store.Delete(ctx, info.Name); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// sealing seals what is written, in pieces. Each is sealed for its place in the snapshot, so that none can be moved or
// left out, and for its snapshot, so that two snapshots cannot be mixed.
type sealing struct {
	w     io.Writer
	s     sealer
	place string
	run   string // identifies the snapshot: the nonce of the first sealed piece, which is sealed without it
	n     int
	piece []byte
	total int64
}

func (s *sealing) Write(p []byte) (written int, err error) {
	for len(p) > 0 {
		if len(s.piece) == snapshotPiece {
			if err := s.flush(false); err != nil {
				return written, err
			}
		}
		n := min(len(p), snapshotPiece-len(s.piece))
		s.piece = append(s.piece, p[:n]...)
		p, written = p[n:], written+n
	}
	return written, nil
}

// flush seals what was written since the last call. last means that nothing follows.
func (s *sealing) flush(last bool) error {
	sealed := s.s.seal(piecePlace(s.place, s.run, s.n, last), s.piece)
	if s.n == 0 {
		s.run = runOf(sealed)
	}
	s.n, s.piece = s.n+1, s.piece[:0]
	if s.total += int64(len(sealed)) + 4; s.total > maxSnapshot {
		return fmt.Errorf("it has more than %d bytes", maxSnapshot)
	}
	_, err := s.w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(sealed))), sealed...))
	return err
}

// piecePlace returns what a piece is sealed for.
func piecePlace(name, run string, n int, last bool) string {
	return fmt.Sprintf("%s piece %d of %x, last: %t", name, n, run, last)
}

// runOf returns the nonce of a snapshot's first piece, which is random. The other pieces are sealed for it too.
func runOf(first []byte) string { return string(first[:min(len(first), 12)]) }

// unsealing opens what sealing wrote.
type unsealing struct {
	r     io.Reader
	s     sealer
	place string
	run   string
	n     int
	piece []byte
	last  bool
}

func (u *unsealing) Read(p []byte) (int, error) {
	for len(u.piece) == 0 {
		if u.last {
			return 0, io.EOF
		}
		if err := u.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, u.piece)
	u.piece = u.piece[n:]
	return n, nil
}

// next opens the next piece.
func (u *unsealing) next() error {
	var length [4]byte
	if _, err := io.ReadFull(u.r, length[:]); err != nil {
		return fmt.Errorf("the snapshot has no end: %w", noEOF(err))
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > 2*snapshotPiece {
		return errSealed
	}
	sealed := make([]byte, n)
	if _, err := io.ReadFull(u.r, sealed); err != nil {
		return fmt.Errorf("the snapshot has no end: %w", noEOF(err))
	}
	var err error
	for _, last := range []bool{false, true} {
		if u.piece, err = u.s.unseal(piecePlace(u.place, u.run, u.n, last), sealed); err == nil {
			u.last = last
			break
		}
	}
	if u.n == 0 {
		u.run = runOf(sealed)
	}
	u.n++
	return err
}

// noEOF returns io.ErrUnexpectedEOF in place of io.EOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
