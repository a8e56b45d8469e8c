package audit

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var errInjected = errors.New("injected failure")

// faultyDisk counts operations and fails some of them.
type faultyDisk struct {
	osDisk
	failAt  int   // number of the operation that fails; 0: none
	onwards bool  // all later operations fail too
	err     error // the error of failed operations; nil: errInjected
	halves  int   // how much a failing write still writes: 0 nothing, 1 half, 2 all

	mu  sync.Mutex
	ops []string
}

func (d *faultyDisk) op(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ops = append(d.ops, name)
	if n := len(d.ops); n == d.failAt || d.onwards && d.failAt > 0 && n > d.failAt {
		if d.err != nil {
			return fmt.Errorf("%s: %w", name, d.err)
		}
		return fmt.Errorf("%s: %w", name, errInjected)
	}
	return nil
}

func (d *faultyDisk) count(name string) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, op := range d.ops {
		if op == name {
			n++
		}
	}
	return n
}

func (d *faultyDisk) makeDir(dir string) error {
	if err := d.op("mkdir"); err != nil {
		return err
	}
	return d.osDisk.makeDir(dir)
}

func (d *faultyDisk) create(path string) (file, error) {
	if err := d.op("create"); err != nil {
		return nil, err
	}
	f, err := d.osDisk.create(path)
	return &faultyFile{f, d, " log"}, err
}

func (d *faultyDisk) openAppend(path string) (file, error) {
	if err := d.op("open"); err != nil {
		return nil, err
	}
	f, err := d.osDisk.openAppend(path)
	return &faultyFile{f, d, " manifest"}, err
}

func (d *faultyDisk) syncDir(dir string) error {
	if err := d.op("sync folder"); err != nil {
		return err
	}
	return d.osDisk.syncDir(dir)
}

func (d *faultyDisk) remove(path string) error {
	if err := d.op("remove"); err != nil {
		return err
	}
	return d.osDisk.remove(path)
}

func (d *faultyDisk) lock(path string, wait time.Duration) (io.Closer, error) {
	if err := d.op("lock"); err != nil {
		return nil, err
	}
	l, err := d.osDisk.lock(path, wait)
	if err != nil {
		return nil, err
	}
	return faultyCloser{l, d}, nil
}

// faultyCloser releases the lock even when it fails, as the end of the process would.
type faultyCloser struct {
	io.Closer
	disk *faultyDisk
}

func (c faultyCloser) Close() error { return errors.Join(c.Closer.Close(), c.disk.op("unlock")) }

type faultyFile struct {
	file
	disk *faultyDisk
	of   string
}

func (f *faultyFile) Write(b []byte) (int, error) {
	if err := f.disk.op("write" + f.of); err != nil {
		n, failed := f.file.Write(b[:f.disk.halves*len(b)/2])
		return n, errors.Join(err, failed)
	}
	return f.file.Write(b)
}

func (f *faultyFile) Sync() error {
	if err := f.disk.op("sync" + f.of); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *faultyFile) Truncate(size int64) error {
	if err := f.disk.op("truncate" + f.of); err != nil {
		return err
	}
	return f.file.Truncate(size)
}

func (f *faultyFile) Close() error { return errors.Join(f.file.Close(), f.disk.op("close"+f.of)) }

// story is the life of a log: it opens next to an abandoned one, rotates, vouches and closes. It returns the
// acknowledged records.
func story(t *testing.T, dir string, d *faultyDisk) (acknowledged []Record, failed error) {
	abandon(t, dir)
	l, err := open(dir, Options{MaxFile: 2500, SyncEvery: time.Hour, AnchorEvery: time.Hour}, d)
	if err != nil {
		return nil, err
	}
	for i := range 8 {
		if i == 2 {
			l.vouch()
		}
		r, err := l.Append(typical())
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		acknowledged = append(acknowledged, r)
	}
	return acknowledged, errors.Join(failed, l.Close())
}

// abandon leaves a log as a killed process does.
func abandon(t *testing.T, dir string) {
	t.Helper()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	appendN(t, l, 2)
	close(l.stop)
	<-l.done
	if err := errors.Join(l.segment.file.Close(), l.segment.lock.Close()); err != nil {
		t.Fatal(err)
	}
}

type faultyMode struct {
	onwards bool
	halves  int
}

