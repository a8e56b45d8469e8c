package config

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestNotes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notes")
	reads := 0
	n := notes{dir: dir, read: func() (names []string) {
		reads++
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}}
	holds := func(want ...string) {
		t.Helper()
		if got := n.list(); !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	note := func(name string, age time.Duration) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	holds()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	note("1", time.Hour)
	holds("1")
	before := reads
	holds("1")
	if reads != before {
		t.Error("a folder that has not changed was read again")
	}
	note("2", time.Minute)
	holds("1", "2")

	// A very recent change may be followed by another with the same time.
	at := time.Now()
	note("3", 0)
	if err := os.Chtimes(dir, at, at); err != nil {
		t.Fatal(err)
	}
	holds("1", "2", "3")
	if err := os.WriteFile(filepath.Join(dir, "4"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(dir, at, at); err != nil {
		t.Fatal(err)
	}
	holds("1", "2", "3", "4")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	holds()
}
