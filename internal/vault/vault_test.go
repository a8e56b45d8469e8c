package vault

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

func TestVault(t *testing.T) {
	keyring.MockInit() // an in-memory keyring
	dir := t.TempDir()
	v := At(dir)
	get := func(name, want string) {
		t.Helper()
		if got, err := v.Get(name); got != want || (err == nil) != (want != "") {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	get("github", "")
	for _, err := range []error{v.Set("github", "one", true), v.Set("gitlab", "two", false)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	get("github", "one")
	get("gitlab", "two")
	if names, err := v.List(); err != nil || !slices.Equal(names, []string{"gitlab"}) {
		t.Errorf("%v, %v", names, err)
	}
	if err := v.Set("gitlab", "three", true); err != nil {
		t.Fatal(err)
	}
	get("gitlab", "three")
	if err := v.Remove("gitlab"); err != nil {
		t.Fatal(err)
	}
	get("gitlab", "")
	if err := v.Remove("gitlab"); err == nil {
		t.Error("it is removed twice")
	}
	stuck := filepath.Join(dir, "secrets", "stuck")
	if err := os.MkdirAll(filepath.Join(stuck, "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := v.Remove("stuck"); err == nil || !strings.Contains(err.Error(), stuck) {
		t.Errorf("a file that cannot be removed: %v", err)
	}
	for _, name := range []string{"", "../approve", "a/b", strings.Repeat("x", 65)} {
		if v.Set(name, "x", false) == nil {
			t.Errorf("%q is a name", name)
		}
		get(name, "")
	}
	if runtime.GOOS == "windows" {
		return // there, a file's mode does not say who may read it
	}
	if err := v.Set("open", "x", false); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "secrets", "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	get("open", "")
}
