package verification

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"callgate/gate/tools"
	"callgate/permissions"
)

func TestWhereChecksRun(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"app/web", "lib"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(base, name))
		}
		return paths
	}
	ts, err := permissions.CompileGlob("*.ts")
	if err != nil {
		t.Fatal(err)
	}
	place := tools.Place{Dir: path("app")[0], Roots: path("app", "lib", "gone")}
	for name, c := range map[string]struct {
		o       Checks
		changed []string
		want    []string
	}{
		"nothing changed":          {Checks{}, nil, nil},
		"in the server's folder":   {Checks{}, path("app/a.txt", "app/web/b.ts"), path("app")},
		"in several":               {Checks{}, path("app/a.txt", "lib/b.txt"), path("app", "lib")},
		"outside":                  {Checks{}, []string{"/elsewhere/a.txt", base + "/application/a.txt"}, nil},
		"in a repository's files":  {Checks{}, path("app/.git/config"), nil},
		"only what is named":       {Checks{Workspaces: path("lib")}, path("app/a.txt", "lib/b.txt"), path("lib")},
		"the inner one":            {Checks{Workspaces: path("app", "app/web")}, path("app/web/b.ts"), path("app/web")},
		"only some files":          {Checks{Paths: []*permissions.Glob{ts}}, path("app/a.txt"), nil},
		"only some files, changed": {Checks{Paths: []*permissions.Glob{ts}}, path("app/web/b.ts"), path("app")},
	} {
		if got := c.o.workspacesOf(c.changed, place); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
