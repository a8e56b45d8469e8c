package nolink

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestFolderOf(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "a/b"), 0o700), os.WriteFile(filepath.Join(dir, "a/b/file"), []byte("text"), 0o600),
		os.Symlink("a", filepath.Join(dir, "link")), os.Symlink("b", filepath.Join(dir, "a/inner")), os.Symlink("file", filepath.Join(dir, "a/b/last"))); err != nil {
		t.Skip("no symbolic links:", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for path, want := range map[string]struct {
		err error
		at  string
	}{
		"a/b/file": {}, "none": {}, "a/b/none": {}, "link": {}, // the last part is not checked
		"link/b/file": {ErrLink, "link"}, "a/inner/file": {ErrLink, "a/inner"}, "a/b/file/x/y": {ErrNoFolder, "a/b/file"},
		"none/b/file": {fs.ErrNotExist, "none"}, "a/none/file": {fs.ErrNotExist, "a/none"},
	} {
		in, name, at, err := FolderOf(root, filepath.FromSlash(path))
		if !errors.Is(err, want.err) || filepath.ToSlash(at) != want.at {
			t.Errorf("%s: %v at %q, want %v at %q", path, err, at, want.err, want.at)
		}
		if err == nil {
			if name != filepath.Base(path) {
				t.Errorf("%s: %q is in it", path, name)
			}
			in.Close()
		}
	}
	b, name, _, err := FolderOf(root, filepath.FromSlash("a/b/file"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	info, err := b.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := File(b, name, info)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); string(text) != "text" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	f.Close()
	link, err := b.Lstat("last")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := File(b, "last", link); !errors.Is(err, ErrReplaced) {
		t.Errorf("a link: %v", err)
	}
	if err := errors.Join(b.Rename(name, "was"), b.WriteFile(name, []byte("other"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := File(b, name, info); !errors.Is(err, ErrReplaced) {
		t.Errorf("another file of that name: %v", err)
	}
}
