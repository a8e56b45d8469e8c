package pattern

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// globCases lists values that each pattern matches, and values that it does not. They also seed the fuzz target.
var globCases = []struct {
	pattern string
	yes, no []string
}{
	{"*", []string{"", "a", "a/b", ".env", "..", "../x", "a\nb", "/"}, nil},
	{"**", []string{"", "a", "../x"}, nil},
	{"git", []string{"git"}, []string{"", "gi", "gitk", "Git"}},
	{"*.env", []string{".env", "a.env", "/w/.env", "../.env", "a\nb.env"}, []string{".env.local", "env", ".env/"}},
	{"*.env.*", []string{".env.local", "/w/.env.", "a.env.b"}, []string{".env", ".envrc"}},
	{"*credentials*", []string{"credentials", "~/.aws/credentials", "xcredentialsy"}, []string{"credential"}},
	{"a*b*c", []string{"abc", "a/b/c", "axbxbxc", "abcbc"}, []string{"acb", "ab", "abcx"}},
	{"aa*aa", []string{"aaaa", "aaxaa"}, []string{"aaa", "aa"}},
	{"*ab*ab", []string{"abab", "xabxab"}, []string{"ab"}},
	{"*ab*ab*", []string{"abab", "xabxabx"}, []string{"ab", "xabx"}},
	{"*aa*aa*", []string{"aaaa"}, []string{"aaa"}},

	// A trailing ` *` covers the bare command. A star without a space also matches the empty text.
	{"git push *", []string{"git push", "git push ", "git push origin main", "git push --force"}, []string{"git pushd", "git", "agit push"}},
	{"npm run test*", []string{"npm run test", "npm run test:unit"}, []string{"npm run tes"}},
	{`ls \*`, []string{"ls *"}, []string{"ls", "ls a", `ls \*`}},
	{" *", []string{" ", " a"}, []string{"", "a"}},
	{"@(a|b) *", []string{"a", "b", "a x"}, []string{"ax", "c"}},
	{"cat *\n*", []string{"cat a\nrm b"}, []string{"cat a"}},

	// Any depth of folders.
	{"**/.env", []string{".env", "a/.env", "/.env", "a/b/.env"}, []string{"x.env", "a/x.env"}},
	{"src/**", []string{"src", "src/", "src/a", "src/a/.b"}, []string{"srcs", "a/src"}},
	{"src/**/a", []string{"src/a", "src/x/a", "src/x/y/a"}, []string{"srca", "src/xa"}},
	{"**/a/**", []string{"a", "x/a", "a/y", "x/a/y"}, []string{"xa", "ay"}},
	{"a**b", []string{"ab", "a/b"}, []string{"a", "b"}},

	// One character, brackets, classes.
	{"?", []string{"a", ".", "é", "😀", "\n"}, []string{"", "/", "ab"}},
	{"a?b", []string{"axb", "a.b"}, []string{"a/b", "ab"}},
	{"[abc]x", []string{"ax", "cx", "[abc]x"}, []string{"dx", "x"}},
	{"[id].ts", []string{"i.ts", "d.ts", "[id].ts"}, []string{"id.ts"}},
	{"[a-c]", []string{"b"}, []string{"d", "[a-c]", "-"}},
	{"[!a-c]", []string{"d", "!", "\n"}, []string{"a", "/", ""}},
	{"[^a]b", []string{"xb"}, []string{"ab", "/b"}},
	{"[]a]", []string{"]", "a"}, []string{"b"}},
	{"[!]a]", []string{"b"}, []string{"]", "a", "/"}},
	{"[!-a]", []string{"b", "0"}, []string{"-", "a", "/"}},
	{"[a-]", []string{"a", "-"}, []string{"b"}},
	{`[\]x]`, []string{"]", "x"}, []string{`\`}},
	{"[[:alpha:]]", []string{"a", "Z"}, []string{"1", "é"}},
	{"[[:digit:]_]x", []string{"1x", "_x"}, []string{"ax"}},
	{"[![:digit:]]", []string{"a"}, []string{"1", "/"}},
	{"[a", []string{"[a"}, []string{"a"}},
	{"[]", []string{"[]"}, nil},
	{"a]", []string{"a]"}, nil},

	// Braces.
	{"*.{js,ts}", []string{"a.js", "a/b.ts"}, []string{"a.jsx", "a.{js,ts}"}},
	{"a{b,c{d,e}}", []string{"ab", "acd", "ace"}, []string{"ac", "abd"}},
	{"{,a}b", []string{"b", "ab"}, []string{"a"}},
	{"{a}", []string{"{a}"}, []string{"a"}},
	{"HEAD@{1}", []string{"HEAD@{1}"}, []string{"HEAD@1"}},
	{"{}", []string{"{}"}, []string{""}},
	{"x}", []string{"x}"}, nil},
	{"{1..3}", []string{"1", "2", "3"}, []string{"0", "4", "{1..3}"}},
	{"{1..10}", []string{"1", "5", "10"}, []string{"0", "11"}},
	{"{3..1}", []string{"1", "2", "3"}, []string{"4"}},
	{"{-1..1}", []string{"-1", "0", "1"}, []string{"-2"}},
	{"{08..10}", []string{"08", "09", "10"}, []string{"8"}},
	{"{1..9..4}", []string{"1", "5", "9"}, []string{"2"}},
	{"{a..c}x", []string{"ax", "cx"}, []string{"dx"}},
	{"{Z..b}", []string{"Z", "a", "b", "^", `\`}, []string{"c", "Y"}},
	{"{a,[,]}", []string{"a", ","}, []string{"["}},
	{`{a\,b,c}`, []string{"a,b", "c"}, []string{"a"}},
	{"{a|b,c}", []string{"a|b", "c"}, []string{"a"}},

	// Extended groups.
	{"@(a|b)c", []string{"ac", "bc"}, []string{"c", "abc"}},
	{"?(a)b", []string{"b", "ab"}, []string{"aab"}},
	{"*(ab)c", []string{"c", "abc", "ababc"}, []string{"ac"}},
	{"+(a|b)", []string{"a", "abba"}, []string{"", "c"}},
	{"**(a)", []string{"", "xa", "x"}, nil},
	{"@(a|@(b|c))", []string{"a", "b", "c"}, []string{"d"}},
	{"@({a,b}|c)", []string{"a", "b", "c"}, []string{"{a,b}"}},
	{`@(a\|b)`, []string{"a|b"}, []string{"a", "b"}},
	{"@(*.go|Makefile)", []string{"x/y.go", "Makefile"}, []string{"go"}},
	{"a|b", []string{"a|b"}, []string{"a"}},
	{"a+@!b", []string{"a+@!b"}, []string{"aab"}},

	// Negation: everything that the pattern allows, except what it would match with the group's alternatives.
	{"!(a)", []string{"", "b", "ab", "x/y"}, []string{"a"}},
	{"!(*.md)", []string{"a", "a.mdx"}, []string{"a.md", "x/a.md"}},
	{"src/!(a|b)", []string{"src/c", "src/ab", "src/"}, []string{"src/a", "src/b", "a"}},
	{"a!(b)c", []string{"ac", "axc", "abxc", "abbc"}, []string{"abc", "ab"}},
	{"*.!(env)", []string{"a.b", "a.env.b"}, []string{".env", "a.b.env", "a"}},
	{"src/!(test)*", []string{"src/main.go"}, []string{"src/test", "src/test.go"}},
	{"!(a)-!(b)", []string{"x-y", "-"}, []string{"a-y", "x-b", "a-b", "xy"}},
	{"git !(push) *", []string{"git pull", "git pull x"}, []string{"git push", "git push x", "git"}},
	{"!*.md", []string{"a.txt", ""}, []string{"a.md"}},
	{"!git *", []string{"ls"}, []string{"git", "git x"}},
	{`\!a`, []string{"!a"}, []string{"b"}},

	// Escapes, and characters that are special only elsewhere.
	{`\*`, []string{"*"}, []string{"a", `\*`}},
	{`a\?\[\{\(\"\\`, []string{`a?[{("\`}, nil},
	{"a.b^c$", []string{"a.b^c$"}, []string{"axb^c$"}},
	{"./run *", []string{"./run", "./run x"}, []string{"run", "run x"}},
	{"it's", []string{"it's"}, nil},
	{"é*", []string{"é", "éa"}, []string{"e\u0301"}},
}

func TestGlob(t *testing.T) {
	for _, c := range globCases {
		g, err := Compile(c.pattern)
		if err != nil {
			t.Errorf("Compile: %v", err)
			continue
		}
		for _, s := range c.yes {
			if !g.Match(s) {
				t.Errorf("%q does not match %q", c.pattern, s)
			}
			holds := formSignature([]string{s})
			if holds.lacks(&g.needs) {
				t.Errorf("the signature of %q rules out %q, which matches", c.pattern, s)
			}
		}
		for _, s := range c.no {
			if g.Match(s) {
				t.Errorf("%q matches %q", c.pattern, s)
			}
		}
		if g.String() != c.pattern {
			t.Errorf("String() = %q, want %q", g, c.pattern)
		}
	}
}

// refusedGlobs lists, for each refused pattern, what its error must contain: what to write instead.
var refusedGlobs = []struct{ pattern, want string }{
	{"", `write "*"`},
	{"(a|b)", "write @(a|b)"},
	{"echo $(x)", `\( for the character`},
	{`"a*"`, `write \"`},
	{"{a,b", `\{ for the character`},
	{"@(a", `write @\(`},
	{"+(a{b|c)", "unclosed +("},
	{`a\`, `write \\`},
	{`C:\Users\*`, "write / between path elements"},
	{"!!a", "write one !"},
	{"@(a|!(b))", "one rule for each alternative"},
	{"{a,!(b)}", "one rule for each alternative"},
	{"!(!(a))", "one rule for each alternative"},
	{"[c-a]", "invalid range"},
	{"[[:nope:]]", "charClass invalid"},
	{"[[=a=]]", "charClass invalid"},
	{"a\x00b", "NUL"},
	{"a\xffb", "UTF-8"},
	{"{1..1000000000}", "alternatives"},
	{"{1..999999999}", "alternatives"},
	{strings.Repeat("{a,b}", 501), "alternatives"},
	{strings.Repeat("{1..40}", 30), "alternatives"},
	{strings.Repeat("@(", 20) + "a" + strings.Repeat(")", 20), "deeper"},
	{strings.Repeat("[a]", 1000), "longer than"},
	{strings.Repeat("a", maxGlobText+1), "longer than"},
}

func TestGlobRefusals(t *testing.T) {
	for _, c := range refusedGlobs {
		g, err := Compile(c.pattern)
		if err == nil {
			t.Errorf("%q is accepted", Abbreviate(c.pattern))
			continue
		}
		if g != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %q does not say %q", Abbreviate(c.pattern), err, c.want)
		}
	}
}

// TestGlobDepartures checks where picomatch gives the opposite answer, see the comment on Glob.
func TestGlobDepartures(t *testing.T) {
	cases := []struct {
		pattern, value string
		match          bool
	}{
		{"*.env", "../.env", true},
		{"*", "..", true},
		{"git *", "git a\nb", true},
		{"git *", "git", true},
		{"[!a]", "b", true},
		{"[!a]", "!", true},
		{"[!a]", "a", false},
		{"a!(b)c", "abxc", true},
		{"*.!(env)", "a.b.env", false},
		{"{1..10}", "10", true},
		{"{1..10}", "0", false},
		{"./a", "a", false},
		{"*.env", "x.env/", false},
		{"*", "", true},
		{"?", "😀", true},
		{"+(a|aa)", "aaa", true},
		{"*.*", "a.", true},
		{`\*`, `\*`, false},
		{"[a-c]", "[a-c]", false},
	}
	for _, c := range cases {
		if got := mustGlob(t, c.pattern).Match(c.value); got != c.match {
			t.Errorf("%q on %q = %v, want %v", c.pattern, c.value, got, c.match)
		}
	}
}

func TestGlobAgreesWithPicomatch(t *testing.T) {
	table, err := os.ReadFile("testdata/picomatch.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	rows, matches := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(table)); lines.Scan(); rows++ {
		var row struct {
			Pattern, Value string
			Match          bool
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Match {
			matches++
		}
		if got := mustGlob(t, row.Pattern).Match(row.Value); got != row.Match {
			t.Errorf("%q on %q = %v, picomatch %v", row.Pattern, row.Value, got, row.Match)
		}
	}
	if rows < 3000 || matches < 1000 {
		t.Errorf("the table holds %d rows, %d of them matches: too few to tell", rows, matches)
	}
}

// TestPicomatchTable checks the table against picomatch 4, if PICOMATCH_DIR names an installed one.
func TestPicomatchTable(t *testing.T) {
	if os.Getenv("PICOMATCH_DIR") == "" {
		t.Skip("PICOMATCH_DIR is not set")
	}
	want, err := exec.Command("node", "testdata/picomatch.mjs").Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("testdata/picomatch.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("testdata/picomatch.jsonl is not what testdata/picomatch.mjs prints")
	}
}

func TestQuoteMatchesOnlyTheText(t *testing.T) {
	texts := rapid.OneOf(rapid.StringMatching(`[ a-c\\*?\[\]{}()!+@|"=~$.,/^#-]{1,12}`), rapid.StringN(1, 20, -1))
	rapid.Check(t, func(t *rapid.T) {
		s, other := texts.Draw(t, "text"), texts.Draw(t, "other")
		if strings.Contains(s, "\x00") || strings.ToValidUTF8(s, "") != s {
			t.Skip("not the text of a pattern")
		}
		p, err := CompileValue(Quote(s))
		if err != nil {
			t.Fatal(err)
		}
		if p.argument != nil {
			t.Errorf("%q reads as an argument pattern", Quote(s))
		}
		if !p.Glob.Match(s) {
			t.Errorf("%q does not match its text", Quote(s))
		}
		if p.Glob.Match(other) != (other == s) {
			t.Errorf("%q matches %q", Quote(s), other)
		}
	})
}

func TestGlobOfTextAndStarsDoesNotAllocate(t *testing.T) {
	for _, pattern := range []string{"git push *", "*.env", "**/.env", "src/**", "a*b*c"} {
		g := mustGlob(t, pattern)
		if n := testing.AllocsPerRun(100, func() { g.Match("git push origin main") }); n != 0 {
			t.Errorf("%q allocates %v times", pattern, n)
		}
	}
}

func FuzzCompile(f *testing.F) {
	for _, c := range globCases {
		for _, s := range append(c.yes, c.no...) {
			f.Add(c.pattern, s)
		}
	}
	for _, c := range refusedGlobs {
		f.Add(c.pattern, "a")
	}
	f.Fuzz(func(t *testing.T, pattern, value string) {
		g, err := Compile(pattern)
		if (g == nil) == (err == nil) {
			t.Fatalf("got %v and error %v", g, err)
		}
		if err != nil {
			return
		}
		match := g.Match(value)
		holds := formSignature([]string{value})
		if match && holds.lacks(&g.needs) && strings.ToValidUTF8(value, "") == value {
			t.Errorf("the signature of %q rules out %q, which matches", pattern, value)
		}
		if g.All() && !match {
			t.Errorf("%q matches everything but %q", pattern, value)
		}
	})
}

func mustGlob(t testing.TB, pattern string) *Glob {
	t.Helper()
	g, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func BenchmarkGlob(b *testing.B) {
	for _, pattern := range []string{"git push *", "*credentials*", "/srv/[a-f]*/*.{js,ts}", "src/!(test)*"} {
		b.Run(pattern, func(b *testing.B) {
			g := mustGlob(b, pattern)
			b.ReportAllocs()
			for b.Loop() {
				g.Match("/srv/data/projects/app/src/index.ts")
			}
		})
	}
}
