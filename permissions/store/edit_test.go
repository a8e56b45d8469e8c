package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"callgate/permissions"
	"callgate/permissions/internal/jsonc"
)

// addCases are files before and after a rule is added.
var addCases = []struct {
	name, before          string
	tool, pattern, action string
	first                 bool
	after                 string
}{
	{"a new tool, behind all others", "{\n  \"*\": \"ask\", // rest\n\n  // grants\n  \"$always\": []\n}\n",
		"shell_exec", "git push *", "confirm", false,
		"{\n  \"*\": \"ask\", // rest\n  \"shell_exec\": {\n    \"git push *\": \"confirm\"\n  },\n\n  // grants\n  \"$always\": []\n}\n"},
	{"any value is written short", "{\n  \"*\": \"ask\"\n}\n", "glob", "*", "allow", false,
		"{\n  \"*\": \"ask\",\n  \"glob\": \"allow\"\n}\n"},
	{"a trailing comma trails the new one", "{\n  \"*\": \"ask\",\n}\n", "glob", "*", "allow", false,
		"{\n  \"*\": \"ask\",\n  \"glob\": \"allow\",\n}\n"},
	{"before all others", "{ // mine\n  // rest\n  \"a\": \"ask\"\n}\n", "*", "*", "deny", true,
		"{ // mine\n  \"*\": \"deny\",\n  // rest\n  \"a\": \"ask\"\n}\n"},
	{"an empty file", `{}`, "a", "x", "ask", false, `{ "a": { "x": "ask" } }`},
	{"an empty file with a comment", "{\n  // nothing yet\n}\n", "a", "*", "ask", false, "{\n  // nothing yet\n  \"a\": \"ask\"\n}\n"},
	{"an action becomes patterns", "{\n  \"a\": \"ask\" // why\n}", "a", "x", "deny", false,
		"{\n  \"a\": {\n    \"*\": \"ask\",\n    \"x\": \"deny\"\n  } // why\n}"},
	{"an action becomes patterns, first", `{"a": "ask"}`, "a", "x", "deny", true, ""},
	{"on one line", `{"a": { "*": "ask", "x": "allow" }}`, "a", "y", "deny", false, `{"a": { "*": "ask", "x": "allow", "y": "deny" }}`},
	{"on one line without spaces", `{"a":{"*":"ask"}}`, "a", "y", "deny", false, `{"a":{"*":"ask", "y": "deny"}}`},
	{"on one line, first", `{"a": { "x": "allow" }}`, "a", "y", "deny", true, `{"a": { "y": "deny", "x": "allow" }}`},
	{"on lines of their own", "{\n\t\"a\": {\n\t\t\"*\": \"ask\", // rest\n\t\t\"x\": \"allow\" // good\n\t\t// end\n\t}\n}\n", "a", "y", "deny", false,
		"{\n\t\"a\": {\n\t\t\"*\": \"ask\", // rest\n\t\t\"x\": \"allow\", // good\n\t\t// end\n\t\t\"y\": \"deny\"\n\t}\n}\n"},
	{"on lines of their own, first", "{\n  \"a\": { /* all\n    of it */\n    \"x\": \"allow\"\n  }\n}\n", "a", "*", "ask", true,
		"{\n  \"a\": {\n    \"*\": \"ask\", /* all\n    of it */\n    \"x\": \"allow\"\n  }\n}\n"},
	{"text that needs escapes", `{"*": "ask"}`, "shell_exec", `say \"hi\" *`, "allow", false, `{"*": "ask", "shell_exec": { "say \\\"hi\\\" *": "allow" }}`},
	{"an object with examples stays", `{"a": { "x": {"action": "deny", "match": ["x"]} }}`, "a", "y", "ask", false,
		`{"a": { "x": {"action": "deny", "match": ["x"]}, "y": "ask" }}`},
	{"home", `{"*": "ask"}`, "read_file", "~/x/*", "allow", false, `{"*": "ask", "read_file": { "~/x/*": "allow" }}`},
	{"grants in the middle stay there", `{"a": "ask", "$always": [], "b": "ask"}`, "c", "*", "ask", false, `{"a": "ask", "$always": [], "b": "ask", "c": "ask"}`},
}

