package checkpoint

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// desk is a workspace with a store next to it.
type desk struct {
	t     *testing.T
	dir   string
	store *Store
}

func newDesk(t *testing.T, o Options) *desk {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, dir: filepath.Join(dir, "work")}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if o.Dir == "" {
		o.Dir = filepath.Join(dir, "data", "checkpoints")
	} else if o.Dir == "memory" {
		o.Dir = ""
	}
	d.store = d.open(o)
	return d
}

func (d *desk) open(o Options) *Store {
	d.t.Helper()
	s, err := Open(o)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			d.t.Error(err)
		}
	})
	return s
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *desk) write(name, text string, mode fs.FileMode) {
	d.t.Helper()
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// state returns everything in the workspace except .git, by path: mode, and bytes or target.
func (d *desk) state() map[string]string {
	d.t.Helper()
	all := map[string]string{}
	d.must(filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(d.dir, path)
		if err != nil || name == "." {
			return err
		}
		if name == ".git" && e.IsDir() {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " " + target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(data)
		}
		all[filepath.ToSlash(name)] = text
		return nil
	}))
	return all
}

// around takes a checkpoint of the paths, runs the call, and ends the checkpoint.
func (d *desk) around(call func(), paths ...Path) *Taken {
	d.t.Helper()
	taken, err := d.store.Take(context.Background(), Request{CallID: "call_1", Tool: "fs_write", SessionID: "s1", Workspace: d.dir, Paths: paths})
	d.must(err)
	call()
	_, err = taken.End(context.Background())
	d.must(err)
	return taken
}

func (d *desk) restore(id string, o RestoreOptions) *Restored {
	d.t.Helper()
	done, err := d.store.Restore(context.Background(), id, o)
	d.must(err)
	if len(done.Failed) > 0 {
		d.t.Fatalf("not restored: %v", done.Failed)
	}
	return done
}

func show(string) bool { return false }

// calls lists what a tool may do to files, with the paths that are known.
var calls = []struct {
	name  string
	call  func(d *desk)
	paths []Path // relative
}{
	{"a file is written", func(d *desk) { d.write("a.txt", "new", 0o644) }, []Path{{Path: "a.txt"}}},
	{"its mode changes", func(d *desk) { d.must(os.Chmod(d.path("a.txt"), 0o600)) }, []Path{{Path: "a.txt"}}},
	{"an executable is replaced", func(d *desk) { d.must(os.Remove(d.path("run.sh"))); d.write("run.sh", "x", 0o644) }, []Path{{Path: "run.sh"}}},
	{"a file is created", func(d *desk) { d.write("new.txt", "new", 0o644) }, []Path{{Path: "new.txt"}}},
	{"a file is created in new folders", func(d *desk) { d.write("x/y/z.txt", "new", 0o644) }, []Path{{Path: "x/y/z.txt"}}},
	{"folders are made", func(d *desk) { d.must(os.MkdirAll(d.path("x/y"), 0o755)) }, []Path{{Path: "x/y"}}},
	{"a file is deleted", func(d *desk) { d.must(os.Remove(d.path("a.txt"))) }, []Path{{Path: "a.txt", Scope: Whole}}},
	{"a folder is deleted", func(d *desk) { d.must(os.RemoveAll(d.path("dir"))) }, []Path{{Path: "dir", Scope: Whole}}},
	{"a folder is moved", func(d *desk) { d.must(os.Rename(d.path("dir"), d.path("moved"))) }, []Path{{Path: "dir", Scope: Whole}, {Path: "moved"}}},
	{"a file is moved over another", func(d *desk) { d.must(os.Rename(d.path("a.txt"), d.path("run.sh"))) }, []Path{{Path: "a.txt", Scope: Whole}, {Path: "run.sh"}}},
	{"a link is deleted", func(d *desk) { d.must(os.Remove(d.path("link"))) }, []Path{{Path: "link", Scope: Whole}}},
	{"a link is turned", func(d *desk) { d.must(os.Remove(d.path("link"))); d.must(os.Symlink("run.sh", d.path("link"))) }, []Path{{Path: "link"}}},
	{"a link becomes a file", func(d *desk) { d.must(os.Remove(d.path("link"))); d.write("link", "x", 0o644) }, []Path{{Path: "link"}}},
	{"a file becomes a folder", func(d *desk) { d.must(os.Remove(d.path("a.txt"))); d.write("a.txt/b.txt", "x", 0o644) }, []Path{{Path: "a.txt", Scope: Whole}}},
	{"a folder becomes a file", func(d *desk) { d.must(os.RemoveAll(d.path("dir"))); d.write("dir", "x", 0o644) }, []Path{{Path: "dir", Scope: Whole}}},
	{"a file with bytes that are no text", func(d *desk) { d.write("bin", "\x00\xff\xfe", 0o640) }, []Path{{Path: "bin"}}},
	{"nothing happens", func(*desk) {}, []Path{{Path: "a.txt"}, {Path: "nope"}}},
}

