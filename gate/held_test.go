package gate

import (
	"testing"

	"callgate/permissions"
)

// Once a grant in memory is revoked, the next call asks again. Other grants, and those of other sessions, stay.
func TestRevokeHeld(t *testing.T) {
	var book grantBook
	book.add([]permissions.Grant{{Tool: "a"}, {Tool: "b"}, {Tool: "a"}})
	before, version := book.read()
	if n := book.remove(func(g permissions.Grant) bool { return g.Tool == "a" }); n != 2 {
		t.Errorf("removed %d", n)
	}
	after, now := book.read()
	if len(after) != 1 || after[0].Tool != "b" || now == version {
		t.Errorf("left %v, version %d", after, now)
	}
	if len(before) != 3 || before[0].Tool != "a" || before[1].Tool != "b" || before[2].Tool != "a" {
		t.Errorf("a reader's list changed: %v", before)
	}
	if n := book.remove(func(permissions.Grant) bool { return false }); n != 0 {
		t.Errorf("removed %d", n)
	}
	if _, again := book.read(); again != now {
		t.Error("nothing was removed, and the policies are made anew")
	}
}
