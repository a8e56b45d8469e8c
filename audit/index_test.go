package audit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/durable"
)

// manyRecords writes several blocks to two logs, with a rare word here and there.
func manyRecords(t testing.TB, dir string, records int) {
	t.Helper()
	var logs [2]*Log
	for i := range logs {
		l, err := Open(dir, Options{MaxFile: 700 << 10})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		logs[i] = l
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range records {
		r := Record{
			Event: Decision, CallID: fmt.Sprintf("call-%d", i), SessionID: fmt.Sprintf("session-%d", i/125), Worker: "default",
			Tool: fmt.Sprintf("fs_tool%d", i/250), Decision: "approved", Summary: strings.Repeat("reads a file ", 150),
		}
		if random.IntN(100) == 0 {
			r.Arguments = fmt.Appendf(nil, `{"path":"/srv/Zebra%d/x"}`, i)
			r.Decision = "denied"
		}
		if _, err := logs[random.IntN(2)].Append(r); err != nil {
			t.Fatal(err)
		}
	}
}

func indexFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"+indexExt))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestIndexChangesNoAnswer checks that an index changes no answer, whatever its state.
func TestIndexChangesNoAnswer(t *testing.T) {
	dir := t.TempDir()
	manyRecords(t, dir, 1000)
	filters := []Filter{
		{Text: "zebra"}, {Text: "ZEBRA", Limit: 3}, {Text: "zebra", Decision: "approved"}, {Text: "no such text"}, {Text: "eb"},
		{SessionID: "session-3"}, {SessionID: "nobody"}, {CallID: "call-17"}, {Calls: []string{"call-9", "call-999", "none"}},
		{Tool: "fs_tool2"}, {Tool: "fs_*2"}, {Decision: "denied"}, {Decision: "denied", SessionID: "session-1"}, {Worker: "other"}, {Since: time.Now()},
	}
	want := make([][]Record, len(filters))
	for i, f := range filters {
		want[i] = readAll(t, dir, f)
	}
	check := func(state string) {
		t.Helper()
		for i, f := range filters {
			if diff := cmp.Diff(want[i], readAll(t, dir, f)); diff != "" {
				t.Errorf("%s: %+v: want (-), got (+):\n%.2000s", state, f, diff)
			}
		}
	}
	build := func() {
		t.Helper()
		if err := BuildIndex(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	build()
	built := indexFiles(t, dir)
	if len(built) < 2 {
		t.Fatalf("%d indexes", len(built))
	}
	check("built")
	first, err := os.ReadFile(built[0])
	if err != nil || len(first) < 2*indexEntry {
		t.Fatalf("an index of %d bytes: %v", len(first), err)
	}
	build()
	if again, err := os.ReadFile(built[0]); err != nil || string(again) != string(first) {
		t.Errorf("building it again changes it: %v", err)
	}

	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(built[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(first[:indexEntry+100])
	check("half written")
	build()
	if mended, err := os.ReadFile(built[0]); err != nil || string(mended) != string(first) {
		t.Errorf("half an index is not made whole: %v", err)
	}
	zeroed := append([]byte(nil), first...)
	clear(zeroed[100:2000])
	put(zeroed)
	check("damaged")
	other, err := os.ReadFile(built[1])
	if err != nil {
		t.Fatal(err)
	}
	put(other)
	check("of another log")
	build()
	check("mended")

	manyRecords(t, dir, 250) // with the same calls
	for i, f := range filters {
		with := readAll(t, dir, f)
		for _, path := range indexFiles(t, dir) {
			if err := os.Rename(path, path+".away"); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(readAll(t, dir, f), with); diff != "" {
			t.Errorf("written since: %+v, filter %d: %.2000s", f, i, diff)
		}
		for _, path := range built {
			if err := os.Rename(path+".away", path); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestIndexSparesReading checks that a search without a result reads almost nothing of an indexed log.
func TestIndexSparesReading(t *testing.T) {
	dir := t.TempDir()
	manyRecords(t, dir, 1000)
	if err := BuildIndex(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	ends, err := logEnds(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range ends {
		path := filepath.Join(dir, end.name)
		f := Filter{Text: "crocodile"}
		lines := newBackward(pathReader(path), end.size)
		x := openIndex(path, end.size, f.sought())
		left := int64(0)
		for {
			if err := x.passOver(lines); err != nil {
				t.Fatal(err)
			}
			line, err := lines.line()
			if err != nil {
				break
			}
			left += int64(len(line))
		}
		if left > blockSize+(64<<10) {
			t.Errorf("%s: %d of %d bytes are read", end.name, left, end.size)
		}
	}
}

func TestIndexOfALogThatIsGoneIsRemoved(t *testing.T) {
	dir := t.TempDir()
	manyRecords(t, dir, 500)
	if err := BuildIndex(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	built := indexFiles(t, dir)
	if err := os.Remove(strings.TrimSuffix(built[0], indexExt)); err != nil {
		t.Fatal(err)
	}
	if err := BuildIndex(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if got, want := len(indexFiles(t, dir)), len(built)-1; got != want {
		t.Errorf("%d indexes are left, want %d", got, want)
	}
}

func TestIndexOfAFolderThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	lock := filepath.Join(dir, "index"+lockExt)
	unlock, err := durable.TryLock(lock)
	if err != nil {
		t.Fatal(err)
	}
	if err := BuildIndex(t.Context(), dir); err != nil {
		t.Errorf("while another builds them: %v", err)
	}
	if err := errors.Join(unlock(), os.Remove(lock), os.Mkdir(lock, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := BuildIndex(t.Context(), dir); err == nil {
		t.Error("no word of a lock that cannot be made")
	}
	if err := BuildIndex(t.Context(), filepath.Join(dir, "none")); err != nil {
		t.Errorf("without a folder: %v", err)
	}
}
