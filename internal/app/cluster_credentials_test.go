package app

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/companion/credentials"
)

// A file that is damaged at one replica is not taken away from the others, and does not keep the rest from being shared.
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
