package rag

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"callgate/rag/internal/hostile"
)

// manyFiles writes a workspace that needs several segments.
func manyFiles(t testing.TB, root string, n int) {
	t.Helper()
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("d%d/f%d.py", i%7, i)] = fmt.Sprintf("def function_%d():\n%s", i, strings.Repeat(fmt.Sprintf("    value_%d = compute(value)\n", i), 40))
	}
	writeFiles(t, root, files)
}

// TestDamage damages every file of an index in turn. The index must report the damage, must not serve damaged data, and
// must be repaired by a Sync.
func TestDamage(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, project)
	intact := t.TempDir()
	x, err := Open(intact, Options{})
	if err != nil {
		t.Fatal(err)
	}
	syncs(t, x, root)
	if err := errors.Join(x.Add(t.Context(), Document{ID: "note", Text: "gardens"}), x.Close()); err != nil {
		t.Fatal(err)
	}
	var files []string
	err = filepath.WalkDir(intact, func(path string, f fs.DirEntry, err error) error {
		if err == nil && !f.IsDir() && f.Name() != lockName && f.Name() != previousName {
			path, err = filepath.Rel(intact, path)
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		for name, damage := range map[string]func([]byte) []byte{
			"a bit":   func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
			"cut off": func(b []byte) []byte { return b[:len(b)/2] },
			"empty":   func([]byte) []byte { return nil },
			"longer":  func(b []byte) []byte { return append(b, b...) },
			"gone":    nil,
		} {
			t.Run(f+" "+name, func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(intact)); err != nil {
					t.Fatal(err)
				}
				path := filepath.Join(dir, f)
				if damage == nil {
					err = os.Remove(path)
				} else {
					var data []byte
					if data, err = os.ReadFile(path); err == nil {
						err = os.WriteFile(path, damage(data), 0o600)
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				var said bytes.Buffer
				x := open(t, dir, Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
				hits, err := x.Search(t.Context(), Query{Text: "refreshToken"})
				lost := f == manifestName && name == "gone" // an index without manifest is a new one
				if damaged := (*DamagedError)(nil); !lost && !errors.As(err, &damaged) {
					t.Errorf("searching says %v, %v", hits, err)
				}
				syncs(t, x, root)
				if !lost && !strings.Contains(said.String(), "damaged") {
					t.Errorf("Sync says nothing: %q", said.String())
				}
				if got := first(t, x, "refreshToken"); got != "server/token.go" {
					t.Errorf("after Sync it finds %q", got)
				}
				if s, err := x.Stats(); err != nil || s.Files != 6 {
					t.Errorf("after Sync it has %+v, %v", s, err)
				}
			})
		}
	}
}

// TestDiskFails makes each step of writing fail, as on a full disk. The old content must stay searchable, and the next
// attempt must succeed.
func TestDiskFails(t *testing.T) {
	root, before := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	x, err := Open(before, Options{})
	if err != nil {
		t.Fatal(err)
	}
	syncs(t, x, root)
	for i := range maxSmall - 1 { // the next one merges
		if err := x.Add(t.Context(), Document{ID: fmt.Sprint(i), Text: "gardens and trees"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	change := func(x *Index) error {
		return x.Add(context.Background(), Document{ID: "last", Text: "gardens and trees"})
	}
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	at := 0
	for ; ; at++ {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(before)); err != nil {
			t.Fatal(err)
		}
		x := open(t, dir, Options{})
		n := 0
		x.disk.fail = func(string, string) error {
			if n++; n > at {
				return full
			}
			return nil
		}
		err := change(x)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("step %d fails, and the change says %v", at, err)
		}
		x.disk.fail = nil
		for _, y := range []*Index{x, open(t, dir, Options{})} {
			if got := first(t, y, "refreshToken"); got != "server/token.go" {
				t.Fatalf("after step %d failed, it finds %q", at, got)
			}
		}
		if err := change(x); err != nil {
			t.Fatalf("after step %d failed, trying again: %v", at, err)
		}
		if s, err := x.Stats(); err != nil || s.Documents != maxSmall || s.Files != 6 {
			t.Fatalf("after step %d failed, stats %+v, %v", at, s, err)
		}
		left, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range left {
			if strings.HasSuffix(f.Name(), temporary) {
				t.Errorf("after step %d failed, %s is left", at, f.Name())
			}
		}
	}
	if at < 20 {
		t.Errorf("only %d steps: the merge was not among them", at)
	}
}

// TestWaitsForWriter holds the lock like another process.
func TestWaitsForWriter(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	x := open(t, dir, Options{})
	syncs(t, x, root)
	other := flock.New(filepath.Join(dir, lockName))
	if err := other.Lock(); err != nil {
		t.Fatal(err)
	}
	if got := first(t, x, "refreshToken"); got != "server/token.go" {
		t.Errorf("while another writes it finds %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := x.Sync(ctx, root, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting ended with %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := x.Sync(t.Context(), root, nil)
		done <- err
	}()
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCancel(t *testing.T) {
	root := t.TempDir()
	manyFiles(t, root, 300)
	x := open(t, t.TempDir(), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := x.Sync(ctx, root, func(e Event) {
		if e.Indexed == 100 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a cancelled Sync says %v", err)
	}
	if s := syncs(t, x, root); s.Files != 300 {
		t.Errorf("after it, Sync says %+v", s)
	}
}

// TestKilledWriter kills indexing processes at different moments. The index must open, serve only what is true, and be
// complete after a Sync.
func TestKilledWriter(t *testing.T) {
	if dir := os.Getenv("CALLGATE_TEST_INDEX"); dir != "" {
		x, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("ready")
		for i := 0; ; i++ { // keep changing until killed
			err := x.Add(t.Context(), Document{ID: fmt.Sprint("n", i%20), Text: fmt.Sprint("note ", i, strings.Repeat(" gardens", i%50))})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if testing.Short() {
		t.Skip("starts processes")
	}
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	x := open(t, dir, Options{})
	syncs(t, x, root)
	for i := range 8 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), "CALLGATE_TEST_INDEX="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatal(line, err)
		}
		for end := time.Now().Add(time.Duration(20+13*i) * time.Millisecond); time.Now().Before(end); {
			if got := first(t, x, "refreshToken"); got != "server/token.go" {
				t.Fatalf("while it writes, this process finds %q", got)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // killed
		y := open(t, dir, Options{})
		for _, z := range []*Index{x, y} {
			if got := first(t, z, "refreshToken"); got != "server/token.go" {
				t.Fatalf("after the kill it finds %q", got)
			}
		}
		if s := syncs(t, y, root); s.Files != 6 || s.Changed != 0 && i > 0 {
			t.Errorf("after the kill Sync says %+v", s)
		}
	}
	if err := x.Add(t.Context(), Document{ID: "last", Text: "last"}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 3+3*2*(maxSmall+3) {
		t.Errorf("%d files are left behind", len(files))
	}
}

// TestHostileWorkspace indexes malicious files, and a great many tiny ones.
func TestHostileWorkspace(t *testing.T) {
	root := t.TempDir()
	files := map[string]string{"found.go": "package found\n\nfunc NeedleInHaystack() {}\n", "line.txt": strings.Repeat("word ", 2<<20)}
	for name, text := range hostile.Texts() {
		for _, ext := range []string{".go", ".md", ".py"} {
			files["hostile "+name+ext] = text
		}
	}
	for i := range 2000 {
		files[fmt.Sprintf("tiny/%d/%d.txt", i%50, i)] = fmt.Sprint("tiny ", i)
	}
	writeFiles(t, root, files)
	x := open(t, t.TempDir(), Options{})
	s := syncs(t, x, root)
	if s.Files < 2001 || s.Files+s.Skipped != len(files) {
		t.Errorf("%+v of %d files", s, len(files))
	}
	for q, want := range map[string]string{"NeedleInHaystack": "found.go", "tiny 1234": "tiny/34/1234.txt"} {
		if got := first(t, x, q); got != want {
			t.Errorf("%q finds %q, want %q", q, got, want)
		}
	}
}

func FuzzManifest(f *testing.F) {
	dir := f.TempDir()
	x, err := Open(dir, Options{})
	if err != nil {
		f.Fatal(err)
	}
	if err := errors.Join(x.Add(context.Background(), Document{ID: "a", Text: "b"}), x.Close()); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, manifestName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("callgate index 00000000\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err == nil && m.Format != format || err != nil && !errors.Is(err, errDamaged) {
			t.Fatalf("%+v, %v", m, err)
		}
	})
}

// TestEarlierFormat opens an index in the earlier format. It must say so once, keep the documents and read the files
// again.
func TestEarlierFormat(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	x, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	syncs(t, x, root)
	err = x.Add(t.Context(), Document{ID: "gone", Text: "meadows"}, Document{ID: "note", Text: "gardens", Metadata: map[string]string{"by": "me"}})
	if err == nil {
		_, err = x.Remove(t.Context(), "gone")
	}
	if err := errors.Join(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	// The earlier format had one file of words; rows and vectors were as now.
	d := &disk{dir: dir}
	m, err := readManifest(d, manifestName)
	if err != nil {
		t.Fatal(err)
	}
	m.Format = earlierFormat
	for i := range m.Segments {
		e := &m.Segments[i]
		zap, err := d.write(e.Name+".zap", func(w io.Writer) error { _, err := io.WriteString(w, "postings"); return err })
		if err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(d.path(e.wordsFolder())); err != nil {
			t.Fatal(err)
		}
		e.Files = []fileSum{zap, e.Files[0], e.Files[1]}
	}
	if err := m.write(d); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	x = open(t, dir, Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	y := open(t, dir, Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	for _, x := range []*Index{x, y} {
		docs, err := x.Documents(KindNote)
		if err != nil || len(docs) != 1 || docs[0].ID != "note" || docs[0].Metadata["by"] != "me" || first(t, x, "gardens") != "note" {
			t.Errorf("documents %+v, %v", docs, err)
		}
	}
	syncs(t, x, root)
	if got := first(t, y, "refreshToken"); got != "server/token.go" {
		t.Errorf("after Sync it finds %q", got)
	}
	if err := y.Add(t.Context(), Document{ID: "more", Text: "orchards"}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(said.String(), "earlier version"); n != 1 || strings.Contains(said.String(), "damaged") {
		t.Errorf("it says: %s", said.String())
	}
	if left, err := filepath.Glob(d.path("*.zap")); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
}
