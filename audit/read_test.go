package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/testserver/waits"
)

// interleaved makes two logs written in turns and returns all records, oldest first.
func interleaved(t testing.TB, dir string) []Record {
	t.Helper()
	var logs [2]*Log
	for i := range logs {
		l, err := Open(dir, Options{MaxFile: 3000})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		logs[i] = l
	}
	var written []Record
	for i := range 30 {
		r, err := logs[i%2].Append(Record{
			Event: Decision, CallID: fmt.Sprintf("c%d", i), SessionID: fmt.Sprintf("s%d", i%3),
			Tool:     []string{"fs_read", "fs_write", "web_get"}[i%3],
			Decision: []string{"approved", "denied"}[i%2], Summary: strings.Repeat("x", i*50),
		})
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, r)
		time.Sleep(time.Microsecond)
	}
	return written
}

func TestReadFilters(t *testing.T) {
	dir := t.TempDir()
	written := interleaved(t, dir)
	for _, tt := range []struct {
		name   string
		filter Filter
		keep   func(i int, r Record) bool
	}{
		{"all", Filter{}, func(int, Record) bool { return true }},
		{"session", Filter{SessionID: "s1"}, func(_ int, r Record) bool { return r.SessionID == "s1" }},
		{"call", Filter{CallID: "c7"}, func(_ int, r Record) bool { return r.CallID == "c7" }},
		{"decision", Filter{Decision: "denied"}, func(_ int, r Record) bool { return r.Decision == "denied" }},
		{"tool", Filter{Tool: "fs_read"}, func(_ int, r Record) bool { return r.Tool == "fs_read" }},
		{"tool glob", Filter{Tool: "fs_*"}, func(_ int, r Record) bool { return strings.HasPrefix(r.Tool, "fs_") }},
		{"since", Filter{Since: written[20].Time}, func(_ int, r Record) bool { return !r.Time.Before(written[20].Time) }},
		{"limit", Filter{Limit: 4}, func(i int, _ Record) bool { return i >= 26 }},
		{"session and limit", Filter{SessionID: "s0", Limit: 2}, func(i int, _ Record) bool { return i == 24 || i == 27 }},
		{"none", Filter{SessionID: "nobody"}, func(int, Record) bool { return false }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []Record
			for i, r := range written {
				if tt.keep(i, r) {
					want = append(want, r)
				}
			}
			if diff := cmp.Diff(want, readAll(t, dir, tt.filter)); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestReadRefusesABadFilter(t *testing.T) {
	for _, f := range []Filter{{Tool: "["}, {Limit: -1}} {
		n := 0
		for _, err := range Read(t.TempDir(), f) {
			if n++; err == nil {
				t.Errorf("%+v yields a record", f)
			}
		}
		if n != 1 {
			t.Errorf("%+v yields %d errors", f, n)
		}
	}
}

func TestReadOfNothing(t *testing.T) {
	for r, err := range Read(filepath.Join(t.TempDir(), "none"), Filter{}) {
		t.Errorf("%v, %v", r, err)
	}
}

func TestReadGoesOnAfterGarbage(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, 4)
	edit(t, onlyLog(t, dir), onLines(func(l []string) []string {
		l[1] = "garbage\n"
		return append(l, `{"seq":5,"torn`)
	}))
	var seqs []uint64
	failed := 0
	for r, err := range Read(dir, Filter{}) {
		if err != nil {
			failed++
			continue
		}
		seqs = append(seqs, r.Seq)
	}
	if failed != 1 || !slices.Equal(seqs, []uint64{4, 3, 1}) {
		t.Errorf("%d errors, records %v: want 1 and 4 3 1", failed, seqs)
	}
}

func TestBackwardReadsEveryLine(t *testing.T) {
	for _, size := range []int{0, 1, 100, firstBlock - 1, firstBlock, firstBlock + 1, 3 * firstBlock, lastBlock, 2 * lastBlock} {
		want := []string{"first", strings.Repeat("x", size), "", strings.Repeat("y", size/2), "last"}
		text := strings.Join(want, "\n") + "\ntorn"
		b := newBackward(strings.NewReader(text), int64(len(text)))
		var got []string
		for {
			line, err := b.line()
			if err != nil {
				break
			}
			got = append(got, string(line))
		}
		slices.Reverse(got)
		if !slices.Equal(got, want) {
			t.Errorf("size %d: %d lines %.100q", size, len(got), got)
		}
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	past := write(t, dir, 5)
	l, err := Open(dir, Options{MaxFile: 1500})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := append(slices.Clone(past[3:]), appendN(t, l, 1)...)
	ctx, cancel := context.WithTimeout(t.Context(), waits.Limit)
	defer cancel()
	var got []Record
	for r, err := range Follow(ctx, dir, Filter{Limit: 3, Tool: "commands_*", Text: "Commands_"}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
		if len(got) == 3 { // the past is read: now two rotations, and a new log
			if _, err := l.Append(Record{Tool: "other"}); err != nil {
				t.Fatal(err)
			}
			want = append(want, appendN(t, l, 4)...)
			want = append(want, write(t, dir, 1)...)
		}
		if len(got) == 8 {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestFollowWaitsForTheWholeLine(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, 2)
	path := onlyLog(t, dir)
	lines := readLines(t, path)
	if err := os.WriteFile(path, []byte(lines[0]+"\n"+lines[1][:20]), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waits.Limit)
	defer cancel()
	go func() {
		time.Sleep(followEvery + followEvery/2)
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			f.WriteString(lines[1][20:] + "\n")
			f.Close()
		}
	}()
	for r, err := range Follow(ctx, dir, Filter{}) {
		if err != nil || r.Seq != 2 {
			t.Errorf("record %d, %v", r.Seq, err)
		}
		return
	}
	t.Error("the line never came")
}

// FuzzReadAndVerify checks that garbage in a log or the manifest crashes nothing, and that Verify rejects it.
func FuzzReadAndVerify(f *testing.F) {
	dir := f.TempDir()
	write(f, dir, 2)
	path := onlyLog(f, dir)
	log, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(log, manifest)
	f.Add(log[:len(log)-10], manifest)
	f.Add(log, manifest[:len(manifest)/2])
	f.Add([]byte("\n\n{}\n[]\nnull\n\x00"), []byte("{}\n"))
	f.Add([]byte{}, []byte{})
	name := filepath.Base(path)
	f.Fuzz(func(t *testing.T, newLog, newManifest []byte) {
		dir := t.TempDir()
		for file, content := range map[string][]byte{name: newLog, manifestName: newManifest} {
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		records := 0
		for _, err := range Read(dir, Filter{}) {
			if err == nil {
				records++
			}
		}
		r, err := Verify(dir)
		if err != nil {
			t.Fatal(err)
		}
		if r.Records > records {
			t.Errorf("Verify counts %d records, Read %d", r.Records, records)
		}
		// A chain of other records would need a preimage: whole logs are the original or its beginning.
		if r.OK() && r.Records > 0 && !strings.HasPrefix(string(log), string(newLog)) && !strings.HasPrefix(string(newLog), string(log)) {
			t.Errorf("accepted:\n%s\n%s", newLog, newManifest)
		}
	})
}

// TestLinesThatArePassedOver checks that a filter selects the same records whether lines are skipped or read.
func TestLinesThatArePassedOver(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		r := Record{Event: Decision, CallID: fmt.Sprintf("c%d", i), SessionID: []string{"s1", "s\"2", "s1\n"}[i%3], Tool: []string{"a_x", "a_y"}[i%2], Worker: "w", Decision: []string{"denied", "approved"}[i/2%2], Summary: `"sessionId":"s1"`}
		if _, err := l.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range []Filter{{SessionID: "s1"}, {SessionID: "s\"2", Tool: "a_y"}, {SessionID: "s1\n"}, {SessionID: "s"}, {Tool: "a_x", Decision: "denied"}, {Tool: "a_*", CallID: "c7"}, {Worker: "w", CallID: "c7"}, {Worker: "v"}, {Tool: "[", CallID: "x"}} {
		var want, got []string
		for r, err := range Read(dir, Filter{}) {
			if err == nil && f.match(&r) {
				want = append(want, r.CallID)
			}
		}
		for r, err := range Read(dir, f) {
			if err == nil {
				got = append(got, r.CallID)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", f, got, want)
		}
	}
}
