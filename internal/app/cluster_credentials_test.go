package app

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/companion/credentials"
	"callgate/internal/config"
)

// A file that is damaged at one replica is not removed from the others, and does not stop the sharing of the rest.
func TestADamagedCredentialIsNoNewsToOtherReplicas(t *testing.T) {
	dir := t.TempDir()
	held, err := credentials.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Add("view@bob"); err != nil {
		t.Fatal(err)
	}
	before, err := sharedCredentials(dir, nil, false)
	if err != nil || before["view@bob"] == "" {
		t.Fatalf("%d, %v", len(before), err)
	}
	path := filepath.Join(credentials.Dir(dir), "view@bob")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if now, err := sharedCredentials(dir, before, false); err != nil || !maps.Equal(now, before) {
		t.Errorf("damaged: %d of %d, %v", len(now), len(before), err)
	}
	if now, err := sharedCredentials(dir, before, true); err != nil || now["view@bob"] != "" || len(now) != len(before)-1 {
		t.Errorf("damaged, after a start: %d of %d, %v", len(now), len(before), err)
	}
	for spoilt, spoil := range map[string]func() error{
		"open to others": func() error {
			return errors.Join(os.WriteFile(path, []byte(before["view@bob"]), 0o600), os.Chmod(path, 0o644))
		},
		"a line end": func() error {
			return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, []byte(before["view@bob"]+"\n"), 0o600))
		},
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if now, err := sharedCredentials(dir, before, true); err != nil || !maps.Equal(now, before) {
			t.Errorf("%s: %d of %d, %v", spoilt, len(now), len(before), err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if now, err := sharedCredentials(dir, before, false); err != nil || now["view@bob"] != "" || len(now) != len(before)-1 {
		t.Errorf("removed: %d of %d, %v", len(now), len(before), err)
	}
}

// A replica that cannot write one of the credentials takes over the others. Later these do not count as its changes.
func TestRotatedCredentialStaysRotated(t *testing.T) {
	dir := t.TempDir()
	if _, err := credentials.Open(dir); err != nil {
		t.Fatal(err)
	}
	r := &replica{config: &config.Config{DataDir: dir}, log: slog.New(slog.DiscardHandler)}
	ours := func(known map[string]string) map[string]string {
		held, err := sharedCredentials(dir, known, false)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	before := ours(nil)
	folder := filepath.Join(credentials.Dir(dir), "view@bob")
	if err := os.MkdirAll(filepath.Join(folder, "x"), 0o700); err != nil { // so that it cannot be written
		t.Fatal(err)
	}
	rotated := maps.Clone(before)
	rotated["approve"], rotated["view@bob"] = strings.Repeat("1", 43), strings.Repeat("b", 43)
	delete(rotated, "tools")
	both, err := r.takeCredentials(before, ours(before), rotated)
	if err == nil {
		t.Fatal("it could write all")
	}
	if both["approve"] != rotated["approve"] || both["view@bob"] != "" || both["tools"] != "" {
		t.Errorf("the rest was not taken: %v", slices.Sorted(maps.Keys(both)))
	}
	for name, token := range ours(both) {
		if both[name] != token {
			t.Errorf("%s is news of this replica", name)
		}
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if both, err = r.takeCredentials(both, ours(both), rotated); err != nil || !maps.Equal(both, rotated) {
		t.Errorf("in the end: %v, %v", slices.Sorted(maps.Keys(both)), err)
	}
}
