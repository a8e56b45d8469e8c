package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pointer matches a path of the tree in a page, with NAME or * for any name.
var pointer = regexp.MustCompile("`(?:\\./)?((?:cmd|deploy|docs|examples|gate|internal|permissions|proxy|rag|audit|shellparse)/[\\w./*-]+)")

// TestPointers checks that the paths named to contributors exist.
func TestPointers(t *testing.T) {
	for _, page := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		text, err := os.ReadFile(filepath.Join("..", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range pointer.FindAllStringSubmatch(string(text), -1) {
			path := strings.TrimSuffix(strings.ReplaceAll(found[1], "NAME", "*"), "/...")
			if all, err := filepath.Glob(filepath.Join("..", path)); err != nil || len(all) == 0 {
				t.Errorf("%s points to %s, which is not there", page, found[1])
			}
		}
	}
}