// TestEachOperationFailsOnce checks that, whatever operation fails, acknowledged records are there, and that nothing
// looks like tampering after another process has opened the folder.
func TestEachOperationFailsOnce(t *testing.T) {
	counter := &faultyDisk{}
	if _, err := story(t, t.TempDir(), counter); err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{"mkdir", "create", "open", "lock", "unlock", "remove", "sync folder", "write log", "write manifest", "sync log", "sync manifest", "close log", "close manifest"} {
		if counter.count(op) == 0 {
			t.Errorf("the story has no %q: %v", op, counter.ops)
		}
	}
	for n := range counter.ops {
		for _, mode := range []faultyMode{{false, 0}, {true, 0}, {false, 1}, {true, 1}, {false, 2}, {true, 2}} {
			if mode.halves > 0 && !strings.HasPrefix(counter.ops[n], "write") {
				continue
			}
			d := &faultyDisk{failAt: n + 1, onwards: mode.onwards, halves: mode.halves}
			name := fmt.Sprintf("%02d %s onwards=%t halves=%d", n+1, counter.ops[n], d.onwards, d.halves)
			t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
				t.Parallel() // most of the time it waits for the disk
				dir := t.TempDir()
				acknowledged, err := story(t, dir, d)
				if !errors.Is(err, errInjected) {
					t.Errorf("the story ends with %v", err)
				}
				verify(t, dir)
				write(t, dir, 1)
				report := verify(t, dir)
				for _, log := range report.Logs {
					if log.State != Closed && log.State != Sealed && log.Records > 0 {
						t.Errorf("%s is %s after another process was there", log.File, log.State)
					}
				}
				there := make(map[string]bool)
				for _, r := range readAll(t, dir, Filter{}) {
					there[r.Hash] = true
				}
				for _, r := range acknowledged {
					if !there[r.Hash] {
						t.Errorf("record %d was acknowledged and is not there", r.Seq)
					}
				}
			})
		}
	}
}

func TestShortWriteBreaksTheLogForGood(t *testing.T) {
	d := &faultyDisk{halves: 1}
	l, err := open(t.TempDir(), Options{SyncEvery: time.Hour}, d)
	if err != nil {
		t.Fatal(err)
	}
	appendN(t, l, 1)
	d.failAt = len(d.ops) + 1
	for range 3 {
		if _, err := l.Append(typical()); !errors.Is(err, errInjected) {
			t.Errorf("Append: %v", err)
		}
	}
	if err := l.Close(); !errors.Is(err, errInjected) {
		t.Errorf("Close: %v", err)
	}
}

func TestFullDiskThatIsCleanedUp(t *testing.T) {
	dir := t.TempDir()
	d := &faultyDisk{}
	l, err := open(dir, Options{SyncEvery: time.Hour}, d)
	if err != nil {
		t.Fatal(err)
	}
	appendN(t, l, 1)
	d.failAt = len(d.ops) + 1 // nothing is written, so the chain stands
	if _, err := l.Append(typical()); !errors.Is(err, errInjected) {
		t.Errorf("Append on a full disk: %v", err)
	}
	if r, err := l.Append(typical()); err != nil || r.Seq != 2 {
		t.Errorf("Append after it: record %d, %v", r.Seq, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	verify(t, dir)
}

// TestARoomyDiskAgain checks that a log resumes by itself after a full disk, whichever operation failed, and says so.
func TestARoomyDiskAgain(t *testing.T) {
	for name, run := range map[string]func(l *Log, d *faultyDisk){
		"a write":         func(l *Log, d *faultyDisk) {},
		"half a write":    func(l *Log, d *faultyDisk) { d.halves = 1 },
		"a whole write":   func(l *Log, d *faultyDisk) { d.halves = 2 },
		"a sync":          func(l *Log, d *faultyDisk) { l.sync() },
		"the manifest":    func(l *Log, d *faultyDisk) { l.vouch() },
		"half a manifest": func(l *Log, d *faultyDisk) { d.halves = 1; l.vouch() },
		"a new file":      func(l *Log, d *faultyDisk) { l.options.MaxFile = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			d := &faultyDisk{err: errFull, onwards: true}
			var told []error
			l, err := open(dir, Options{SyncEvery: time.Hour, AnchorEvery: time.Hour, Trouble: func(err error) { told = append(told, err) }}, d)
			if err != nil {
				t.Fatal(err)
			}
			appendN(t, l, 3)
			d.failAt = len(d.ops) + 1
			run(l, d)
			for range 4 {
				if r, err := l.Append(typical()); !errors.Is(err, errFull) {
					t.Errorf("Append on a full disk: %d, %v", r.Seq, err)
				}
			}
			d.failAt, d.halves = 0, 0
			l.options.MaxFile = 1 << 20
			r, err := l.Append(typical())
			if err != nil {
				t.Fatalf("with room again: %v", err)
			}
			appendN(t, l, 2)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			verify(t, dir)
			all := readAll(t, dir, Filter{})
			if len(all) < 7 || len(all) > 8 || !slices.ContainsFunc(all, func(one Record) bool { return one.Hash == r.Hash }) { // one refused record may be there
				t.Errorf("%d records", len(all))
			}
			if !slices.ContainsFunc(all, func(r Record) bool {
				return strings.Contains(r.Summary, "could not be written") && strings.Contains(r.Summary, "4 records")
			}) {
				t.Error("the trail does not say that there was a gap")
			}
			if len(told) != 2 || !errors.Is(told[0], errFull) || told[1] != nil {
				t.Errorf("told %v", told)
			}
		})
	}
}
