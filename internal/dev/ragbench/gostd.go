package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"callgate/rag"
)

// function is a function of the Go standard library.
type function struct {
	id         string // file, line and name
	file       string
	start, end int
	body       string // without its comment
	query      string // the comment's first sentence without the function's name; "" if it is not usable
}

// maxQueries bounds the queries, one for each function with a usable comment.
const maxQueries = 1000

// standardLibrary returns the functions of GOROOT/src, and its files. Comments of functions are blanked out, so that a
// search cannot find its own question.
func standardLibrary(root string) (functions []function, files map[string][]byte, err error) {
	files = map[string][]byte{}
	seen := map[[32]byte]bool{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			switch d.Name() {
			case "testdata", "vendor", "_gen":
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.Contains(string(src[:min(len(src), 2000)]), "DO NOT EDIT") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil // files that are not meant to parse
		}
		blanked := slices.Clone(src)
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			start, end := set.Position(fn.Pos()), set.Position(fn.End())
			f := function{
				id: fmt.Sprintf("%s:%d:%s", rel, start.Line, fn.Name.Name), file: rel, start: start.Line, end: end.Line,
				body: string(src[start.Offset:end.Offset]),
			}
			if fn.Doc != nil {
				blank(blanked[set.Position(fn.Doc.Pos()).Offset:set.Position(fn.Doc.End()).Offset])
				if len(fn.Body.List) >= 3 {
					f.query = question(fn)
				}
			}
			if sum := sha256.Sum256([]byte(f.body)); !seen[sum] {
				seen[sum] = true
				functions = append(functions, f)
			}
		}
		files[rel] = blanked
		return nil
	})
	return functions, files, err
}

// blank overwrites everything but line breaks.
func blank(b []byte) {
	for i, c := range b {
		if c != '\n' {
			b[i] = ' '
		}
	}
}

// question makes a query of a function's comment; "" if it says too little or too much.
func question(fn *ast.FuncDecl) string {
	s := new(doc.Package).Synopsis(fn.Doc.Text())
	s = regexp.MustCompile(`\b`+regexp.QuoteMeta(fn.Name.Name)+`\b`).ReplaceAllString(s, "")
	words := strings.Fields(s)
	s = strings.Join(words, " ")
	if len(words) < 6 || len(words) > 30 || strings.Contains(s, "Deprecated") ||
		strings.Contains(strings.ToLower(s), "is like") || strings.Contains(s, "implements the") {
		return ""
	}
	return s
}

// ask picks the functions to ask for, always the same ones.
func ask(functions []function) []function {
	var usable []function
	for _, f := range functions {
		if f.query != "" {
			usable = append(usable, f)
		}
	}
	order := func(f function) string {
		sum := sha256.Sum256([]byte(f.id))
		return hex.EncodeToString(sum[:])
	}
	slices.SortFunc(usable, func(a, b function) int { return strings.Compare(order(a), order(b)) })
	return usable[:min(len(usable), maxQueries)]
}

// byFunction judges whether the function is found among functions, and byLines whether its lines are found in files.
func byFunction(asked []function) (judged []rag.Judged) {
	for _, f := range asked {
		judged = append(judged, rag.Judged{ID: f.id, Query: f.query, Relevant: []rag.Label{{Path: f.id}}})
	}
	return judged
}

func byLines(asked []function) (judged []rag.Judged) {
	for _, f := range asked {
		judged = append(judged, rag.Judged{ID: f.id, Query: f.query, Relevant: []rag.Label{{Path: f.file, Start: f.start, End: f.end}}})
	}
	return judged
}

// writeTree writes the files below dir.
func writeTree(dir string, files map[string][]byte) error {
	for name, data := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
