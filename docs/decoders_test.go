package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A package reads JSON in at most two ways: in its exact spelling (internal/jsonx, jsontext), and with one decoder.
// Where calls and answers pass, that decoder is v2, which refuses members that decoders read differently. Where
// callgate reads its own files, or what its clients and other programs' APIs write, it is encoding/json. Moving those
// would change what they contain: v2 writes 0 and false that omitempty leaves out, base64 for byte arrays and [] for
// null, and cannot write a time.Duration. Types such as json.RawMessage do not count as decoders.
func TestOneDecoder(t *testing.T) {
	decoders := []string{"encoding/json", "github.com/go-json-experiment/json"}
	used := map[string]map[string]string{} // by folder and decoder: where it is used
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below := strings.TrimPrefix(filepath.ToSlash(path), "../")
		if d.IsDir() && (slices.Contains(unlisted, below) || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		imports, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		names := map[string]string{} // the names of decoders in this file
		for _, spec := range imports.Imports {
			if imported, _ := strconv.Unquote(spec.Path.Value); slices.Contains(decoders, imported) {
				name := "json"
				if spec.Name != nil {
					name = spec.Name.Name
				}
				names[name] = imported
			}
		}
		if len(names) == 0 {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && names[x.Name] != "" && decodes(s.Sel.Name) {
					in := filepath.Dir(below)
					if used[in] == nil {
						used[in] = map[string]string{}
					}
					used[in][names[x.Name]] = below
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(used) < 40 {
		t.Fatalf("only %d packages read JSON", len(used))
	}
	for in, of := range used {
		if at := of[decoders[0]]; at != "" && slices.ContainsFunc(strict, func(dir string) bool { return strings.HasPrefix(in+"/", dir+"/") }) {
			t.Errorf("%s: what passes here has to be read with v2 or internal/jsonx", at)
		}
		if len(of) > 1 {
			t.Errorf("package %s has two decoders: %v", in, of)
		}
	}
}

// strict lists the folders whose packages read what models and servers write.
var strict = []string{"gate/internal", "gate/tools", "internal/remote", "internal/rpc", "internal/upstream", "proxy"}

// decodes reports whether a name in a JSON package is a function that reads or writes.
func decodes(name string) bool {
	return name != "Marshaler" && strings.HasPrefix(name, "Marshal") || name != "Unmarshaler" && strings.HasPrefix(name, "Unmarshal") ||
		slices.Contains([]string{"NewDecoder", "NewEncoder", "Valid", "Indent", "Compact"}, name)
}
