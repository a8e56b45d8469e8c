package ignore

import (
	"io/fs"
	"strings"
	"testing"
)

func FuzzIgnore(f *testing.F) {
	for text, name := range map[string]string{
		"*.log\nbuild\n": "x/build/d.go", "/out\nsub/skip.go\n": "sub/skip.go", "*.txt\n!keep.txt\n": "keep.txt",
		"**/gen\na/**/z.go\nlog/**\n": "a/b/c/z.go", "[ab].go\n[!x]1.go\n\\#c.go\n": "y1.go", "a.go   \nb\\ \n[\n": "b ",
	} {
		f.Add(text, name)
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		if !fs.ValidPath(name) || name == "." || len(text) > 4096 || len(name) > 256 {
			return
		}
		r := parseRules(".", text)
		ignored, said := r.decide(name, true)
		if ignored && !said {
			t.Fatal("ignored without a rule")
		}
		// If the last rule names the path, it wins over all others.
		r.rules = append(r.rules, rule{segments: strings.Split(name, "/"), negated: true})
		if !strings.ContainsAny(name, `*?[\`) {
			if ignored, said := r.decide(name, true); ignored || !said {
				t.Fatalf("%q is ignored although the last rule of %q says no", name, text)
			}
		}
	})
}
