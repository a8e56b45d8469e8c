package docs

import (
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/internal/hooks"
)

// TestTables checks tables of the pages against the code: each name in the code is on its page.
func TestTables(t *testing.T) {
	var members []string
	for field := range reflect.TypeFor[audit.Record]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			members = append(members, name)
		}
	}
	var schema struct {
		Defs map[string]json.RawMessage `json:"$defs"`
	}
	if err := json.Unmarshal(ProtocolSchema, &schema); err != nil {
		t.Fatal(err)
	}
	var frames []string
	for _, side := range []string{"client", "server"} {
		for _, ref := range regexp.MustCompile(`#/\$defs/([a-z_]+)`).FindAllStringSubmatch(string(schema.Defs[side]), -1) {
			frames = append(frames, ref[1])
		}
	}
	var series []string
	for _, file := range []string{"metrics.go", "moment.go"} {
		for _, m := range regexp.MustCompile(`"(callgate_[a-z_]+)"`).FindAllStringSubmatch(read(t, "../internal/metrics/"+file), -1) {
			series = append(series, m[1])
		}
	}
	for page, names := range map[string][]string{"hooks.md": hooks.Events, "audit.md": members, "protocol.md": frames, "metrics.md": series} {
		if len(names) < 5 {
			t.Errorf("%s: the code has only %v", page, names)
		}
		text := read(t, page)
		for _, name := range names {
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s does not have `%s`", page, name)
			}
		}
	}
}

// source matches a file or folder of the repository as developer pages name it: gate/judge.go, wrap_*.go,
// internal/spawn.
var source = regexp.MustCompile("`([A-Za-z0-9_*/.-]+\\.(?:go|ya?ml|jsonc?|txt)|(?:audit|cmd|docs|examples|gate|internal|permissions|proxy|rag|shellparse)/[A-Za-z0-9_*/-]+)`")

// TestSources checks that every file named on developer pages exists. Names in capitals stand for any name.
func TestSources(t *testing.T) {
	var files []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != "..") {
			return fs.SkipDir
		}
		if below, relErr := filepath.Rel("..", path); relErr == nil {
			files = append(files, filepath.ToSlash(below))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	developers, err := filepath.Glob("dev/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(developers, "../ARCHITECTURE.md", "../CONTRIBUTING.md") {
		if page == filepath.Join("dev", "release.md") { // it names the files that a release makes
			continue
		}
		for _, m := range source.FindAllStringSubmatch(read(t, page), -1) {
			if name := m[1]; !strings.Contains(name, "NAME") && name != "callgate.yaml" && !anyFile(files, name) {
				t.Errorf("%s names %s, which is no file", page, name)
			}
		}
	}
}

// anyFile reports whether the path of a file ends in the pattern, compared part by part.
func anyFile(files []string, pattern string) bool {
	parts := strings.Count(pattern, "/") + 1
	for _, file := range files {
		elements := strings.Split(file, "/")
		if len(elements) < parts {
			continue
		}
		if ok, err := path.Match(pattern, strings.Join(elements[len(elements)-parts:], "/")); ok && err == nil {
			return true
		}
	}
	return false
}
