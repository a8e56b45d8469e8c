package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImportTable holds the table in ARCHITECTURE.md against the code: every package stands in it, and
// imports only what its row says. Tests may import more.
func TestImportTable(t *testing.T) {
	root := filepath.Join("..", "..")
	table := importTable(t, filepath.Join(root, "ARCHITECTURE.md"))
	for dir, imports := range ourImports(t, root) {
		allowed, ok := table[dir]
		if !ok {
			t.Errorf("package %s is not in ARCHITECTURE.md", dir)
			continue
		}
		if slices.Equal(allowed, []string{"all"}) {
			continue
		}
		for _, path := range imports {
			if !slices.Contains(allowed, path) {
				t.Errorf("package %s imports %s, which its row in ARCHITECTURE.md does not allow", dir, path)
			}
		}
	}
	for dir := range table {
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Errorf("ARCHITECTURE.md has a row for %s: %v", dir, err)
		}
	}
}

var row = regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\|.*\\| ([^|]*) \\|$")

// importTable reads the rows: package → the packages of ours that it may import.
func importTable(t *testing.T, path string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	table := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		var allowed []string
		for _, name := range strings.Fields(strings.ReplaceAll(m[2], ",", " ")) {
			if name != "–" {
				allowed = append(allowed, strings.Trim(name, "`"))
			}
		}
		table[m[1]] = allowed
	}
	if len(table) < 10 {
		t.Fatalf("%s has %d rows: the table is not where it was", path, len(table))
	}
	return table
}

// ourImports parses every Go file but tests, for all platforms, examples and test servers left out.
func ourImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "examples" || name == "bench" || name == "testserver" || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if _, ok := found[dir]; !ok {
			found[dir] = nil
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if own, ok := strings.CutPrefix(imported, "callgate/"); ok && !slices.Contains(found[dir], own) {
				found[dir] = append(found[dir], own)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
