package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/permissions"
	programfiles "callgate/shellparse/programs/source"
)

// TestExamplesOfPrograms checks the examples in the YAML files of package programs.
func TestExamplesOfPrograms(t *testing.T) {
	table, err := programfiles.Load(os.DirFS("../../shellparse/programs"))
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Examples) == 0 {
		t.Fatal("there are no examples")
	}
	p := project(t, map[string]string{"src/a.go": "x", "in.txt": "x"})
	p.Home = t.TempDir()
	for _, e := range table.Examples {
		a := analyzeCommand(t, e.Command, p)
		hidden := false
		touched := map[string][]string{}
		for i := range a.Subjects {
			s := &a.Subjects[i]
			hidden = hidden || len(s.Effects) > 0
			if rel, err := filepath.Rel(p.Dir, s.Value); err == nil && !strings.HasPrefix(rel, "..") {
				touched[s.Kind] = append(touched[s.Kind], rel)
			} else {
				touched[s.Kind] = append(touched[s.Kind], s.Value)
			}
		}
		for want := range strings.FieldsSeq(e.Want) {
			kind, file, isFile := strings.Cut(want, ":")
			var risk permissions.Risk
			switch {
			case isFile && (kind == "reads" || kind == "writes"):
				of := map[string]string{"reads": KindReadFile, "writes": KindWriteFile}[kind]
				if !slices.Contains(touched[of], file) {
					t.Errorf("%s: %q: it %s %q, not %s", e.At, e.Command, kind, touched[of], file)
				}
			case want == "asks" || want == "plain":
				if hidden != (want == "asks") {
					t.Errorf("%s: %q: want that it %s", e.At, e.Command, want)
				}
			case risk.UnmarshalText([]byte(want)) == nil:
				if got := worstRisk(t, e.Command, p); got != risk {
					t.Errorf("%s: %q is %v, want %s", e.At, e.Command, got, want)
				}
			default:
				t.Errorf("%s: %q: nobody knows what %q means", e.At, e.Command, want)
			}
		}
	}
}
