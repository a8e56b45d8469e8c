package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// TestSnapshots stores snapshots of one name. The last complete one is there.
func TestSnapshots(t *testing.T) {
	t.Parallel()
	c := open(t, 1)[0]
	one, other := c.Snapshots(), c.Snapshots()
	if err := other.Get(t.Context(), "app", nil); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("before there is a store: %v", err)
	}
	for _, size := range []int{0, 1, snapshotPiece, 3*snapshotPiece + 7} {
		body := noise(size)
		content := "SECRET CONTENT"
		err := one.Put(t.Context(), "app", content, func(w io.Writer) error { _, err := w.Write(body); return err })
		if err != nil {
			t.Fatal(err)
		}
		if has, _, err := other.Content(t.Context(), "app"); has != content || err != nil {
			t.Errorf("%q, %v", has, err)
		}
		var got []byte
		if err := other.Get(t.Context(), "app", func(r io.Reader) (err error) { got, err = io.ReadAll(r); return err }); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%d of %d bytes, %v", len(got), size, err)
		}
	}
	hasty, err := jetstream.New(c.conn, jetstream.WithDefaultTimeout(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	slow := &Snapshots{c: &Cluster{o: c.o, js: hasty}, name: other.name, sealer: other.sealer}
	err = slow.Get(t.Context(), "app", func(r io.Reader) error {
		time.Sleep(100 * time.Millisecond)
		_, err := io.Copy(io.Discard, r)
		return err
	})
	if err != nil {
		t.Errorf("read slowly: %v", err)
	}
	failed := errors.New("a disk that fails")
	if err := one.Put(t.Context(), "app", "none", func(w io.Writer) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if has, _, err := other.Content(t.Context(), "app"); has != "SECRET CONTENT" || err != nil {
		t.Errorf("after a failure: %q, %v", has, err)
	}
	store, err := c.js.ObjectStore(t.Context(), one.name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := store.GetInfo(t.Context(), "app")
	if err != nil || bytes.Contains([]byte(info.Metadata[contentKey]), []byte("SECRET")) {
		t.Errorf("%v, %v", info, err)
	}
	if n, err := one.drop(t.Context()); n != 0 || err != nil {
		t.Errorf("%d dropped, %v", n, err)
	}
	rotated, err := ParseKey("another secret, which has more than 32 characters\n" + testKey.secrets[0])
	if err != nil {
		t.Fatal(err)
	}
	newer := &Snapshots{c: c, name: one.name, sealer: rotated.sealer(one.name)}
	if has, _, err := newer.Content(t.Context(), "app"); has != "SECRET CONTENT" || err != nil {
		t.Errorf("with a rotated key: %q, %v", has, err)
	}
	if n, err := newer.drop(t.Context()); n != 1 || err != nil {
		t.Errorf("%d dropped, %v", n, err)
	}
	if _, _, err := one.Content(t.Context(), "app"); !errors.Is(err, ErrNoSnapshot) {
		t.Error(err)
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// TestSnapshotPieces moves, mixes, cuts and changes the pieces of snapshots. The result never looks complete.
func TestSnapshotPieces(t *testing.T) {
	s := testKey.sealer("a place")
	pieces := func(name string) (all [][]byte) {
		var b bytes.Buffer
		w := &sealing{w: &b, s: s, place: name}
		if _, err := w.Write(noise(3*snapshotPiece - 1)); err != nil {
			t.Fatal(err)
		}
		if err := w.flush(true); err != nil {
			t.Fatal(err)
		}
		for b.Len() > 0 {
			n := binary.BigEndian.Uint32(b.Bytes())
			all = append(all, bytes.Clone(b.Next(int(n)+4)))
		}
		return all
	}
	a, b := pieces("app"), pieces("app")
	read := func(name string, of ...[]byte) error {
		_, err := io.Copy(io.Discard, &unsealing{r: bytes.NewReader(bytes.Join(of, nil)), s: s, place: name})
		return err
	}
	if err := read("app", a...); err != nil || len(a) != 3 {
		t.Fatal(len(a), err)
	}
	flipped := bytes.Clone(a[1])
	flipped[len(flipped)-1] ^= 1
	long := bytes.Clone(a[0])
	long[0] = 0xff
	for what, err := range map[string]error{
		"another name":     read("other", a...),
		"no end":           read("app", a[0], a[1]),
		"half a piece":     read("app", a[0], a[1], a[2][:100]),
		"half a length":    read("app", a[0], a[1], a[2][:2]),
		"nothing":          read("app"),
		"no beginning":     read("app", a[1], a[2]),
		"one left out":     read("app", a[0], a[2]),
		"another order":    read("app", a[0], a[2], a[1]),
		"twice":            read("app", a[0], a[1], a[1], a[2]),
		"of two snapshots": read("app", a[0], b[1], a[2]),
		"the end of one":   read("app", a[0], a[1], b[2]),
		"changed":          read("app", a[0], flipped, a[2]),
		"endless":          read("app", long, a[1], a[2]),
	} {
		if err == nil {
			t.Errorf("%s: it was read", what)
		}
	}
}
