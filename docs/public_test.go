package docs

import (
	"errors"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// public lists the packages that an outside program can import.
var public = []string{"audit", "gate", "gate/tools", "permissions", "permissions/lint", "permissions/store", "proxy", "rag", "shellparse"}

// TestPublic checks that an outside program can name every type that the public packages show. A type from internal/
// may only be shown if a public package exports a name for it. What that type shows is checked too.
func TestPublic(t *testing.T) {
	s := surface{seen: map[types.Type]bool{}, named: map[*types.TypeName]bool{}}
	var all []*types.Package
	load := exported(t)
	for _, name := range public {
		p, err := load.Import("callgate/" + name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		for _, name := range p.Scope().Names() {
			if n, ok := p.Scope().Lookup(name).(*types.TypeName); ok && n.Exported() && n.IsAlias() {
				if to, ok := types.Unalias(n.Type()).(*types.Named); ok {
					s.named[to.Obj()] = true
				}
			}
		}
	}
	for _, p := range all {
		for _, name := range p.Scope().Names() {
			if o := p.Scope().Lookup(name); o.Exported() {
				s.object(p.Name()+"."+name, o)
			}
		}
	}
	slices.Sort(s.found)
	for _, line := range slices.Compact(s.found) {
		t.Error(line)
	}
}

// exported imports packages as the go command built them.
func exported(t *testing.T) types.Importer {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}
	for _, name := range public {
		args = append(args, "callgate/"+name)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			t.Logf("%s", exit.Stderr)
		}
		t.Fatal(err)
	}
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		files[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(files[path]) })
}

// surface walks what an outside program can reach.
type surface struct {
	seen  map[types.Type]bool
	named map[*types.TypeName]bool // what has a public name, wherever it is declared
	found []string
}

func (s *surface) object(at string, o types.Object) {
	if n, ok := o.(*types.TypeName); ok {
		if named, ok := types.Unalias(n.Type()).(*types.Named); ok {
			s.contents(at, named)
			return
		}
	}
	s.typ(at, o.Type())
}

// contents checks the fields and methods of a type that has a public name.
func (s *surface) contents(at string, n *types.Named) {
	if s.seen[n] {
		return
	}
	s.seen[n] = true
	s.typ(at, n.Underlying())
	for m := range n.Methods() {
		if m.Exported() {
			s.typ(at+"."+m.Name(), m.Type())
		}
	}
}

func (s *surface) typ(at string, t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		s.typ(at, types.Unalias(t))
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			s.typ(at, arg)
		}
		s.name(at, t)
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				s.typ(at+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				s.typ(at+"."+m.Name(), m.Type())
			}
		}
	case *types.Signature:
		s.typ(at, t.Params())
		s.typ(at, t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			s.typ(at, v.Type())
		}
	case *types.Map:
		s.typ(at, t.Key())
		s.typ(at, t.Elem())
	case interface{ Elem() types.Type }: // pointer, slice or channel
		s.typ(at, t.Elem())
	}
}

// name checks a type that something public mentions.
func (s *surface) name(at string, n *types.Named) {
	o := n.Obj()
	switch {
	case o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), "callgate/"):
	case s.named[o]:
		s.contents(at, n)
	case strings.Contains(o.Pkg().Path(), "/internal/"):
		s.found = append(s.found, at+" has the type "+o.Pkg().Path()+"."+o.Name())
	}
}
