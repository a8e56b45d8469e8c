package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/durable"
)

// TestTornAnywhere tears a segment at every byte. Every checkpoint that is whole must be listed, with its contents.
func TestTornAnywhere(t *testing.T) {
	d := newDesk(t, Options{})
	d.write("a.txt", "first", 0o644)
	var ends []int64 // size of the segment when each checkpoint was on the disk
	var ids []string
	for i := range 3 {
		taken, err := d.store.Take(context.Background(), Request{Workspace: d.dir, Paths: []Path{{Path: d.path("a.txt")}}})
		d.must(err)
		ids, ends = append(ids, taken.ID), append(ends, taken.segment.written())
		d.write("a.txt", fmt.Sprint("call ", i), 0o644)
		_, err = taken.End(context.Background())
		d.must(err)
	}
	names, err := filepath.Glob(filepath.Join(d.store.o.Dir, "*"+segmentExt))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	whole, err := os.ReadFile(names[0])
	d.must(err)
	for size := range len(whole) + 1 {
		dir := t.TempDir()
		torn := append(slices.Clone(whole[:size]), []byte("\x00\x00torn")...)
		d.must(os.WriteFile(filepath.Join(dir, filepath.Base(names[0])), torn, 0o600))
		s, err := Open(Options{Dir: dir})
		d.must(err)
		list, err := s.List(Filter{Idle: true})
		d.must(err)
		want := 0
		for _, end := range ends {
			if int64(size) >= end {
				want++
			}
		}
		if len(list) != want {
			t.Fatalf("torn at %d of %d: %d checkpoints, want %d", size, len(whole), len(list), want)
		}
		for _, id := range ids[:want] {
			if _, err := s.Diff(context.Background(), id, ShowOptions{Hidden: show}); err != nil {
				t.Fatalf("torn at %d: %v", size, err)
			}
		}
		d.must(s.Close())
	}
}

// TestStoppedProcess checks that a process stopped while it removes segments does not stop the calls of others.
func TestStoppedProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, Options{})
		d.write("a.txt", "first", 0o644)
		unlock, err := durable.TryLock(filepath.Join(d.store.o.Dir, sweepLock))
		d.must(err)
		ask := Request{Workspace: d.dir, Paths: []Path{{Path: d.path("a.txt")}}}
		if _, err = d.store.Take(t.Context(), ask); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("took a checkpoint without the lock: %v", err)
		}
		d.must(unlock())
		taken, err := d.store.Take(t.Context(), ask)
		d.must(err)
		_, err = taken.End(t.Context())
		d.must(err)
	})
}

