package rag

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestArchive moves an index to another folder. Sync there reads only the files that differ.
func TestArchive(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, project)
	x := open(t, t.TempDir(), Options{})
	syncs(t, x, root)
	writeFiles(t, root, map[string]string{"late.go": "package late // zanzibar"})
	syncs(t, x, root) // a second segment
	var archive bytes.Buffer
	if err := x.Archive(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}

	other, dir := t.TempDir(), filepath.Join(t.TempDir(), "index")
	writeFiles(t, other, project)
	writeFiles(t, other, map[string]string{"late.go": "package late // kilimanjaro"})
	if restored, err := Restore(t.Context(), dir, bytes.NewReader(archive.Bytes())); !restored || err != nil {
		t.Fatal(restored, err)
	}
	y := open(t, dir, Options{})
	if a, b := content(t, x), content(t, y); a != b || a == "" {
		t.Errorf("the content is %q, and was %q", b, a)
	}
	if got := paths(t, y, Query{Text: "zanzibar"}); !slices.Contains(got, "late.go") {
		t.Errorf("before Sync, zanzibar is in %q", got)
	}
	sum, err := y.Sync(t.Context(), other, nil)
	if err != nil || sum.Changed != 1 || sum.Removed != 0 {
		t.Errorf("%+v, %v: only late.go differs", sum, err)
	}
	if a, b := content(t, x), content(t, y); a == b {
		t.Error("another file, and the same content")
	}
	if got := paths(t, y, Query{Text: "kilimanjaro"}); !slices.Contains(got, "late.go") {
		t.Errorf("kilimanjaro is in %q", got)
	}
	if restored, err := Restore(t.Context(), dir, bytes.NewReader(archive.Bytes())); restored || err != nil {
		t.Errorf("over an index: %t, %v", restored, err)
	}
}

// TestBadArchive restores archives that are cut, damaged or from others. The folder stays empty, or Sync repairs it.
func TestBadArchive(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, project)
	x := open(t, t.TempDir(), Options{})
	syncs(t, x, root)
	var whole bytes.Buffer
	if err := x.Archive(t.Context(), &whole); err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole.Bytes())
	flipped[len(flipped)-5] ^= 1
	for name, archive := range map[string][]byte{
		"nothing":       nil,
		"no archive":    []byte("hello"),
		"cut":           whole.Bytes()[:whole.Len()/2],
		"wrong sum":     flipped,
		"outside":       packed(t, tarFile{Name: "../x.rows", Body: "x"}),
		"outside words": packed(t, tarFile{Name: "a.bleve/../../x", Body: "x"}),
		"absolute":      packed(t, tarFile{Name: "/x.rows", Body: "x"}),
		"link":          packed(t, tarFile{Name: "x.rows", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}),
		"another file":  packed(t, tarFile{Name: "lock", Body: "x"}),
		"no manifest":   packed(t, tarFile{Name: "1.rows", Body: "x"}),
		"bad manifest":  packed(t, tarFile{Name: "1.rows", Body: "x"}, tarFile{Name: "manifest", Body: "manifest!"}),
	} {
		parent := t.TempDir()
		dir := filepath.Join(parent, "index")
		if restored, err := Restore(t.Context(), dir, bytes.NewReader(archive)); restored || err == nil {
			t.Errorf("%s: %t, %v", name, restored, err)
		}
		if left := names(t, dir); !slices.Equal(left, []string{lockName}) {
			t.Errorf("%s leaves %q", name, left)
		}
		if left := names(t, parent); len(left) != 1 {
			t.Errorf("%s leaves %q outside", name, left)
		}
	}

	// The bytes of a segment do not match the sums in its manifest.
	m := x.current.manifest
	text, err := m.text()
	if err != nil {
		t.Fatal(err)
	}
	var files []tarFile
	for _, f := range m.Segments[0].Files {
		files = append(files, tarFile{Name: f.Name, Body: "x"})
	}
	archive := packed(t, append(files, tarFile{Name: manifestName, Body: string(text)})...)
	dir := t.TempDir()
	if restored, err := Restore(t.Context(), dir, bytes.NewReader(archive)); !restored || err != nil {
		t.Fatal(restored, err)
	}
	y := open(t, dir, Options{})
	syncs(t, y, root)
	if a, b := content(t, x), content(t, y); a != b {
		t.Errorf("the repaired index has %q, not %q", b, a)
	}
}

// tarFile is a file of an archive.
type tarFile struct {
	Name, Body string
	Typeflag   byte
	Linkname   string
}

func packed(t *testing.T, files ...tarFile) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.Name, Typeflag: f.Typeflag, Linkname: f.Linkname, Size: int64(len(f.Body))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, f.Body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func content(t *testing.T, x *Index) string {
	t.Helper()
	c, err := x.Content()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), ".") {
			names = append(names, f.Name())
		}
	}
	return names
}