func TestRulesAreAddedInPlace(t *testing.T) {
	for _, c := range addCases {
		t.Run(c.name, func(t *testing.T) {
			s := storeWith(t, c.before)
			action, err := permissions.ParseAction(c.action)
			if err != nil {
				t.Fatal(err)
			}
			placed, err := s.AddRule(c.tool, c.pattern, action, c.first)
			if c.after == "" {
				if err == nil || !strings.Contains(err.Error(), "would decide nothing") || text(t, s) != c.before {
					t.Fatalf("error %v, file %s", err, text(t, s))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(text(t, s), "\n"); got != strings.TrimSuffix(c.after, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, c.after)
			}
			if placed.Rule.Tool != c.tool || placed.Rule.Action != action || !strings.Contains(placed.Rule.Source, ".jsonc:") {
				t.Errorf("placed %v", &placed.Rule)
			}
		})
	}
}

func TestWhatAnAddedRuleDoesToOthers(t *testing.T) {
	s := storeWith(t, `{
	  "shell_exec": { "*": "ask", "git push --force *": "deny", "git * origin": "allow", "*prod*": "deny" },
	  "*_exec": { "git push origin *": "allow" }
	}`)
	placed, err := s.AddRule("shell_exec", "git push *", permissions.Confirm, false)
	if err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]string{
		"git push --force *": names(placed.Shadows), "git * origin,*prod*": names(placed.Limits), "git push origin *": names(placed.Yields),
	} {
		if got != what {
			t.Errorf("got %q, want %q", got, what)
		}
	}
}

func names(rules []permissions.Rule) string {
	var list []string
	for _, r := range rules {
		list = append(list, r.Pattern)
	}
	return strings.Join(list, ",")
}

func TestRulesThatHaveNoPlaceAreRefused(t *testing.T) {
	const file = "{\n  \"a\": { \"x *\": \"ask\" },\n  \"b\": \"deny\",\n  \"*\": { \"x*\": \"deny\" },\n  \"~\": { \"~/x\": \"deny\" }\n}\n"
	for _, c := range []struct{ name, tool, pattern, want string }{
		{"it is there", "a", "x *", `a "x *" ask (permissions.jsonc:2, file) exists already: remove it first with: callgate rules remove 'a' 'x *'`},
		{"it is there as an action", "b", "*", `remove 'b' '*'`},
		{"it is there, spelled differently", "~", "$HOME/x", "exists already"},
		{"a later rule covers it", "a", "xy", `a "xy" would decide nothing: * "x*" deny (permissions.jsonc:4, file) comes after it`},
		{"a bad pattern", "a", "(x)", "write @(a|b)"},
		{"a bad tool", "(a)", "x", "tool"},
		{"a key of callgate's own", "$always", "x", "callgate's own"},
		{"an unknown key of callgate's own", "$x", "x", "callgate's own"},
		{"no pattern", "a", "", "is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := storeWith(t, file)
			_, err := s.AddRule(c.tool, c.pattern, permissions.Allow, false)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v\nwant %s", err, c.want)
			}
			if got := text(t, s); got != file {
				t.Errorf("the file changed:\n%s", got)
			}
		})
	}
}

