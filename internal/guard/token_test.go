package guard

import (
	"regexp"
	"slices"
	"testing"
)

// TestRestricted checks what a token lacks, since no test runs it: privileges and administrators' rights. An inert
// token would lift the rules that an administrator made for programs.
func TestRestricted(t *testing.T) {
	r := restricted()
	if r.flags&disableMaxPrivilege == 0 || r.flags&luaToken == 0 || r.flags&sandboxInert != 0 {
		t.Errorf("flags %#x", r.flags)
	}
	if !slices.Contains(r.groups, "S-1-5-32-544") {
		t.Errorf("administrators stay: %v", r.groups)
	}
	for _, g := range r.groups {
		if !regexp.MustCompile(`^S-1-5(-[0-9]+)+$`).MatchString(g) {
			t.Errorf("group %q", g)
		}
	}
}
