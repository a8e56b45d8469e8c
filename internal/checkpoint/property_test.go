//go:build unix

package checkpoint

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAnythingCanBePutBack checks that whatever a command does to a workspace can be restored, and that this can be
// undone, whether or not the command's end was seen.
func TestAnythingCanBePutBack(t *testing.T) {
	d := newDesk(t, Options{Dir: "memory"})
	d.must(os.Mkdir(d.path(".git"), 0o755))
	outside := filepath.Join(filepath.Dir(d.dir), "outside")
	d.must(os.Mkdir(outside, 0o755))
	d.must(os.WriteFile(filepath.Join(outside, "file"), []byte("precious"), 0o644))
	root, err := os.OpenRoot(d.dir)
	d.must(err)
	defer root.Close()
	rapid.Check(t, func(rt *rapid.T) {
		names, err := os.ReadDir(d.dir)
		d.must(err)
		for _, n := range names {
			if n.Name() != ".git" {
				d.must(os.RemoveAll(d.path(n.Name())))
			}
		}
		d.store, err = Open(Options{})
		d.must(err)
		act(rt, root, "before")
		before := d.state()
		taken, err := d.store.Take(context.Background(), Request{Workspace: d.dir, Paths: []Path{{Path: d.dir, Scope: Git}}})
		d.must(err)
		act(rt, root, "call")
		after := d.state()
		killed := rapid.Bool().Draw(rt, "killed")
		if !killed {
			_, err := taken.End(context.Background())
			d.must(err)
		} else {
			d.store.unpin(taken.segment, 0)
		}
		done, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{Force: killed})
		if err != nil || len(done.Failed) > 0 {
			rt.Fatalf("%v, %+v", err, done)
		}
		if diff := cmp.Diff(before, d.state()); diff != "" {
			rt.Fatalf("restored (-before +now):\n%s", diff)
		}
		safe := func() {
			c, err := d.store.Get(taken.ID)
			d.must(err)
			for _, x := range c.Changed {
				if !beneath(x.Path, d.dir) {
					rt.Fatalf("%s is not in the workspace", x.Path)
				}
			}
			if data, err := os.ReadFile(filepath.Join(outside, "file")); err != nil || string(data) != "precious" {
				rt.Fatalf("what links lead to is %q, %v", data, err)
			}
		}
		safe()
		if done.Checkpoint == "" {
			return
		}
		defer safe()
		back := done.Checkpoint
		done, err = d.store.Restore(context.Background(), back, RestoreOptions{})
		if err != nil || len(done.Failed) > 0 {
			c, _ := d.store.Get(back)
			rt.Fatalf("%v, %+v\n%+v\n%v", err, done, c, d.state())
		}
		if diff := cmp.Diff(after, d.state()); diff != "" {
			rt.Fatalf("taken back (-after +now):\n%s", diff)
		}
	})
}

// act changes files at random, but none outside of the workspace: there are links out of it, but nothing here follows
// them. It ignores what the system refuses.
func act(rt *rapid.T, root *os.Root, label string) {
	name := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 3), func(parts []string) string { return filepath.Join(parts...) })
	for i := range rapid.IntRange(0, 10).Draw(rt, label) {
		at := name.Draw(rt, fmt.Sprint(label, i))
		switch rapid.IntRange(0, 6).Draw(rt, "what") {
		case 0, 1:
			_ = root.MkdirAll(filepath.Dir(at), 0o755)
			_ = root.WriteFile(at, []byte(rapid.SampledFrom([]string{"", "x", "long\x00er"}).Draw(rt, "bytes")), 0o644)
		case 2:
			_ = root.RemoveAll(at)
		case 3:
			_ = root.Rename(at, name.Draw(rt, "to"))
		case 4:
			_ = root.Symlink(rapid.SampledFrom([]string{"a", "../b", "../outside", "../../outside/file"}).Draw(rt, "target"), at)
		case 5:
			if info, err := root.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink == 0 {
				_ = root.Chmod(at, rapid.SampledFrom([]fs.FileMode{0o755, 0o700, 0o711}).Draw(rt, "mode"))
			}
		case 6:
			_ = root.MkdirAll(at, 0o755)
		}
	}
}

// FuzzSegment checks that a reader of arbitrary bytes never panics and trusts no length.
func FuzzSegment(f *testing.F) {
	whole := &memorySegment{}
	g := &segment{file: whole, known: map[Hash]span{}}
	if _, err := g.content(Hash{1}, []byte("bytes")); err != nil {
		f.Fatal(err)
	}
	for _, kind := range []byte{recordCheckpoint, recordEvent} {
		if err := g.record(kind, []byte(`{"id":"ck_1","ended":true,"before":[{"path":"/a","kind":"file"}],"changed":[{"path":"/a"}]}`), false); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(whole.bytes)
	f.Add(whole.bytes[:len(whole.bytes)-3])
	f.Fuzz(func(t *testing.T, data []byte) {
		v := newMemory()
		v.segments["x"+segmentExt] = &memorySegment{bytes: data}
		s := &Store{o: Options{}.withDefaults(), volume: v, views: map[string]*view{}}
		list, _ := s.List(Filter{Idle: true})
		for _, c := range list {
			_, _ = s.Diff(context.Background(), c.ID, ShowOptions{Hidden: show})
		}
	})
}
