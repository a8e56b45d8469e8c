package checkpoint

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTemporaryFor(t *testing.T) {
	for _, test := range []struct {
		base, name string
		want       bool
	}{
		{"a.txt", "a.txt.3f9c0d7e21b84a6c9d0e5f7a8b1c2d3e.tmp", true}, // the MCP file server
		{"a.txt", "a.txt.2841923847", true},                           // write-file-atomic
		{"a.txt", ".a.txt2841923847", true},                           // renameio
		{"a.txt", ".a.txt.Xy12Zq", true},                              // rsync
		{"a.txt", "a.txt.tmp", true},
		{"a.txt", "a.txt.tmp-1234-5", true},
		{"a.txt", "a.txt~", true},
		{"a.txt", ".a.txt.swp", true},
		{"a.txt", "a.txt.new", true},
		{".env", ".env.tmp", true},
		{".env", "env.tmp", true},
		{"a.txt", "tmpab12cd_x", true},
		{"a.txt", ".tmpQw3rTy", true},
		{"a.txt", ".goutputstream-AB12CD", true},
		{"a.txt", "sedAb12Cd", true},
		{"a.txt", "other.tmp", true},

		{"a.txt", "a.txt", false},
		{"a.txt", "a.txt.gz", false},
		{"a.txt", "a.txt.license", false},
		{"a.txt", "a.txt.sha256", false},
		{"a.txt", "a.txt.orig", false},
		{"a.txt", "b.txt", false},
		{"a", "about.md", false},
		{"main", "main_test.go", false},
		{"main", "main.go", false},
		{"a.txt", "template.html", false},
		{"a.txt", "temperature.csv", false},
		{"a.txt", "sedentary.md", false},
		{"a.txt", "tmp", false},
		{"a.txt", "template", false},
		{"main", "main_integration.go", false},
		{"README", "README_CONTRIBUTING", false},
		{"a", "a1234b.go", false},
	} {
		if got := temporaryFor(test.name, test.base); got != test.want {
			t.Errorf("%s beside %s: %v, want %v", test.name, test.base, got, test.want)
		}
	}
}

// TestRestoreNamesStrayFiles checks that a restore names the temporary file of a server killed between write and
// rename, removes it if told to, and can bring it back.
func TestRestoreNamesStrayFiles(t *testing.T) {
	for _, known := range []bool{false, true} {
		d := newDesk(t, Options{})
		d.write("a.txt", "old", 0o644)
		d.write("old.tmp", "was there before", 0o644)
		before := time.Now().Add(-time.Hour)
		d.must(os.Chtimes(d.path("old.tmp"), before, before))
		taken, err := d.store.Take(t.Context(), Request{Workspace: d.dir, Paths: []Path{{Path: d.path("a.txt")}}})
		d.must(err)
		stray := d.path("a.txt.0123456789abcdef.tmp")
		d.write("a.txt.0123456789abcdef.tmp", "half", 0o600)
		d.write("notes.md", "by a person", 0o644)
		if known {
			d.write("a.txt", "new", 0o644)
			_, err = taken.End(t.Context())
			d.must(err)
		}
		torn := d.state()

		done, err := d.store.Restore(t.Context(), taken.ID, RestoreOptions{Force: true})
		d.must(err)
		if diff := cmp.Diff([]string{stray}, done.Stray); diff != "" {
			t.Errorf("strays (-want +got):\n%s", diff)
		}
		if _, err := os.Stat(stray); err != nil {
			t.Errorf("it was removed unasked: %v", err)
		}
		done, err = d.store.Restore(t.Context(), taken.ID, RestoreOptions{RemoveStray: true, Denies: func(path string) string {
			if path == stray {
				return "a rule denies it"
			}
			return ""
		}})
		if err == nil || !strings.Contains(err.Error(), "a rule denies it") {
			t.Errorf("what a rule denies: %+v, %v", done, err)
		}
		done, err = d.store.Restore(t.Context(), taken.ID, RestoreOptions{RemoveStray: true})
		d.must(err)
		if _, err := os.Stat(stray); !errors.Is(err, os.ErrNotExist) || len(done.Stray) != 0 || !cmp.Equal(done.Files, []string{stray}) {
			t.Errorf("it stays: %v, %+v", err, done)
		}
		if text, err := os.ReadFile(d.path("a.txt")); string(text) != "old" || err != nil {
			t.Errorf("a.txt is %q, %v", text, err)
		}
		_, err = d.store.Restore(t.Context(), done.Checkpoint, RestoreOptions{})
		d.must(err)
		if text, err := os.ReadFile(stray); string(text) != "half" || err != nil {
			t.Errorf("the removal cannot be taken back: %q, %v", text, err)
		}
		if now := d.state(); now["old.tmp"] != torn["old.tmp"] || now["notes.md"] != torn["notes.md"] {
			t.Error("a file of somebody else was touched")
		}
	}
}
