package config

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"callgate/internal/checkpoint"
	"callgate/permissions/store"
)

// elsewhere is a text of rules that replicas share.
type elsewhere struct {
	text     string
	revision uint64
	err      error
}

func (e *elsewhere) Text() ([]byte, uint64, error) { return []byte(e.text), e.revision, e.err }
func (e *elsewhere) Replace(uint64, []byte) error  { return store.ErrStale }

// TestReading: the rules that replicas share decide what may be read, whatever the file says. A command uses the file.
func TestReading(t *testing.T) {
	c := &Config{DataDir: t.TempDir(), Worker: "default"}
	file := c.Files().Permissions()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(`{"read_file": {"*": "allow"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	shared := &elsewhere{text: `{"read_file": {"**/secret*": "deny"}}`, revision: 1}
	rules := store.Open(file, store.Options{Shared: shared})
	root := t.TempDir()
	secret := filepath.Join(root, "secret.txt")
	for _, test := range []struct {
		rules *store.Store
		want  bool
	}{{rules, true}, {nil, false}} {
		denied, err := c.Reading(test.rules).Denied(root)
		if err != nil || denied(secret) != test.want {
			t.Errorf("with %v: %v", test, err)
		}
		if got := Hidden(c, test.rules, &checkpoint.Checkpoint{Worker: "default", Workspace: root})(secret); got != test.want {
			t.Errorf("with %v, hidden in a checkpoint: %v", test, got)
		}
	}
	reading := c.Reading(rules)
	first := reading.Rules()
	if again := c.Reading(store.Open("another", store.Options{Shared: shared})).Rules(); again != first {
		t.Errorf("the same rules are called %q and %q", first, again)
	}
	shared.text, shared.revision = `{"read_file": {"*": "deny"}}`, 2
	second := reading.Rules()
	shared.err = errors.New("away")
	if third := reading.Rules(); first == second || second == third || third == first {
		t.Errorf("rules that changed are called %q, %q and %q", first, second, third)
	}
}
