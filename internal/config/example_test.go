package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"callgate/shellparse"
)

// commentedKey matches a line of the example with a key or a list element behind "#". Prose has one space there.
var commentedKey = regexp.MustCompile(`(?m)^(\s*)#((?: {2,})?(?:- )?(?:[A-Za-z]+:|[-\[{"~] ?).*)$`)

// TestTheExampleShowsEveryKey checks what examples/callgate.yaml promises: it has every key, and all of it can be
// uncommented.
func TestTheExampleShowsEveryKey(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "callgate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	whole := commentedKey.ReplaceAll(text, []byte("$1$2"))
	var example map[string]any
	if err := yaml.Unmarshal(whole, &example); err != nil {
		t.Fatalf("uncommented: %v\n%s", err, whole)
	}
	missingKeys(t, reflect.TypeFor[Config](), "", []any{example})

	// The columns of tables are where the example says.
	columns, err := os.ReadFile(filepath.Join("..", "..", "shellparse", "programs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []reflect.Type{reflect.TypeFor[shellparse.Program](), reflect.TypeFor[shellparse.Wrapper](), reflect.TypeFor[shellparse.Env]()} {
		for field := range row.Fields() {
			if name := KeyOf(field.Name); !strings.Contains(string(columns), "`"+name+"`") {
				t.Errorf("the column %s of %s is not in shellparse/programs/README.md", name, row.Name())
			}
		}
	}

	dir := t.TempDir()
	file := filepath.Join(dir, "callgate.yaml")
	whole = []byte(strings.ReplaceAll(string(whole), "~/src/app", filepath.ToSlash(dir))) // an existing folder
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s := NewSettings(pflag.NewFlagSet("common", pflag.ContinueOnError))
	if err := s.Common.Parse([]string{"--config", file, "--data-dir", dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(); err != nil {
		t.Errorf("uncommented: %v", err)
	}
}

// missingKeys reports the fields of a struct that none of the values has as a key.
func missingKeys(t *testing.T, of reflect.Type, at string, values []any) {
	t.Helper()
	for field := range of.Fields() {
		if field.Tag.Get("mapstructure") == "-" {
			continue
		}
		if strings.Contains(field.Tag.Get("mapstructure"), "squash") {
			missingKeys(t, field.Type, at, values)
			continue
		}
		if !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		if name == "" {
			name = field.Name
		}
		var below []any
		found := false
		for _, value := range values {
			for key, v := range value.(map[string]any) {
				if !strings.EqualFold(key, name) {
					continue
				}
				found = true
				if list, ok := v.([]any); ok {
					below = append(below, list...)
				} else {
					below = append(below, v)
				}
			}
		}
		of := field.Type
		if of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case !found:
			t.Errorf("%s%s is not in the example", at, name)
		case of.Kind() == reflect.Struct && of.PkgPath() != reflect.TypeFor[shellparse.Program]().PkgPath():
			missingKeys(t, of, at+name+".", below)
		}
	}
}
