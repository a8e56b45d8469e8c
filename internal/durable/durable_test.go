package durable

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// names returns the names in the folder.
func names(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, perm := range []os.FileMode{0o600, 0o644} {
		text := []byte("as " + perm.String())
		if err := Replace(path, text, perm); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path, 1<<20)
		info, statErr := os.Stat(path)
		if err := errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, text) || runtime.GOOS != "windows" && info.Mode() != perm {
			t.Errorf("%q with mode %v, not %q with %v", got, info.Mode(), text, perm)
		}
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("the folder holds %q", got)
	}
}

func TestAFailedReplaceLeavesWhatWasThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("new"), 0o600); err == nil {
		t.Error("a folder is replaced by a file")
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 || len(names(t, path)) != 1 {
		t.Errorf("the folder holds %q", got)
	}
	if err := Replace(filepath.Join(path, "no", "folder"), nil, 0o600); err == nil {
		t.Error("a folder is made")
	}
}

// TestReadersSeeWholeFiles checks that readers always see one complete text while others write.
func TestReadersSeeWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	text := func(i int) []byte { return bytes.Repeat([]byte(strconv.Itoa(i)), 100_000) }
	if err := Replace(path, text(0), 0o600); err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for i := range 3 {
		writers.Go(func() {
			for range 20 {
				if err := Replace(path, text(i), 0o600); err != nil {
					t.Error(err)
				}
			}
		})
	}
	written := make(chan struct{})
	go func() { writers.Wait(); close(written) }()
	for done := false; !done; {
		select {
		case <-written:
			done = true
		default:
		}
		got, err := ReadFile(path, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 100_000 || bytes.Count(got, got[:1]) != len(got) {
			t.Fatalf("read %d bytes of more than one text", len(got))
		}
	}
	if got := names(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("the folder holds %q", got)
	}
}

func TestLock(t *testing.T) {
	path, file := filepath.Join(t.TempDir(), "lock"), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	count := func() (int, error) {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(string(text))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 10 {
				err := Locked(path, func() error { // guards files: goroutines that share memory need a mutex
					n, err := count()
					if err != nil {
						return err
					}
					return os.WriteFile(file, []byte(strconv.Itoa(n+1)), 0o600)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n, err := count(); n != 40 || err != nil {
		t.Errorf("%d of 40 changes are there, %v", n, err)
	}

	want := errors.New("of the function")
	if err := Locked(path, func() error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ended, path); !errors.Is(err, context.Canceled) {
		t.Errorf("a second holder: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}
