package catalogue

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestSanitize(t *testing.T) {
	for name, want := range map[string]string{
		"read_file-2": "read_file-2",
		"":            "",
		"a.b/c d":     "a_b_c_d",
		"Größe":       "Gr__e",
		"a\x00\xffb":  "a__b",
		"日本":          "__",
	} {
		if got := Sanitize(name); got != want {
			t.Errorf("Sanitize(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestCheckAliases(t *testing.T) {
	for _, c := range []struct{ aliases, wrong string }{
		{"filesystem commands db-2", ""},
		{"a ab abc", ""},
		{"", "letters"},
		{"a.b", "letters"},
		{"größe", "letters"},
		{"a a", "both"},
		{"git git_x", "both"},
		{"git_x git", "both"},
		{"read", `"read_file"`},
		{"shell", `"shell_exec"`},
		{"process", `"process_input"`},
		{"read_file", ""}, // its tools are read_file_…, which is not a kind
	} {
		err := CheckAliases(strings.Split(c.aliases, " "))
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("CheckAliases(%q) = %v, want an error that says %q", c.aliases, err, c.wrong)
		}
	}
}

var (
	long    = strings.Repeat("x", 100)
	longest = strings.Repeat("y", maxName-len("s_"))
)

var qualifyCases = []struct {
	name    string
	origins []Origin
	want    []string
}{
	{"plain", []Origin{{"s", "read"}, {"t", "read"}}, []string{"s_read", "t_read"}},
	{"sanitized", []Origin{{"s", "a.b"}}, []string{"s_a_b"}},
	{"collision", []Origin{{"s", "a.b"}, {"s", "c"}, {"s", "a_b"}}, []string{"s_a_b_407e8e5c", "s_c", "s_a_b_8d47d403"}},
	{"too long", []Origin{{"s", long}}, []string{"s_" + long[:maxName-11] + "_244cf40d"}},
	{"as long as can be", []Origin{{"s", longest}}, []string{"s_" + longest}},
	{"empty", []Origin{{"s", ""}}, []string{"s_"}},
	{"none", nil, []string{}},
}

func TestQualify(t *testing.T) {
	for _, c := range qualifyCases {
		t.Run(c.name, func(t *testing.T) {
			if got := Qualify(c.origins); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A tool may have the name that another gets with its suffix. Both stay reachable.
func TestQualifyNameLikeASuffixedOne(t *testing.T) {
	pair := []Origin{{"s", "a.b"}, {"s", "a_b"}}
	taken := strings.TrimPrefix(Qualify(pair)[0], "s_")
	names := Qualify(append(pair, Origin{"s", taken}))
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != 3 {
		t.Errorf("not all different: %q", names)
	}
	if !slices.Equal(names[:2], Qualify(pair)) {
		t.Errorf("the others got other names: %q", names)
	}
}

// A name does not depend on the order in which servers list their tools. A name without collisions stays when tools
// come and go.
func TestQualifyIsStable(t *testing.T) {
	origins := []Origin{{"s", "a.b"}, {"s", "a_b"}, {"s", long}, {"t", "a.b"}, {"s", "plain"}}
	names := Qualify(origins)
	for i := range origins {
		slices.Reverse(origins)
		turned := Qualify(origins)
		slices.Reverse(origins)
		slices.Reverse(turned)
		if turned[i] != names[i] {
			t.Errorf("%v is %q, and %q in the other order", origins[i], names[i], turned[i])
		}
	}
	if alone := Qualify(origins[4:]); alone[0] != names[4] {
		t.Errorf("%q became %q", names[4], alone[0])
	}
}

var wellFormed = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func FuzzQualify(f *testing.F) {
	for _, c := range qualifyCases {
		var names []string
		for _, o := range c.origins {
			names = append(names, o.Name)
		}
		f.Add("srv", strings.Join(names, "\n"))
	}
	f.Add("srv", "a.b\na_b\na_b_407e8e5c")
	f.Fuzz(func(t *testing.T, alias, text string) {
		if CheckAliases([]string{alias}) != nil || len(alias) > 40 {
			return
		}
		var origins []Origin
		seen := map[string]bool{}
		for name := range strings.SplitSeq(text, "\n") {
			if !seen[name] {
				seen[name] = true
				origins = append(origins, Origin{alias, name})
			}
		}
		names := Qualify(origins)
		has := map[string]Origin{}
		for i, name := range names {
			if !wellFormed.MatchString(name) || !strings.HasPrefix(name, alias+"_") {
				t.Fatalf("%q is called %q", origins[i], name)
			}
			if other, taken := has[name]; taken {
				t.Fatalf("%q and %q are both called %q", other, origins[i], name)
			}
			has[name] = origins[i]
		}
		if fmt.Sprint(Qualify(origins)) != fmt.Sprint(names) {
			t.Fatal("other names the second time")
		}
	})
}

func TestPlain(t *testing.T) {
	for name, want := range map[string]string{
		"s_a_b_407e8e5c": "s_a_b", "s_a_b": "s_a_b", "s_407e8e5": "s_407e8e5", "s_407E8E5C": "s_407E8E5C", "_407e8e5c": "_407e8e5c", "": "",
	} {
		if got := Plain(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	for _, c := range qualifyCases {
		for i, name := range Qualify(c.origins) {
			if plain := c.origins[i].Plain(); len(plain) <= maxName && Plain(name) != plain {
				t.Errorf("%q is %q, and was %q", name, Plain(name), plain)
			}
		}
	}
}
