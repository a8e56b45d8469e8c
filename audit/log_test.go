package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write makes a closed log of n records in dir and returns them.
func write(t testing.TB, dir string, n int) []Record {
	t.Helper()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	records := appendN(t, l, n)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return records
}

func appendN(t testing.TB, l *Log, n int) []Record {
	t.Helper()
	var records []Record
	for i := range n {
		r := typical()
		r.CallID = fmt.Sprintf("call_%016d", i)
		r, err := l.Append(r)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// readAll returns the records in dir, oldest first.
func readAll(t testing.TB, dir string, f Filter) []Record {
	t.Helper()
	var records []Record
	for r, err := range Read(dir, f) {
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	slices.Reverse(records)
	return records
}

// verify fails the test if Verify finds anything.
func verify(t testing.TB, dir string, anchored ...Head) Report {
	t.Helper()
	r, err := Verify(dir, anchored...)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range r.Breaks {
		t.Errorf("Verify: %v", b)
	}
	return r
}

func TestWhatAppendReturnsIsWhatReadFinds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	full := Record{
		Seq: 99, Prev: "forged", Hash: "forged", Time: time.Unix(0, 0), // Append sets all four
		Event: Outcome, CallID: "c1", SessionID: "s1", Worker: "w", Agent: "a", Server: "srv", Tool: "srv_t", Kind: "k",
		Decision: "approved", Risk: "WRITE", By: "web:alice", Rule: "r\"\n\x00", Reason: "\u202Eevil", Summary: "bad utf-8: \xff",
		Digest: "d", Arguments: []byte("{\n \"n\": 1.50e+2, \"n\": -0, \"b\": [ ] }"), IsError: true, Error: "e", Duration: 1.25,
		Subjects: []Subject{{Tool: "srv_t", Action: "ask", Risk: "WRITE"}, {Tool: "x", Kind: "y", Value: "z", Action: "allow", Rule: "q", Risk: "NETWORK"}},
	}
	var written []Record
	for _, r := range []Record{full, {Event: Control, Summary: "autonomy set to MANUAL"}, {}} {
		got, err := l.Append(r)
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	first := written[0]
	if first.Seq != 1 || first.Prev == "forged" || len(first.Hash) != 64 || time.Since(first.Time) > time.Minute {
		t.Errorf("Append set Seq %d, Time %v, Prev %q, Hash %q", first.Seq, first.Time, first.Prev, first.Hash)
	}
	if want := `{"n":1.50e+2,"n":-0,"b":[]}`; string(first.Arguments) != want {
		t.Errorf("arguments %s, want %s", first.Arguments, want)
	}
	if want := "bad utf-8: \uFFFD"; first.Summary != want {
		t.Errorf("summary %q, want %q", first.Summary, want)
	}
	for i, r := range written[1:] {
		if r.Prev != written[i].Hash {
			t.Errorf("record %d follows %s, want %s", r.Seq, r.Prev, written[i].Hash)
		}
	}
	if diff := cmp.Diff(written, readAll(t, dir, Filter{})); diff != "" {
		t.Errorf("written (-) and read (+):\n%s", diff)
	}
	lines := readLines(t, onlyLog(t, dir))
	for i, r := range written {
		if got := string(r.AppendJSON(nil)); got != lines[i] {
			t.Errorf("AppendJSON %s\nis not the line %s", got, lines[i])
		}
	}
	verify(t, dir)
}

func onlyLog(t testing.TB, dir string) string {
	t.Helper()
	ends, err := logEnds(dir)
	if err != nil || len(ends) != 1 {
		t.Fatalf("%d logs, %v: want one", len(ends), err)
	}
	return filepath.Join(dir, ends[0].name)
}

func readLines(t testing.TB, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func TestFilesAreTheOwnersOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits")
	}
	dir := filepath.Join(t.TempDir(), "data", "audit")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("folder has mode %v", info.Mode())
	}
	names, _ := os.ReadDir(dir)
	if len(names) != 4 {
		t.Errorf("%v: want a log, its lock, the manifest and its lock", names)
	}
	for _, name := range names {
		if info, _ := name.Info(); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name.Name(), info.Mode())
		}
	}
}

func TestRotationContinuesTheChain(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{MaxFile: 2500})
	if err != nil {
		t.Fatal(err)
	}
	written := appendN(t, l, 10)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, readAll(t, dir, Filter{})); diff != "" {
		t.Errorf("written (-) and read (+):\n%s", diff)
	}
	report := verify(t, dir)
	if len(report.Logs) < 3 || report.Records != 10 {
		t.Errorf("%d files, %d records: want at least 3 and 10", len(report.Logs), report.Records)
	}
	for _, log := range report.Logs {
		if log.State != Closed {
			t.Errorf("%s is %s", log.File, log.State)
		}
	}
}

