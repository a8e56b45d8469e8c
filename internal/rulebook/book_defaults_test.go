package rulebook

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
)

// TestKeepBeside checks that two changes in one second keep both old texts.
func TestKeepBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "permissions.jsonc")
	synctest.Test(t, func(t *testing.T) { // time stands still
		kept := map[string]string{}
		for _, text := range []string{"one", "two", "three"} {
			name, err := keepBeside(path, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			kept[name] = text
		}
		for name, want := range kept {
			if got, err := os.ReadFile(name); err != nil || string(got) != want {
				t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
			}
		}
		if len(kept) != 3 {
			t.Errorf("kept under %d names, want 3: %v", len(kept), kept)
		}
	})
}
