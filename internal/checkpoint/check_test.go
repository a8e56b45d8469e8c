package checkpoint

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck checks that a cut, emptied, overwritten or unreachable segment is reported, but not one that a process is
// writing.
func TestCheck(t *testing.T) {
	dir, workspace := t.TempDir(), t.TempDir()
	file := filepath.Join(workspace, "a.txt")
	if err := os.WriteFile(file, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *Store {
		s, err := Open(Options{Dir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	taken, err := s.Take(t.Context(), Request{CallID: "1", Workspace: workspace, Paths: []Path{{Path: file}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("after"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := taken.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Check(true); len(got) > 0 || err != nil {
		t.Errorf("while it is written: %q, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "*"+segmentExt))
	if err != nil || len(segments) != 1 {
		t.Fatalf("%q, %v", segments, err)
	}
	whole, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"whole":    {whole, ""},
		"half":     {whole[:len(whole)/2], "is damaged from byte"},
		"empty":    {nil, "is damaged from byte 0 of 0"},
		"garbage":  {bytes.Repeat([]byte("x"), len(whole)), "is damaged from byte 0"},
		"a header": {append([]byte{whole[0] ^ 1}, whole[1:]...), "is damaged from byte 0"},
		"a bit":    {bytes.Replace(whole, []byte("before"), []byte("beforf"), 1), "the record at byte 0 is damaged: what it holds"},
	} {
		if err := os.WriteFile(segments[0], c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		s := open()
		got, err := s.Check(true)
		if said := strings.Join(got, "; "); err != nil || (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
			t.Errorf("%s: %q, %v", name, said, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(segments[0]+lockExt, 0o700); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	if got, err := s.Check(true); len(got) != 1 || !strings.Contains(got[0], "cannot be checked") || err != nil {
		t.Errorf("with a lock that cannot be opened: %q, %v", got, err)
	}
}

// Check may run while calls do, as it does after every start.
func TestCheckBesideCalls(t *testing.T) {
	d := newDesk(t, Options{Dir: t.TempDir()})
	done := make(chan error, 1)
	go func() {
		var all error
		for range 50 {
			_, err := d.store.Check(false)
			all = errors.Join(all, err)
		}
		done <- all
	}()
	for range 20 {
		segment, err := d.store.pin()
		if err != nil {
			t.Fatal(err)
		}
		segment.broken = errors.New("full") // so that the next one is another
		d.store.unpin(segment, 0)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