func TestConcurrentAppends(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{MaxFile: 100 << 10, SyncEvery: time.Millisecond, AnchorEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				if _, err := l.Append(typical()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Go(func() {
		for range 5 {
			if r, err := Verify(dir); err != nil || !r.OK() {
				t.Errorf("Verify while writing: %v %v", r.Breaks, err)
			}
		}
	})
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir); r.Records != 800 {
		t.Errorf("%d records, want 800", r.Records)
	}
}

func TestManyProcessesShareOneManifest(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() { write(t, dir, 5) })
	}
	wg.Wait()
	r := verify(t, dir)
	if len(r.Logs) != 10 || r.Records != 50 || r.Manifest.Seq != 20 {
		t.Errorf("%d logs, %d records, %d manifest entries: want 10, 50, 20", len(r.Logs), r.Records, r.Manifest.Seq)
	}
}

func TestClosedLogRefuses(t *testing.T) {
	l, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if r, err := l.Append(typical()); !errors.Is(err, ErrClosed) || r.Seq != 0 {
		t.Errorf("Append after Close: record %d, %v", r.Seq, err)
	}
}

func TestLargeRecordsAreCutToTheCap(t *testing.T) {
	manySubjects := make([]Subject, 2000)
	for i := range manySubjects {
		manySubjects[i] = Subject{Tool: "t", Value: strings.Repeat("\x01", 3000), Action: "deny", Risk: "UNKNOWN"}
	}
	everyString := strings.Repeat("\x01", 1<<20)
	for name, r := range map[string]Record{
		"arguments": {Arguments: []byte(`[` + strings.Repeat(`"0123456789",`, 50_000) + `0]`)},
		"subjects":  {Subjects: manySubjects},
		"all": {
			Event: Event(everyString), CallID: everyString, SessionID: everyString, Worker: everyString, Agent: everyString,
			Server: everyString, Tool: everyString, Kind: everyString, Decision: everyString, Risk: everyString, By: everyString,
			Rule: everyString, Reason: everyString, Summary: everyString, Digest: everyString, Error: everyString,
			Arguments: []byte(everyString), Subjects: manySubjects,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			const limit = 32 << 10
			l, err := Open(dir, Options{MaxRecord: limit})
			if err != nil {
				t.Fatal(err)
			}
			written, err := l.Append(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			if line := readLines(t, onlyLog(t, dir))[0]; len(line) >= limit {
				t.Errorf("line of %d bytes", len(line))
			}
			if got := len(written.Subjects) + written.Omitted; got != len(r.Subjects) {
				t.Errorf("%d subjects kept or counted, want %d", got, len(r.Subjects))
			}
			if name == "arguments" && !strings.HasPrefix(string(written.Arguments), `{"$omitted":{"bytes":650003,"sha256":"`) {
				t.Errorf("arguments %s", written.Arguments)
			}
			if diff := cmp.Diff([]Record{written}, readAll(t, dir, Filter{})); diff != "" {
				t.Errorf("written (-) and read (+):\n%s", diff)
			}
			verify(t, dir)
		})
	}
}

func TestTimesNeverFall(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l.last = time.Now().UTC().Add(time.Hour).Round(0) // as if the clock was set back by an hour
	for _, r := range appendN(t, l, 3) {
		if !r.Time.Equal(l.last) {
			t.Errorf("record %d at %v, want %v", r.Seq, r.Time, l.last)
		}
	}
}

func TestSyncAndAnchorAreBatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &faultyDisk{}
		var mu sync.Mutex
		var anchored []Head
		heads := func() []Head {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(anchored)
		}
		anchor := func(h Head) {
			mu.Lock()
			defer mu.Unlock()
			anchored = append(anchored, h)
		}
		l, err := open(t.TempDir(), Options{Anchor: anchor}, d)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		synced := d.count("sync log")
		appendN(t, l, 100)
		time.Sleep(150 * time.Millisecond)
		if n := d.count("sync log") - synced; n != 0 {
			t.Errorf("%d syncs before the interval", n)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if n := d.count("sync log") - synced; n != 1 {
			t.Errorf("%d syncs for one batch", n)
		}
		if h := heads(); len(h) != 1 {
			t.Errorf("heads before the minute: %v", h)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if h := heads(); len(h) != 2 || h[1].Seq != 2 || h[1].File != manifestName {
			t.Errorf("heads after the minute: %v", h)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := d.count("sync log") - synced; n != 2 {
			t.Errorf("an idle log was synced: %d", n)
		}
		if h := heads(); len(h) != 2 {
			t.Errorf("an idle log was anchored: %v", h)
		}
	})
}

func TestForeignHandsBreakTheLog(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file is protected there")
	}
	for name, foul := range map[string]func(path string) error{
		"removed": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".x"), os.WriteFile(path, nil, 0o600))
		},
		"cut": func(path string) error { return os.Truncate(path, 10) },
		"appended": func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("x\n")
			return errors.Join(err, f.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := Open(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			appendN(t, l, 3)
			if err := foul(onlyLog(t, dir)); err != nil {
				t.Fatal(err)
			}
			l.sync()
			if _, err := l.Append(typical()); err == nil {
				t.Error("Append goes on")
			}
			if err := l.Close(); err == nil {
				t.Error("Close says nothing")
			}
		})
	}
}
