package app

import (
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
	before, err := sharedCredentials(dir, nil)
	if err != nil || before["view@bob"] == "" {
		t.Fatalf("%d, %v", len(before), err)
	}
	path := filepath.Join(credentials.Dir(dir), "view@bob")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if now, err := sharedCredentials(dir, before); err != nil || !maps.Equal(now, before) {
		t.Errorf("damaged: %d of %d, %v", len(now), len(before), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if now, err := sharedCredentials(dir, before); err != nil || now["view@bob"] != "" || len(now) != len(before)-1 {
		t.Errorf("removed: %d of %d, %v", len(now), len(before), err)
	}
}
