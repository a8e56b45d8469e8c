package permissions

import (
	"path/filepath"
	"testing"
)

func TestWithin(t *testing.T) {
	root := filepath.Join(t.TempDir(), "app")
	for _, c := range []struct {
		root, dir string
		want      bool
	}{
		{root, root, true},
		{root, root + string(filepath.Separator), true},
		{root, filepath.Join(root, "a", "b"), true},
		{root, root + "2", false},
		{root, filepath.Dir(root), false},
		{root, root + string(filepath.Separator) + "..", false},
		{root, "", false},
		{root, "app", false},
		{filepath.VolumeName(root) + string(filepath.Separator), root, true},
	} {
		if got := within(c.root, c.dir); got != c.want {
			t.Errorf("within(%q, %q) = %v, want %v", c.root, c.dir, got, c.want)
		}
	}
}
