package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Programs outside this module can use the public packages: what these export has no type of an internal package in it.
func TestPublicPackagesExportNoInternalTypes(t *testing.T) {
	for _, dir := range []string{"gate", "gate/tools", "permissions", "shellparse", "audit", "rag"} {
		files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, leak := range internalTypes(file) {
				t.Errorf("%s: %s", strings.TrimPrefix(name, "../../"), leak)
			}
		}
	}
}

// internalTypes lists the exported declarations of a file that name something of an internal package.
func internalTypes(file *ast.File) (leaks []string) {
	internal := map[string]bool{}
	for _, i := range file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if !strings.Contains(path+"/", "/internal/") {
			continue
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		if i.Name != nil {
			name = i.Name.Name
		}
		internal[name] = true
	}
	look := func(n ast.Node, what string) {
		if n == nil {
			return
		}
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field: // of a struct or interface: who does not see the name does not see the type
				if len(n.Names) == 1 && !n.Names[0].IsExported() && what != "" && !strings.HasSuffix(what, ")") {
					return false
				}
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok && internal[id.Name] {
					leaks = append(leaks, what+" has the type "+id.Name+"."+n.Sel.Name)
				}
			}
			return true
		})
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && (d.Recv == nil || receiverIsExported(d.Recv.List[0].Type)) {
				look(d.Type, d.Name.Name+"()")
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						look(s.Type, s.Name.Name)
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						if n.IsExported() {
							look(s.Type, n.Name)
							for _, v := range s.Values {
								look(v, n.Name)
							}
						}
					}
				}
			}
		}
	}
	return leaks
}

func receiverIsExported(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverIsExported(t.X)
	case *ast.IndexExpr:
		return receiverIsExported(t.X)
	case *ast.Ident:
		return t.IsExported()
	}
	return false
}

// The walk finds what it is for.
func TestInternalTypesAreFound(t *testing.T) {
	for source, want := range map[string]int{
		`type T struct{ A x.T }`: 1, `type T struct{ a x.T }`: 0, `type t struct{ A x.T }`: 0, `func F(a x.T) {}`: 1, `func F() []*x.T { return nil }`: 1,
		`func (t *T) F(map[string]x.T) {}`: 1, `func (t *t) F(x.T) {}`: 0, `var V = x.New()`: 1, `type T = x.T`: 1, `type T interface{ F(x.T) }`: 1,
		`func f(a x.T) { _ = x.New() }`: 0, `type T struct{ x.T }`: 1, `func F(a func(b x.T)) {}`: 1,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "a.go", "package p\nimport \"callgate/internal/x\"\n"+source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := internalTypes(file); len(got) != want {
			t.Errorf("%s: %q, want %d", source, got, want)
		}
	}
}