func (d *desk) fill() {
	d.write("a.txt", "old\n", 0o644)
	d.write("run.sh", "#!/bin/sh\n", 0o755)
	d.write("bin", "\x00\x01\xff", 0o640)
	d.write("dir/b.txt", "b", 0o600)
	d.write("dir/deep/c.txt", "", 0o444)
	d.must(os.Symlink("../outside", d.path("dir/out")))
	d.must(os.Symlink("a.txt", d.path("link")))
	d.must(os.Chmod(d.path("dir/deep"), 0o750))
}

func (d *desk) absolute(paths []Path) (out []Path) {
	for _, p := range paths {
		p.Path = d.path(p.Path)
		out = append(out, p)
	}
	return out
}

func TestRestoreIsExact(t *testing.T) {
	for _, storage := range []string{"", "memory"} {
		for _, c := range calls {
			t.Run(c.name+" "+storage, func(t *testing.T) {
				d := newDesk(t, Options{Dir: storage})
				d.fill()
				before := d.state()
				taken := d.around(func() { c.call(d) }, d.absolute(c.paths)...)
				after := d.state()
				done := d.restore(taken.ID, RestoreOptions{})
				if diff := cmp.Diff(before, d.state()); diff != "" {
					t.Fatalf("restored (-before +now):\n%s", diff)
				}
				if cmp.Equal(before, after) {
					if done.Checkpoint != "" || len(done.Files) > 0 {
						t.Errorf("nothing had to be done, and it did %+v", done)
					}
					return
				}
				// The restore can be undone as exactly.
				d.restore(done.Checkpoint, RestoreOptions{})
				if diff := cmp.Diff(after, d.state()); diff != "" {
					t.Fatalf("taken back (-after +now):\n%s", diff)
				}
			})
		}
	}
}

// TestRestoreAfterAKill checks that a call whose end nobody saw is restored only with force.
func TestRestoreAfterAKill(t *testing.T) {
	for _, c := range calls {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, Options{})
			d.fill()
			before := d.state()
			taken, err := d.store.Take(context.Background(), Request{Workspace: d.dir, Paths: d.absolute(c.paths)})
			d.must(err)
			c.call(d)
			changed := !cmp.Equal(before, d.state())
			// Another process finds what this one left.
			d.store = d.open(Options{Dir: d.store.o.Dir})
			_, err = d.store.Restore(context.Background(), taken.ID, RestoreOptions{})
			if changed != errors.Is(err, ErrChanged) {
				t.Fatalf("restored without force: %v", err)
			}
			d.restore(taken.ID, RestoreOptions{Force: true})
			if diff := cmp.Diff(before, d.state()); diff != "" {
				t.Fatalf("restored (-before +now):\n%s", diff)
			}
		})
	}
}

