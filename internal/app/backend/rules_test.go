package backend

import (
	"path/filepath"
	"testing"

	"callgate/internal/config"
	"callgate/permissions/store"
)

// The page asks for the rules again and again, but the same text is checked only once.
func TestRulesAreCheckedOnce(t *testing.T) {
	p := rulesPart{&Backend{Config: &config.Config{}, Store: store.Open(filepath.Join(t.TempDir(), "permissions.jsonc"), store.Options{})}}
	const odd = `{"shell_exec": {"x *": "deny", "*": "allow"}}`
	one, two := p.CheckRules(odd), p.CheckRules(odd)
	if len(one.Problems) == 0 || len(two.Problems) == 0 || &one.Problems[0] != &two.Problems[0] {
		t.Errorf("%+v and %+v", one, two)
	}
	if other := p.CheckRules(`{}`); len(other.Problems) > 0 || other.Rules != 0 {
		t.Errorf("%+v", other)
	}
}
