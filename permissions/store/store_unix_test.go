//go:build unix

package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/permissions"
)

func TestTheStoreIsPrivate(t *testing.T) {
	s := newStore(t)
	policy(t, s)
	for path, want := range map[string]os.FileMode{s.Path(): 0o600, s.Path() + ".lock": 0o600, filepath.Dir(s.Path()): 0o700} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestAFileThatOthersControlIsRefused(t *testing.T) {
	chmod := func(mode os.FileMode) func(t *testing.T, s *Store) {
		return func(t *testing.T, s *Store) {
			if err := os.Chmod(s.Path(), mode); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, s *Store)
		want  string
	}{
		"group": {chmod(0o660), "chmod go-w"},
		"world": {chmod(0o606), "chmod go-w"},
		"link": {func(t *testing.T, s *Store) {
			target := s.Path() + ".target"
			if err := os.Rename(s.Path(), target); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, s.Path()); err != nil {
				t.Fatal(err)
			}
		}, "symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			s := storeWith(t, `{"shell_exec": "allow"}`)
			policy(t, s)
			age(t, s)
			policy(t, s)
			c.spoil(t, s)
			if p, err := s.Policy(); p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", p, err, c.want)
			}
			if err := s.AddGrants([]permissions.Grant{grantFor("x")}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("adding a grant gives %v", err)
			}
		})
	}
}

func TestAnEditKeepsTheMode(t *testing.T) {
	s := storeWith(t, `{}`)
	if err := os.Chmod(s.Path(), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.AddGrants([]permissions.Grant{grantFor("x")}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o644 {
		t.Errorf("the mode is now %o", got)
	}
}