func TestWhatChangedSinceIsNotRestored(t *testing.T) {
	d := newDesk(t, Options{})
	d.fill()
	taken := d.around(func() { d.write("a.txt", "by the call", 0o644); d.write("run.sh", "by the call", 0o755) },
		Path{Path: d.path("a.txt")}, Path{Path: d.path("run.sh")})
	d.write("a.txt", "by a person", 0o644)
	before := d.state()
	_, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{})
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "a.txt: it has changed since") {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(before, d.state()); diff != "" {
		t.Fatalf("a refused restore touched files:\n%s", diff)
	}
	list, err := d.store.Diff(context.Background(), taken.ID, ShowOptions{Hidden: show})
	d.must(err)
	if len(list) != 2 || !list[0].ChangedSince || list[1].ChangedSince || !strings.Contains(list[0].Diff, "-old\n+by a person") {
		t.Fatalf("%+v", list)
	}
	d.restore(taken.ID, RestoreOptions{Paths: []string{d.path("run.sh")}})
	d.restore(taken.ID, RestoreOptions{Force: true})
	if got := d.state()["a.txt"]; !strings.HasSuffix(got, "old\n") {
		t.Fatalf("a.txt is %q", got)
	}
}

// TestWhatChangesMeanwhileIsNotRestored checks that files which change during a restore stay, and are named.
func TestWhatChangesMeanwhileIsNotRestored(t *testing.T) {
	d := newDesk(t, Options{})
	d.fill()
	taken := d.around(func() {
		d.write("a.txt", "by the call", 0o644)
		d.write("new.txt", "by the call", 0o644)
		d.must(os.Remove(d.path("run.sh")))
		d.write("dir/b.txt", "by the call", 0o644)
	}, d.absolute([]Path{{Path: "a.txt"}, {Path: "new.txt"}, {Path: "run.sh"}, {Path: "dir/b.txt"}})...)
	done, err := d.store.Restore(t.Context(), taken.ID, RestoreOptions{Denies: func(path string) string { // called after the look at the files
		if name := filepath.Base(path); name != "b.txt" {
			d.write(name, "by an editor", 0o644)
		}
		return ""
	}})
	if d.must(err); len(done.Failed) != 3 || !slices.Equal(done.Files, []string{d.path("dir/b.txt")}) {
		t.Errorf("%+v", done)
	}
	for _, name := range []string{"a.txt", "new.txt", "run.sh"} {
		if got := d.state()[name]; !strings.HasSuffix(got, "by an editor") {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestWhatACallDid checks that what a call left is shown as long as it exists anywhere, whatever happened since.
func TestWhatACallDid(t *testing.T) {
	d := newDesk(t, Options{})
	d.fill()
	left := func(id string) FileDiff {
		t.Helper()
		list, err := d.store.Left(id, ShowOptions{Hidden: show})
		d.must(err)
		if len(list) != 1 {
			t.Fatalf("%+v", list)
		}
		return list[0]
	}
	first := d.around(func() { d.write("a.txt", "first\n", 0o644) }, Path{Path: d.path("a.txt")})
	if got := left(first.ID); !strings.Contains(got.Diff, "+first") {
		t.Errorf("while it is there: %+v", got)
	}
	second := d.around(func() { d.write("a.txt", "second\n", 0o644) }, Path{Path: d.path("a.txt")})
	if got := left(first.ID); !strings.Contains(got.Diff, "+first") || strings.Contains(got.Diff, "second") {
		t.Errorf("when a later checkpoint has it: %+v", got)
	}
	d.write("a.txt", "by a person\n", 0o644)
	if got := left(second.ID); !got.Gone || got.Diff != "" || got.What != "changed" {
		t.Errorf("when nobody has it: %+v", got)
	}
	hidden, err := d.store.Left(first.ID, ShowOptions{Hidden: func(string) bool { return true }})
	if d.must(err); !hidden[0].Hidden || hidden[0].Diff != "" {
		t.Errorf("what the rules deny reading: %+v", hidden)
	}
}

// TestLinksLeadNowhere checks that a folder that became a link is not followed, neither to keep nor to restore.
func TestLinksLeadNowhere(t *testing.T) {
	d := newDesk(t, Options{})
	d.fill()
	outside := filepath.Join(filepath.Dir(d.dir), "outside")
	d.must(os.Mkdir(outside, 0o755))
	d.must(os.WriteFile(filepath.Join(outside, "b.txt"), []byte("precious"), 0o644))
	taken := d.around(func() { d.write("dir/b.txt", "by the call", 0o600) }, Path{Path: d.path("dir/b.txt")})
	d.must(os.Rename(d.path("dir"), d.path("was-dir")))
	d.must(os.Symlink(outside, d.path("dir")))
	for _, force := range []bool{false, true} {
		_, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{Force: force})
		if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "link") {
			t.Errorf("force %v: %v", force, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(outside, "b.txt")); err != nil || string(data) != "precious" {
		t.Errorf("outside is %q, %v", data, err)
	}
	list, err := d.store.Diff(context.Background(), taken.ID, ShowOptions{Hidden: show})
	d.must(err)
	for _, f := range list {
		if strings.Contains(f.Diff, "precious") {
			t.Error("the diff shows a file that a link leads to")
		}
	}
	// A link in place of the file itself is replaced by the file, and its target stays.
	d.must(os.Remove(d.path("dir")))
	d.must(os.Rename(d.path("was-dir"), d.path("dir")))
	d.must(os.Remove(d.path("dir/b.txt")))
	d.must(os.Symlink(filepath.Join(outside, "b.txt"), d.path("dir/b.txt")))
	d.restore(taken.ID, RestoreOptions{Force: true})
	if got := d.state()["dir/b.txt"]; got != "-rw------- b" {
		t.Errorf("dir/b.txt is %q", got)
	}
	if data, err := os.ReadFile(filepath.Join(outside, "b.txt")); err != nil || string(data) != "precious" {
		t.Errorf("outside is %q, %v", data, err)
	}
}

func TestWhatCannotBeKeptIsNamed(t *testing.T) {
	d := newDesk(t, Options{MaxFile: 1000})
	d.write("large", strings.Repeat("x", 1001), 0o644)
	d.write("own/file", "callgate's", 0o644)
	d.write("fine", "fine", 0o644)
	d.store.o.Protected = func(path string) bool { return beneath(path, d.path("own")) }
	taken := d.around(func() {
		d.write("large", "small now", 0o644)
		d.write("own/file", "x", 0o644)
		d.write("fine", "x", 0o644)
	},
		Path{Path: d.path("large")}, Path{Path: d.path("own/file")}, Path{Path: d.path("fine")})
	want := []Conflict{{d.path("large"), whyTooLarge}, {d.path("own/file"), whyProtected}}
	if diff := cmp.Diff(want, taken.LeftOut); diff != "" {
		t.Fatal(diff)
	}
	if _, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{}); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "it was not kept") {
		t.Fatal(err)
	}
	done, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{Force: true})
	d.must(err)
	if !slices.Equal(done.Files, []string{d.path("fine")}) || len(done.Failed) != 1 {
		t.Fatalf("%+v", done)
	}
}