// TestKilledWriters kills processes that keep and restore in the same store at random moments. What they reported as
// kept can be restored, and nothing that they left is in the way.
func TestKilledWriters(t *testing.T) {
	if dir := os.Getenv("CHECKPOINT_WRITER"); dir != "" {
		writeForever(t, dir)
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	d := newDesk(t, Options{MaxBytes: 4 << 20})
	for round := range 6 {
		var running sync.WaitGroup
		for w := range 2 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriters$")
			cmd.Env = append(os.Environ(), "CHECKPOINT_WRITER="+d.dir, "CHECKPOINT_STORE="+d.store.o.Dir, fmt.Sprint("CHECKPOINT_NUMBER=", w))
			d.must(cmd.Start())
			running.Go(func() {
				time.Sleep(time.Duration(30+rand.IntN(80)) * time.Millisecond)
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
		}
		running.Wait()
		list, err := d.store.List(Filter{Idle: true})
		d.must(err)
		for i, c := range list {
			if i > 20 {
				break
			}
			if _, err := d.store.Diff(context.Background(), c.ID, ShowOptions{Hidden: show}); err != nil && !strings.Contains(err.Error(), "no such") {
				t.Fatalf("round %d: %s: %v", round, c.ID, err)
			}
		}
	}
	// The state before the last call that began is there, whether or not the call ended.
	for w := range 2 {
		name := fmt.Sprintf("file%d", w)
		list, err := d.store.List(Filter{Path: d.path(name), Idle: true, Limit: 1})
		d.must(err)
		if len(list) == 0 {
			continue // killed before it began
		}
		done, err := d.store.Restore(context.Background(), list[0].ID, RestoreOptions{Force: true})
		d.must(err)
		if len(done.Failed) > 0 {
			t.Errorf("%+v", done)
		}
	}
	d.around(func() { d.write("file0", "after all", 0o644) }, Path{Path: d.path("file0")})
	d.must(d.store.volume.sweep(func(listed) bool { return false }))
	if left, err := filepath.Glob(filepath.Join(d.store.o.Dir, "*"+segmentExt+lockExt)); err != nil || len(left) > 1+2*6 {
		t.Errorf("locks are left: %v, %v", left, err)
	}
	if size := storeSize(t, d.store.o.Dir); size > 4<<20 {
		t.Errorf("%d bytes are kept, more than may be", size)
	}
}

func writeForever(t *testing.T, dir string) {
	s, err := Open(Options{Dir: os.Getenv("CHECKPOINT_STORE"), MaxBytes: 4 << 20})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "file"+os.Getenv("CHECKPOINT_NUMBER"))
	for i := 0; ; i++ {
		taken, err := s.Take(context.Background(), Request{Workspace: dir, Paths: []Path{{Path: path}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat(fmt.Sprint(i, " "), 5000)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := taken.End(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func storeSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		info, err := n.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// TestBounded keeps much more than the limit. CHECKPOINT_CALLS sets the number of calls; the documented figure comes
// from 10000.
func TestBounded(t *testing.T) {
	calls := 600
	if n := os.Getenv("CHECKPOINT_CALLS"); n != "" {
		if _, err := fmt.Sscan(n, &calls); err != nil {
			t.Fatal(err)
		}
	}
	for _, storage := range []string{"", "memory"} {
		d := newDesk(t, Options{Dir: storage, MaxBytes: 2 << 20})
		d.write("a.txt", "", 0o644)
		most, took := int64(0), make([]time.Duration, 0, calls)
		for i := range calls {
			began := time.Now()
			taken, err := d.store.Take(context.Background(), Request{Workspace: d.dir, Paths: []Path{{Path: d.path("a.txt")}}})
			d.must(err)
			inCall := time.Since(began)
			d.write("a.txt", strings.Repeat(fmt.Sprintf("%09d\n", i), 1024), 0o644)
			began = time.Now()
			_, err = taken.End(context.Background())
			d.must(err)
			took = append(took, inCall+time.Since(began))
			if storage == "" && i%50 == 0 {
				most = max(most, storeSize(t, d.store.o.Dir))
			}
		}
		slices.Sort(took)
		t.Logf("storage %q, %d calls of 10 KB: p50 %v, p99 %v, at most %d bytes", storage, calls, took[calls/2], took[calls*99/100], most)
		if most > 2<<20 {
			t.Errorf("%d bytes are kept, more than may be", most)
		}
		list, err := d.store.List(Filter{})
		d.must(err)
		if len(list) < 50 || len(list) == calls {
			t.Errorf("%d checkpoints are left", len(list))
		}
		if _, err := d.store.Diff(context.Background(), list[len(list)-1].ID, ShowOptions{Hidden: show}); err != nil {
			t.Errorf("the oldest that is left: %v", err)
		}
	}
}

func TestOldOnesGo(t *testing.T) {
	d := newDesk(t, Options{})
	d.fill()
	old := d.around(func() { d.write("a.txt", "1", 0o644) }, Path{Path: d.path("a.txt")})
	d.must(d.store.Close())
	long := time.Now().Add(-8 * 24 * time.Hour)
	names, err := filepath.Glob(filepath.Join(d.store.o.Dir, "*"+segmentExt))
	d.must(err)
	d.must(os.Chtimes(names[0], long, long))
	d.store = d.open(Options{Dir: d.store.o.Dir})
	d.around(func() { d.write("a.txt", "2", 0o644) }, Path{Path: d.path("a.txt")})
	list, err := d.store.List(Filter{})
	d.must(err)
	if len(list) != 1 || list[0].ID == old.ID {
		t.Errorf("%+v", list)
	}
}
