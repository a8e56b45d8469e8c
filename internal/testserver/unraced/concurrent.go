package unraced

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// function holds the relevant facts about a function in a test file.
type function struct {
	starts bool     // it starts goroutines
	names  []string // what it may call
}

// concurrent returns the tests in the folder that start goroutines, themselves or through a function or method of a
// test file. It goes by names: it may return too many tests, but not too few.
func concurrent(folder string) (tests []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return nil, err
	}
	all := map[string]*function{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range parsed.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				if all[d.Name.Name] == nil {
					all[d.Name.Name] = &function{}
				}
				all[d.Name.Name].read(d.Body)
			}
		}
	}
	for more := true; more; {
		more = false
		for _, f := range all {
			if !f.starts && slices.ContainsFunc(f.names, func(name string) bool { return all[name] != nil && all[name].starts }) {
				f.starts, more = true, true
			}
		}
	}
	for name, f := range all {
		if f.starts && strings.HasPrefix(name, "Test") {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests, nil
}

func (f *function) read(body *ast.BlockStmt) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			f.starts = true
		case *ast.SelectorExpr: // of a WaitGroup, for instance, or of the test itself
			f.starts = f.starts || n.Sel.Name == "Go" || n.Sel.Name == "Parallel"
		case *ast.Ident:
			f.names = append(f.names, n.Name)
		}
		return true
	})
}
