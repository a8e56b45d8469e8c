package tools

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"callgate/permissions"
)

// rewrites are ways to write a path that some server reads as the same file.
var rewrites = []struct {
	name string
	do   func(t *rapid.T, p Place, path string) string
}{
	{"dot", func(_ *rapid.T, _ Place, path string) string { return insert(path, "./") }},
	{"there and back", func(_ *rapid.T, _ Place, path string) string { return insert(path, "nothing/../") }},
	{"doubled slash", func(_ *rapid.T, _ Place, path string) string { return strings.ReplaceAll(path, "/", "//") }},
	{"absolute", func(_ *rapid.T, p Place, path string) string {
		if filepath.IsAbs(path) || strings.ContainsAny(path[:1], "%f") {
			return path
		}
		return p.Dir + "/" + path
	}},
	{"percent", func(t *rapid.T, _ Place, path string) string {
		i := rapid.IntRange(0, len(path)-1).Draw(t, "at")
		if path[i] == '%' || path[i] == '/' || i > 0 && path[i-1] == '%' || i > 1 && path[i-2] == '%' {
			return path
		}
		return path[:i] + fmt.Sprintf("%%%02x", path[i]) + path[i+1:]
	}},
	{"trailing dot", func(_ *rapid.T, _ Place, path string) string { return path + "." }},
	{"stream", func(_ *rapid.T, _ Place, path string) string { return path + "::$DATA" }},
}

// insert puts part before the last element of path.
func insert(path, part string) string {
	i := strings.LastIndexByte(path, '/')
	return path[:i+1] + part + path[i+1:]
}

// However a denied path is written, it stays denied.
func TestRewritesNeverLoosen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the rewrites are of Unix paths")
	}
	p := project(t, map[string]string{".env": "x", "sub/.env": "x", "sub/link": "-> ../.env"})
	pol := policy(t, `{ "*": "allow", "read_file": { "*": "allow", "*.env": "deny" } }`)
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom([]string{".env", "sub/.env", "sub/link", "new/.env"}).Draw(t, "path")
		real := path
		// Each at most once, in any order: two of one kind can mean another file, as "x.." does.
		for _, i := range rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "order")[:rapid.IntRange(0, 5).Draw(t, "count")] {
			path = rewrites[i].do(t, p, path)
		}
		if real != "sub/link" && rapid.Bool().Draw(t, "as Windows") && !strings.ContainsRune(path, '%') {
			path = rewrites[rapid.IntRange(5, 6).Draw(t, "which")].do(t, p, path)
		}
		tool := rapid.SampledFrom([]*Tool{
			KindTool(KindReadFile),
			Describe(Server{Name: "s"}, "do_thing", "s_do_thing", nil),
			Describe(Server{Name: "s"}, "read_file", "s_read_file", nil),
		}).Draw(t, "tool")
		a := Analyze(Call{Tool: tool, Arguments: fmt.Appendf(nil, `{"path":%q}`, path), Place: p})
		if got := verdict(pol, a); got != permissions.Deny {
			t.Errorf("%q for %q: %v", path, real, got)
		}
	})
}

// The summary, the class and the set of subjects do not depend on the order of the arguments.
func TestArgumentOrderDoesNotMatter(t *testing.T) {
	p := project(t, map[string]string{"a": "x", "b/c": "x"})
	one := Analyze(Call{Tool: KindTool(KindGrep), Arguments: []byte(`{"path":"b","pattern":"x","include":"*.go"}`), Place: p})
	two := Analyze(Call{Tool: KindTool(KindGrep), Arguments: []byte(`{"include":"*.go","pattern":"x","path":"b"}`), Place: p})
	if one.Risk != two.Risk || one.Summary != two.Summary || len(one.Subjects) != len(two.Subjects) || len(one.Marks) != len(two.Marks) {
		t.Errorf("%+v\n%+v", one, two)
	}
}
