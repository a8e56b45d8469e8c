package docs

import (
	"flag"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pages that are made from code")

// unlisted lists folders that the ladder leaves out: they use callgate from outside, serve its development, or come
// from elsewhere.
var unlisted = []string{"cmd/callgate-opa", "examples", "internal/dev", "internal/jsoniter", "internal/jsonschema", "internal/packaging", "internal/testserver"}

// TestPackages checks the code against testdata/imports.txt, and testdata/packages.txt against both. Every package
// stands below all that it imports, imports only what its line allows, and has a sentence that says what it is for.
// Tests may import more.
func TestPackages(t *testing.T) {
	root := ".."
	found := packages(t, root)
	ladder, allowed := readLadder(t, filepath.Join("testdata", "imports.txt"))
	page := "Made from the comments of the packages by go test ./docs -update, from the ground up: a package imports only\n" +
		"packages above it, and only those that its line in imports.txt names.\n\n"
	for at, dir := range ladder {
		p, ok := found[dir]
		if !ok {
			t.Errorf("imports.txt lists %s, which is no package", dir)
			continue
		}
		delete(found, dir)
		for _, imported := range allowed[dir] {
			if imported != "all" && !slices.Contains(ladder[:at], imported) {
				t.Errorf("imports.txt lets %s import %s, which does not stand above it", dir, imported)
			}
			if imported != "all" && !slices.Contains(p.imports, imported) {
				t.Errorf("imports.txt lets %s import %s: it no longer does, so take it out", dir, imported)
			}
		}
		for _, imported := range p.imports {
			if !slices.Contains(allowed[dir], imported) && !slices.Contains(allowed[dir], "all") {
				t.Errorf("package %s imports %s, which its line in imports.txt does not allow", dir, imported)
			}
		}
		if p.synopsis == "" {
			t.Errorf("package %s has no comment that says what it is for", dir)
		}
		page += dir + "\n\t" + p.synopsis + "\n"
	}
	for dir := range found {
		t.Errorf("package %s is not in imports.txt", dir)
	}
	made(t, filepath.Join("testdata", "packages.txt"), page)
}

// made checks a page against its sources, or writes it with -update.
func made(t *testing.T, path, page string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != page {
		t.Errorf("%s is not what the code says (%v): run go test ./docs -update", path, err)
	}
}

// readLadder parses lines of the form "package: import import".
func readLadder(t *testing.T, path string) (order []string, imports map[string][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	imports = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		dir, list, ok := strings.Cut(line, ":")
		if _, twice := imports[dir]; !ok || twice {
			t.Fatalf("%s: the line %q has no colon, or its package has two lines", path, line)
		}
		order = append(order, dir)
		imports[dir] = strings.Fields(list)
	}
	return order, imports
}

type goPackage struct {
	imports  []string // only those of this module
	synopsis string   // the comment's first sentence, without "Package name"
}

// packages parses every Go file except tests, for all platforms.
func packages(t *testing.T, root string) map[string]*goPackage {
	t.Helper()
	found := map[string]*goPackage{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			below, err := filepath.Rel(root, path)
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" ||
				slices.Contains(unlisted, filepath.ToSlash(below))) {
				return fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		if found[dir] == nil {
			found[dir] = &goPackage{}
		}
		return found[dir].add(file)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (p *goPackage) add(file *ast.File) error {
	if text := file.Doc.Text(); text != "" {
		p.synopsis = strings.TrimPrefix(new(doc.Package).Synopsis(text), "Package "+file.Name.Name+" ")
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if strings.HasSuffix(imported, "/template") { // the linker cannot tell which methods it calls, and keeps all: 6 MB
			return fmt.Errorf("%s imports %s", file.Name.Name, imported)
		}
		if own, ok := strings.CutPrefix(imported, "callgate/"); ok && !slices.Contains(p.imports, own) {
			p.imports = append(p.imports, own)
		}
	}
	return nil
}
