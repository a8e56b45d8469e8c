package shellparse

import (
	"os"
	"strings"
	"testing"
)

// TestPrograms compares what is known of single programs with tables in testdata. programs.txt explains their format.
func TestPrograms(t *testing.T) {
	for _, name := range []string{"programs", "languages"} {
		t.Run(name, func(t *testing.T) { testPrograms(t, "testdata/"+name+".txt") })
	}
}

func testPrograms(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		sign, command, _ := strings.Cut(line, " ")
		want := map[string]string{"+": "allow", "-": "ask"}[sign]
		if want == "" {
			if sign != "" && sign != "#" {
				t.Errorf("line %d: %q begins with neither + nor -", n+1, line)
			}
			continue
		}
		first, _, _ := strings.Cut(command, " ")
		s := Parse(command, Options{Dir: "/w/app", Home: "/home/u"})
		if got := judge(s, []string{first + " *"}, nil, []string{"/w/app/*"}); got != want {
			t.Errorf("line %d: %q\n  got %s, want %s%s", n+1, command, got, want, describe(s))
		}
	}
}
