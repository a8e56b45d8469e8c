package durable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(path, 5); string(text) != "12345" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := ReadFile(path, 4); text != nil || err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("over the limit: %q, %v", text, err)
	}
	for _, other := range []string{filepath.Dir(path), os.DevNull} {
		if _, err := ReadFile(other, 5); err == nil || !strings.Contains(err.Error(), other) {
			t.Errorf("%s: %v", other, err)
		}
		if err := Regular(other); err == nil {
			t.Errorf("%s is regular", other)
		}
	}
	if err := Regular(path + "x"); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for name, age := range map[string]time.Time{".a.1.tmp": old, "sub/.b.2.tmp": old, "sub/deep/.c.3.tmp": old, ".new.4.tmp": time.Now(), "kept.tmp": old, ".kept": old} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, age, age); err != nil {
			t.Fatal(err)
		}
	}
	Sweep(dir, 1)
	var left []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			left = append(left, strings.TrimPrefix(filepath.ToSlash(path[len(dir):]), "/"))
		}
		return err
	})
	if want := ".kept .new.4.tmp kept.tmp sub/deep/.c.3.tmp"; err != nil || strings.Join(left, " ") != want {
		t.Errorf("left %q, %v", left, err)
	}
}