func TestRulesAreRemovedInPlace(t *testing.T) {
	for _, c := range []struct{ name, before, tool, pattern, after string }{
		{"one of several", "{\n  \"a\": {\n    // first\n    \"x\": \"ask\", // an x\n    \"y\": \"deny\", // a y\n    \"z\": \"ask\" // a z\n  }\n}\n", "a", "y",
			"{\n  \"a\": {\n    // first\n    \"x\": \"ask\", // an x\n    \"z\": \"ask\" // a z\n  }\n}\n"},
		{"the first", "{\n  \"a\": {\n    // first\n    \"x\": \"ask\", // an x\n    \"z\": \"ask\" // a z\n  }\n}\n", "a", "x",
			"{\n  \"a\": {\n    // first\n    \"z\": \"ask\" // a z\n  }\n}\n"},
		{"the last", "{\n  \"a\": {\n    \"x\": \"ask\", // an x\n    \"z\": \"ask\" // a z\n    // end\n  }\n}\n", "a", "z",
			"{\n  \"a\": {\n    \"x\": \"ask\" // an x\n    // end\n  }\n}\n"},
		{"the last with a trailing comma", "{\n  \"x\": \"ask\",\n  \"z\": \"ask\", // z\n}\n", "z", "*", "{\n  \"x\": \"ask\",\n}\n"},
		{"the last of its tool", "{\n  \"a\": { \"x\": \"ask\" },\n  \"b\": \"ask\"\n}\n", "a", "x", "{\n  \"b\": \"ask\"\n}\n"},
		{"all of a tool", "{\n  \"a\": { \"x\": \"ask\", \"y\": \"deny\" },\n  \"b\": \"ask\"\n}\n", "a", "", "{\n  \"b\": \"ask\"\n}\n"},
		{"the only one", `{"a": "ask"}`, "a", "", `{}`},
		{"on one line", `{"a": { "x": "ask", "y": "deny" }}`, "a", "x", `{"a": { "y": "deny" }}`},
		{"spelled with home", `{"a": { "~/x": "ask", "y": "deny" }}`, "a", "$HOME/x", `{"a": { "y": "deny" }}`},
		{"a comment before the comma", "{\"a\": \"ask\" /* why */, \"b\": \"ask\"}", "b", "", `{"a": "ask" /* why */}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := storeWith(t, c.before)
			removed, err := s.RemoveRules(c.tool, c.pattern)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(text(t, s), "\n"); got != strings.TrimSuffix(c.after, "\n") {
				t.Errorf("got\n%s\nwant\n%s", got, c.after)
			}
			if len(removed) == 0 || removed[0].Tool != c.tool {
				t.Errorf("removed %v", removed)
			}
		})
	}
	s := storeWith(t, `{"a": "ask", "$always": []}`)
	for _, c := range [][2]string{{"b", ""}, {"a", "x"}, {"$always", ""}} {
		if _, err := s.RemoveRules(c[0], c[1]); err == nil || !strings.Contains(err.Error(), "callgate rules list") {
			t.Errorf("remove %q: %v", c, err)
		}
	}
}

// FuzzAddAndRemoveRule checks that an added rule decides, and that removing it leaves the rules unchanged.
func FuzzAddAndRemoveRule(f *testing.F) {
	for _, c := range addCases {
		f.Add(c.before, c.tool, c.pattern, c.first)
	}
	for _, c := range grantEdits {
		f.Add(c.before, "shell_exec", "git push *", false)
	}
	f.Fuzz(func(t *testing.T, before, tool, pattern string, first bool) {
		doc, err := parseDocument("p", []byte(before), "/h")
		if err != nil {
			t.Skip()
		}
		old := doc.rules
		at, err := doc.addRule(tool, pattern, permissions.Confirm, first)
		if err != nil {
			return
		}
		added, err := doc.text()
		if err != nil {
			t.Fatalf("%v\n%s", err, doc.root.Pack())
		}
		if a, b := comments(t, []byte(before)), comments(t, added); a != b {
			t.Fatalf("the comments are %q, were %q:\n%s\n%s", b, a, before, added)
		}
		if doc, err = parseDocument("p", added, "/h"); err != nil || doc.rules[at].Tool != tool {
			t.Fatalf("%v: %s", err, added)
		}
		if _, err = doc.removeRules(tool, pattern); err != nil {
			t.Fatalf("%v: %s", err, added)
		}
		removed, err := doc.text()
		if err != nil {
			t.Fatalf("%v\n%s", err, doc.root.Pack())
		}
		file, err := permissions.ParseFile("p", removed, "/h")
		if err != nil || len(file.Rules) != len(old) {
			t.Fatalf("%v\nbefore %s\nadded %s\nremoved %s", err, before, added, removed)
		}
		for i := range old {
			if !sameRule(old[i], file.Rules[i]) {
				t.Fatalf("rule %d is %v, was %v", i, &file.Rules[i], &old[i])
			}
		}
	})
}

// comments returns the text of all comments, without white space and commas.
func comments(t *testing.T, text []byte) string {
	root, err := jsonc.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	with := root.Pack()
	root.Standardize()
	var b strings.Builder
	for i, c := range root.Pack() {
		if with[i] != c && !strings.ContainsRune(" \t\r\n,", rune(with[i])) {
			b.WriteByte(with[i])
		}
	}
	return b.String()
}

func TestReplaceKeepsWhatOthersGranted(t *testing.T) {
	const file = `{"*": "ask", "$always": [{"tool": "a", "pattern": "old", "risk": "WRITE"}]}`
	s := storeWith(t, file)
	base, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	// While the copy is edited, one process adds a grant and another revokes one.
	if err := Open(s.Path(), Options{}).AddGrants([]permissions.Grant{grantFor("new")}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(s.Path(), Options{}).RemoveGrants(func(g permissions.Grant) bool { return g.Pattern == "old" }); err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(base), `"ask"`, `"deny" /* mine */`, 1)
	if err := s.Replace(base, []byte(edited)); err != nil {
		t.Fatal(err)
	}
	p := policy(t, s)
	if len(p.Grants) != 1 || p.Grants[0].Pattern != "new" || p.File[0].Action != permissions.Deny || !strings.Contains(text(t, s), "/* mine */") {
		t.Errorf("the file is %s", text(t, s))
	}
}

func TestReplaceRefuses(t *testing.T) {
	s := storeWith(t, `{"*": "ask"}`)
	base := []byte(text(t, s))
	var fault *permissions.FileError
	if err := s.Replace(base, []byte("{\n \"*\": \"alow\"}")); !errors.As(err, &fault) || fault.Line != 2 {
		t.Errorf("a text that does not parse: %v", err)
	}
	if _, err := s.AddRule("a", "x", permissions.Deny, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Replace(base, []byte(`{"*": "allow"}`)); !errors.Is(err, ErrRulesChanged) {
		t.Errorf("somebody else's rule would be lost: %v", err)
	}
	if p := policy(t, s); len(p.File) != 2 {
		t.Errorf("the file is %s", text(t, s))
	}
}

func TestABrokenFileCanBeReplaced(t *testing.T) {
	s := storeWith(t, `{"*": "alow"}`)
	base, err := s.Text()
	if err != nil || string(base) != `{"*": "alow"}` {
		t.Fatalf("%s, %v", base, err)
	}
	if err := s.Replace(base, []byte(`{"*": "allow"}`)); err != nil {
		t.Fatal(err)
	}
	if p := policy(t, s); p.File[0].Action != permissions.Allow {
		t.Error("it does not say what was saved")
	}
}

// TestConcurrentRulesAndGrantsLoseNothing checks that no rule or grant is lost when many stores write at once.
func TestConcurrentRulesAndGrantsLoseNothing(t *testing.T) {
	const each = 15
	s := storeWith(t, "{\n  // mine\n  \"read_file\": \"ask\"\n}\n")
	var work sync.WaitGroup
	errs := make(chan error, 4*each)
	for n := range 4 {
		work.Go(func() {
			own := Open(s.Path(), Options{})
			for i := range each {
				var err error
				if n%2 == 0 {
					_, err = own.AddRule("shell_exec", fmt.Sprintf("cmd%d-%d *", n, i), permissions.Ask, n == 0)
				} else {
					err = own.AddGrants([]permissions.Grant{grantFor(fmt.Sprintf("cmd%d-%d", n, i))})
				}
				errs <- err
			}
		})
	}
	work.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if p := policy(t, s); len(p.File) != 1+2*each || len(p.Grants) != 2*each || !strings.Contains(text(t, s), "// mine") {
		t.Errorf("%d rules and %d grants:\n%s", len(p.File), len(p.Grants), text(t, s))
	}
}