func TestHiddenFilesAreRestoredAndNotShown(t *testing.T) {
	d := newDesk(t, Options{})
	d.write(".env", "SECRET=1", 0o600)
	d.write("a.txt", "old", 0o644)
	secret := func(path string) bool { return filepath.Base(path) == ".env" }
	taken, err := d.store.Take(context.Background(), Request{Workspace: d.dir, Secret: secret, Paths: []Path{{Path: d.path(".env")}, {Path: d.path("a.txt")}}})
	d.must(err)
	d.write(".env", "SECRET=2", 0o600)
	d.write("a.txt", "new", 0o644)
	_, err = taken.End(context.Background())
	d.must(err)
	list, err := d.store.Diff(context.Background(), taken.ID, ShowOptions{Hidden: func(path string) bool { return filepath.Base(path) == "a.txt" }})
	d.must(err)
	for _, f := range list {
		if !f.Hidden || f.Diff != "" || f.Before.Hash != (Hash{}) || f.What != "changed" {
			t.Errorf("%+v", f)
		}
	}
	d.restore(taken.ID, RestoreOptions{})
	if got := d.state()[".env"]; got != "-rw------- SECRET=1" {
		t.Errorf(".env is %q", got)
	}
}

func TestDeniedPathsAreNotRestored(t *testing.T) {
	d := newDesk(t, Options{})
	d.fill()
	taken := d.around(func() { d.write("a.txt", "new", 0o644) }, Path{Path: d.path("a.txt")})
	_, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{Force: true, Denies: func(string) string { return "a rule says no" }})
	if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), "a rule says no") {
		t.Fatal(err)
	}
}

