// Command vet vets modules, including tests, for another system: GOOS and GOARCH say which. It type-checks everything
// that they import from source. go vet would compile all of it first, which takes six times as long.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	code := 0
	for _, module := range os.Args[1:] {
		found, err := look(module)
		if err != nil {
			fmt.Fprintf(os.Stderr, "vet %s: %v\n", module, err)
		}
		if found || err != nil {
			code = 1
		}
	}
	os.Exit(code)
}

// look prints the findings in the module, and reports whether there are any.
func look(module string) (found bool, err error) {
	dir, err := filepath.Abs(module)
	if err != nil {
		return false, err
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax | packages.NeedModule, Dir: dir, Tests: true}, "./...")
	if err != nil {
		return false, err
	}
	if packages.PrintErrors(loaded) > 0 {
		return true, nil
	}
	// The go vet of this Go version has no scannererr.
	suite := slices.DeleteFunc(slices.Clone(vet.Suite), func(a *analysis.Analyzer) bool { return a.Name == "scannererr" })
	graph, err := checker.Analyze(suite, loaded, nil)
	if err != nil {
		return false, err
	}
	for _, root := range graph.Roots {
		found = found || root.Err != nil || len(root.Diagnostics) > 0
	}
	return found, graph.PrintText(os.Stderr, -1)
}
