package rulebook

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"callgate/permissions"
	"callgate/permissions/store"
)

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A change is recorded although nobody can be told of it.
func TestChangesAreRecordedWithoutOutput(t *testing.T) {
	rules := store.Open(filepath.Join(t.TempDir(), "permissions.jsonc"), store.Options{})
	if err := rules.AddGrants([]permissions.Grant{{Tool: "x_y", Pattern: "*", Risk: permissions.ReadOnly}}); err != nil {
		t.Fatal(err)
	}
	var recorded []string
	b := &Book{Store: rules, Out: full{}, Record: func(apply func() (string, error)) error {
		summary, err := apply()
		recorded = append(recorded, summary)
		return err
	}}
	for want, change := range map[string]func() error{
		"Added the rule":  func() error { return b.Add("a_b", "*", permissions.Deny, false) },
		"Revoked 1 grant": func() error { return b.Revoke(nil, "") },
	} {
		recorded = nil
		if err := change(); err == nil || len(recorded) != 1 || !strings.Contains(recorded[0], want) {
			t.Errorf("%q is recorded, not %q: %v", recorded, want, err)
		}
	}
}
