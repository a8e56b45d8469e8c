package checkpoint

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// TestAFileOnTheWayIsNotAbsent checks that a path through a file, or through a link to a file, is never taken as
// absent, and so never removed by a restore.
func TestAFileOnTheWayIsNotAbsent(t *testing.T) {
	d := newDesk(t, Options{})
	d.fill()
	outside := filepath.Join(filepath.Dir(d.dir), "precious")
	d.must(os.WriteFile(outside, []byte("precious"), 0o644))
	d.must(os.Symlink(outside, d.path("way")))
	paths := []Path{{Path: d.path("way/in/x.txt")}, {Path: d.path("a.txt/y.txt")}, {Path: filepath.Join(outside, "z.txt")}}
	before := d.state()
	check := func(what string) {
		t.Helper()
		if data, err := os.ReadFile(outside); err != nil || string(data) != "precious" {
			t.Fatalf("%s: outside is %q, %v", what, data, err)
		}
	}
	for _, ends := range []bool{true, false} {
		taken, err := d.store.Take(context.Background(), Request{Workspace: d.dir, Paths: paths})
		d.must(err)
		for _, k := range taken.record.Before {
			if k.Kind == Absent {
				t.Errorf("%s is taken for absent", k.Path)
			}
		}
		d.write("run.sh", "changed by something else", 0o755)
		if ends {
			_, err = taken.End(context.Background())
			d.must(err)
		}
		for _, force := range []bool{false, true} {
			if done, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{Force: force}); err == nil && done.Checkpoint != "" {
				if _, err := d.store.Restore(context.Background(), done.Checkpoint, RestoreOptions{Force: true}); err != nil {
					t.Log(err)
				}
			}
			check("restored")
		}
	}
	d.write("run.sh", "#!/bin/sh\n", 0o755)
	if got := d.state(); len(got) != len(before) || got["way"] != before["way"] || got["a.txt"] != before["a.txt"] {
		t.Errorf("the workspace is %v", got)
	}
}
