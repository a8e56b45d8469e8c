package chunks

import (
	"go/ast"
	"go/parser"
	"go/token"
)

// newGoFile parses Go source. Each top-level declaration with its comment is a unit. It returns nil if the source does
// not parse; the caller then treats it as any other text.
func newGoFile(src string) *file {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || len(parsed.Decls) == 0 {
		return nil
	}
	f := newFile(src)
	f.units = append(f.units, 0)
	at := set.File(parsed.FileStart)
	lineOf := func(p token.Pos) int { return min(at.PositionFor(p, false).Line, len(f.lines)) - 1 }
	for _, d := range parsed.Decls {
		start := d.Pos()
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Doc != nil {
				start = d.Doc.Pos()
			}
			f.define(lineOf(d.Pos()), d.Name.Name, false)
		case *ast.GenDecl:
			if d.Doc != nil {
				start = d.Doc.Pos()
			}
			f.defineSpecs(d, lineOf)
		}
		if first := lineOf(start); first > f.units[len(f.units)-1] {
			f.units = append(f.units, first)
		}
	}
	return f
}

func (f *file) define(line int, name string, minor bool) {
	if name != "_" {
		f.defs = append(f.defs, definition{line, f.lines[line].indent, name, minor})
	}
}

func (f *file) defineSpecs(d *ast.GenDecl, lineOf func(token.Pos) int) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			f.define(lineOf(s.Pos()), s.Name.Name, false)
			if t, ok := s.Type.(*ast.InterfaceType); ok {
				for _, m := range t.Methods.List {
					for _, name := range m.Names {
						f.define(lineOf(name.Pos()), name.Name, true)
					}
				}
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				f.define(lineOf(name.Pos()), name.Name, true)
			}
		}
	}
}
