package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"callgate/internal/testserver/waits"

	"pgregory.net/rapid"
)

// TestStamp checks that a stamp notices every change that os.Lstat and os.Stat notice, and no others.
func TestStamp(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	must := func(t *rapid.T, err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	ways := []struct {
		look func(string) (Stamp, error)
		stat func(string) (fs.FileInfo, error)
	}{{Look, os.Lstat}, {LookThrough, os.Stat}}
	rapid.Check(t, func(t *rapid.T) {
		must(t, os.RemoveAll(path))
		must(t, os.WriteFile(other, []byte("other"), 0o600))
		var stamps [2]Stamp
		var infos [2]fs.FileInfo
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			at := time.Unix(1_700_000_000, rapid.Int64Range(0, 2).Draw(t, "time"))
			step := rapid.SampledFrom([]string{"write", "mode", "touch", "replace", "remove", "link", "nothing"}).Draw(t, "step")
			switch step {
			case "write":
				must(t, os.WriteFile(path, make([]byte, rapid.IntRange(1, 2).Draw(t, "size")), 0o600))
				must(t, os.Chtimes(path, at, at))
			case "mode":
				must(t, os.Chmod(path, rapid.SampledFrom([]fs.FileMode{0o600, 0o400}).Draw(t, "mode")))
				must(t, os.Chmod(path, 0o600))
			case "touch":
				must(t, os.Chtimes(path, at, at))
			case "replace":
				must(t, os.WriteFile(path+".new", []byte("x"), 0o600))
				must(t, os.Chtimes(path+".new", at, at))
				must(t, os.Rename(path+".new", path))
			case "remove":
				must(t, os.RemoveAll(path))
			case "link":
				must(t, os.RemoveAll(path))
				if os.Symlink(other, path) != nil {
					t.Skip("no links here")
				}
			}
			for i, way := range ways {
				stamp, err := way.look(path)
				info, wantErr := way.stat(path)
				if errors.Is(err, fs.ErrNotExist) != errors.Is(wantErr, fs.ErrNotExist) || (err == nil) != (wantErr == nil) {
					t.Fatalf("%v, want %v", err, wantErr)
				}
				same := info != nil && infos[i] != nil && os.SameFile(info, infos[i]) && info.ModTime().Equal(infos[i].ModTime()) &&
					info.Size() == infos[i].Size() && info.Mode() == infos[i].Mode()
				switch as := stamp.Same(stamps[i]); {
				case as && !same:
					t.Fatal("a change is not seen")
				case !as && same && step == "nothing":
					t.Fatal("what did not change differs")
				}
				stamps[i], infos[i] = stamp, info
			}
		}
	})
}

// TestATimeThatIsSetBack checks that an edit is noticed even if the file's time is set back, where that is possible.
func TestATimeThatIsSetBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its files have no such time")
	}
	path := filepath.Join(t.TempDir(), "file")
	at := time.Unix(1_700_000_000, 0)
	edit := func(text string) {
		if err := errors.Join(os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	edit("allow")
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	before, err := StampOf(f)
	if now, fails := Look(path); err != nil || fails != nil || !now.Same(before) {
		t.Fatalf("two stamps of one file differ: %v %v", err, fails)
	}
	waits.Until(t, "the edit is seen", func() bool { // as soon as the clock of the file system advances
		edit("deny ")
		now, err := Look(path)
		return err == nil && !now.Same(before)
	})
}
