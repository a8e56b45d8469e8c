package proxy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/gate/tools"
	"callgate/internal/rpc"
	"callgate/permissions"
)

// An item of callgate's own changes no other byte of a result, and a result without a place for it changes none.
func TestContentIsAppendedBesideEveryOtherByte(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":[]}`: `{"content":[ITEM]}`,
		`{ "x":1.0, "content" : [ {"type":"text","text":"\u0041"} ] ,"structuredContent":{"n":1e400}}`: `{ "x":1.0, "content" : [ {"type":"text","text":"\u0041"} ,ITEM] ,"structuredContent":{"n":1e400}}`,
		`{"content":[ ]}`:                 `{"content":[ ITEM]}`,
		`{"content":"text"}`:              `{"content":"text"}`,
		`{"structuredContent":{"a":[1]}}`: `{"structuredContent":{"a":[1]}}`,
	} {
		answer, err := rpc.Parse(rpc.Result([]byte("1"), []byte(result)))
		if err != nil {
			t.Fatal(err)
		}
		item := []byte(`{"type":"text","text":"ITEM"}`)
		got := string(withContent(answer, item).Result)
		if expected := strings.Replace(want, "ITEM", string(item), 1); got != expected {
			t.Errorf("%s became %s, want %s", result, got, expected)
		}
		if takesContent(answer) != (want != result) {
			t.Errorf("takes content: %s", result)
		}
	}
}

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
		o       Verification
		changed []string
		want    []string
	}{
		"nothing changed":          {Verification{}, nil, nil},
		"in the server's folder":   {Verification{}, path("app/a.txt", "app/web/b.ts"), path("app")},
		"in several":               {Verification{}, path("app/a.txt", "lib/b.txt"), path("app", "lib")},
		"outside":                  {Verification{}, []string{"/elsewhere/a.txt", base + "/application/a.txt"}, nil},
		"in a repository's files":  {Verification{}, path("app/.git/config"), nil},
		"only what is named":       {Verification{Workspaces: path("lib")}, path("app/a.txt", "lib/b.txt"), path("lib")},
		"the inner one":            {Verification{Workspaces: path("app", "app/web")}, path("app/web/b.ts"), path("app/web")},
		"only some files":          {Verification{Paths: []*permissions.Glob{ts}}, path("app/a.txt"), nil},
		"only some files, changed": {Verification{Paths: []*permissions.Glob{ts}}, path("app/web/b.ts"), path("app")},
	} {
		if got := c.o.workspacesOf(c.changed, place); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What callgate tells of progress goes on from where the server ended.
func TestProgressRises(t *testing.T) {
	first := &inflight{reached: progressStep, ours: true} // after a wait for a person
	for _, c := range []struct{ params, want string }{
		{`{"progress":0,"total":2}`, `{"progress":0.0002,"total":2}`},
		{`{"progress":0.5}`, `{"progress":0.5}`},
		{`{"progress":0.5}`, `{"progress":0.5}`}, // the server's own affair
		{`{}`, `{}`},
	} {
		if got := first.told([]byte(c.params)); string(got) != c.want {
			t.Errorf("%s: %s, want %s", c.params, got, c.want)
		}
	}
	r := &inflight{}
	for _, params := range []string{`{"progressToken":1,"progress":7.5}`, `{"progressToken":1,"progress":3}`, `{"progressToken":1,"progress":"x"}`, `{}`} {
		r.told([]byte(params))
	}
	if r.reached != 7.5 {
		t.Errorf("reached %v", r.reached)
	}
}