// TestAPathThatWasNotKeptIsAnError checks paths that were not kept: a model may name any path.
func TestAPathThatWasNotKeptIsAnError(t *testing.T) {
	for _, storage := range []string{"", "memory"} {
		d := newDesk(t, Options{Dir: storage})
		d.fill()
		taken := d.around(func() { d.write("a.txt", "new", 0o644) }, Path{Path: d.path("a.txt")})
		paths := []string{d.path("nope")}
		if _, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{Paths: paths}); !errors.Is(err, ErrUnknown) {
			t.Errorf("restored: %v", err)
		}
		if _, err := d.store.Diff(context.Background(), taken.ID, ShowOptions{Hidden: show, Paths: paths}); !errors.Is(err, ErrUnknown) {
			t.Errorf("compared: %v", err)
		}
	}
}

func TestListAndGet(t *testing.T) {
	d := newDesk(t, Options{})
	d.fill()
	idle := d.around(func() {}, Path{Path: d.path("a.txt")})
	one := d.around(func() { d.write("a.txt", "1", 0o644) }, Path{Path: d.path("a.txt")})
	two := d.around(func() { d.write("dir/b.txt", "2", 0o644) }, Path{Path: d.path("dir/b.txt")})
	ids := func(f Filter) (ids []string) {
		list, err := d.store.List(f)
		d.must(err)
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		return ids
	}
	for _, c := range []struct {
		f    Filter
		want []string
	}{
		{Filter{}, []string{two.ID, one.ID}},
		{Filter{Idle: true}, []string{two.ID, one.ID, idle.ID}},
		{Filter{Limit: 1}, []string{two.ID}},
		{Filter{SessionID: "other"}, nil},
		{Filter{Path: d.path("dir")}, []string{two.ID}},
		{Filter{Path: d.path("di")}, nil},
	} {
		if got := ids(c.f); !slices.Equal(got, c.want) {
			t.Errorf("%+v lists %v, want %v", c.f, got, c.want)
		}
	}
	if c, err := d.store.Get(one.ID[:8]); err != nil || c.ID != one.ID {
		t.Errorf("by its beginning: %v, %v", c.ID, err)
	}
	for _, id := range []string{"", "ck_", "ck_nobody"} {
		if _, err := d.store.Get(id); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", id, err)
		}
	}
	d.must(d.store.Note([]string{one.ID}, false))
	d.must(d.store.Note([]string{two.ID}, true))
	if c, err := d.store.Get(one.ID); err != nil || !c.Verified {
		t.Errorf("verified: %+v, %v", c, err)
	}
	if _, err := d.store.Get(two.ID); !errors.Is(err, ErrUnknown) || !slices.Equal(ids(Filter{}), []string{one.ID}) {
		t.Errorf("cleared: %v", err)
	}
}
