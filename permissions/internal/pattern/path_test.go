package pattern

import "testing"

func TestPath(t *testing.T) {
	for text, want := range map[string][2]string{ // for a rule that loosens, and for one that tightens
		"private":           {"private", "private/**"},
		"./private/**":      {"private/**", "private/**"},
		"././a":             {"a", "a/**"},
		"a//b":              {"a/b", "a/b/**"},
		"a/./b":             {"a/b", "a/b/**"},
		"a/../b":            {"b", "b/**"},
		"/abs/w/./*":        {"/abs/w/*", "/abs/w/*"},
		"/etc":              {"/etc", "/etc/**"},
		"/":                 {"/", "/**"},
		"src/":              {"src/", "src/**"},
		"$WORKSPACE":        {"$WORKSPACE", "$WORKSPACE/**"},
		"$WORKSPACE/../x":   {"$WORKSPACE/../x", "$WORKSPACE/../x/**"},
		"../x":              {"../x", "../x/**"},
		"*/../x":            {"*/../x", "*/../x/**"},
		"{a,b}/../x":        {"{a,b}/../x", "{a,b}/../x/**"},
		".":                 {".", "{.,$WORKSPACE/**}"},
		"./":                {"./", "{.,$WORKSPACE/**}"},
		"a/..":              {"", "{.,$WORKSPACE/**}"},
		"*":                 {"*", "*"},
		"**/.env*":          {"**/.env*", "**/.env*"},
		"!./src/**":         {"!src/**", "!src/**"},
		"!src":              {"!src", "!src"},
		"path=./x":          {"path=./x", "path=./x"},
		`a\*`:               {`a\*`, `a\*`},
		"@(a|b)":            {"@(a|b)", "@(a|b)/**"},
		"":                  {"", ""},
		"~/x":               {"~/x", "~/x/**"},
		"[ab]/../c":         {"[ab]/../c", "[ab]/../c/**"},
		"a/b/../../../c/./": {"../c/", "../c/**"},
	} {
		for i, tightens := range []bool{false, true} {
			got := Path(text, tightens)
			if got != want[i] {
				t.Errorf("Path(%q, %v) is %q, want %q", text, tightens, got, want[i])
			}
			if again := Path(got, tightens); again != got && got != "{.,$WORKSPACE/**}" {
				t.Errorf("Path(%q, %v) is %q", got, tightens, again)
			}
		}
	}
}
