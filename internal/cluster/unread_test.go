//go:build !nonats

package cluster

import (
	"fmt"
	"path/filepath"
	"testing"

	"callgate/internal/testserver/waits"
)

// A note that a replica cannot read is not gone: the others keep it, and what is written anew replaces it.
func TestUnreadNoteStays(t *testing.T) {
	outside := startOutside(t)
	shelves, dir := [2]*shelf{{}, {}}, t.TempDir()
	for i, s := range shelves {
		c, err := Open(Options{URL: outside.ClientURL(), Name: fmt.Sprint(i), Worker: "default", DataDir: t.TempDir(), Key: testKey, Lease: testLease, Logger: logOf(t)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		Share(c, Lists, s, filepath.Join(dir, fmt.Sprint(i)), func(error) {})
	}
	put := func(n Note) {
		if err := shelves[0].Put(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	other := func(what, id, text string) {
		t.Helper()
		waits.Until(t, what, func() bool { return shelves[1].held()[id].Text == text })
	}
	put(Note{ID: "a", Text: "lists"})
	other("the other has it", "a", "lists")
	put(Note{ID: "a", Unread: true})
	put(Note{ID: "b", Text: "written later"})
	other("the other has what was written later", "b", "written later")
	if held := shelves[1].held(); held["a"].Text != "lists" {
		t.Errorf("it lost what the first cannot read: %v", held)
	}
	put(Note{ID: "b", Text: "written once more"})
	other("the other has the next", "b", "written once more")
	if held := shelves[1].held(); held["a"].Text != "lists" {
		t.Errorf("it lost what the first cannot read: %v", held)
	}
	put(Note{ID: "a", Text: "new lists"})
	other("the other has the new ones", "a", "new lists")
}
