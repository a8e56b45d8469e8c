package output

import (
	"strings"
	"testing"
)

// TestDiffKeepsTabs checks that tabs stay and that other invisible characters are escaped.
func TestDiffKeepsTabs(t *testing.T) {
	var b strings.Builder
	Diff(&b, []byte("func f() {\n\told()\n}\n"), []byte("func f() {\n\tnew()\t// \u202e\n}\n"))
	want := "    @@ -1,3 +1,3 @@\n     func f() {\n    -\told()\n    +\tnew()\t// ⟨U+202E⟩\n     }\n"
	if b.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", b.String(), want)
	}
}
