package chunks

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
	"callgate/rag/internal/hostile"
)

// shape is an expected chunk: lines, symbol, definitions.
type shape struct {
	start, end int
	symbol     string
	defines    string
}

func shapes(chunks []Chunk) (out []shape) {
	for _, c := range chunks {
		out = append(out, shape{c.Start, c.End, c.Symbol, strings.Join(c.Defines, " ")})
	}
	return out
}

// long returns n lines, too many to share a chunk with others.
func long(indent string, n int) string {
	return strings.Repeat(indent+"value = compute_something(value, other_value, third_value)\n", n)
}

var chunkings = []struct {
	name, file, src string
	want            []shape
}{
	{"empty", "a.go", "", nil},
	{"blank", "a.py", "\n\n  \n", nil},
	{
		"small things stand together", "a.py",
		"import os\n\ndef one():\n    return 1\n\nclass Two:\n    pass\n",
		[]shape{{1, 7, "one", "one Two"}},
	},
	{
		"functions are kept whole, comments stay with them", "a.py",
		"# about f\ndef f():\n" + long("    ", 20) + "\n# about g\n@decorator\ndef g():\n" + long("    ", 20),
		[]shape{{1, 22, "f", "f"}, {24, 46, "g", "g"}},
	},
	{
		"a long class is split at its methods, which know it", "a.py",
		"class Big:\n    def one(self):\n" + long("        ", 18) + "    def two(self):\n" + long("        ", 18),
		[]shape{{1, 20, "Big", "Big one"}, {21, 39, "two", "two"}},
	},
	{
		"braces close with what they closed", "a.js",
		"function one() {\n" + long("  ", 20) + "}\nconst two = async (x) => {\n" + long("  ", 20) + "};\n",
		[]shape{{1, 22, "one", "one"}, {23, 44, "two", "two"}},
	},
	{
		"Go declarations", "a.go",
		"package a\n\n// T is a type.\ntype T struct{ x int }\n\n// Do does.\nfunc (t *T) Do() {\n" + long("\t", 40) + "}\n\nvar a, _, b = 1, 2, 3\n",
		[]shape{{1, 31, "T", "T Do"}, {32, 50, "Do", "a b"}},
	},
	{
		"Go with many brackets in a text", "a.go",
		"package a\n\nvar open = `" + strings.Repeat("(", 501) + "`\n\nfunc Do() {}\n",
		[]shape{{1, 5, "Do", "open Do"}},
	},
	{
		"Go that does not parse is text with indentation", "a.go",
		"package a\n\nfunc broken( {\n\treturn\n}\n",
		[]shape{{1, 5, "broken", "a broken"}},
	},
	{
		"Markdown by headings", "a.md",
		"# Title\n\nintro " + strings.Repeat("word ", 60) + "\n\n## Install\n\n```sh\n# not a heading\nmake\n```\n" + strings.Repeat("more ", 60) + "\n\n## Use\n\nshort\n",
		[]shape{{1, 3, "Title", "Title"}, {5, 11, "Title > Install", "Install"}, {13, 15, "Title > Use", "Use"}},
	},
	{
		"an endless line is cut, and nothing is lost", "a.txt", strings.Repeat("word ", 2000),
		[]shape{{1, 1, "", ""}, {1, 1, "", ""}, {1, 1, "", ""}, {1, 1, "", ""}},
	},
}

func TestChunkFile(t *testing.T) {
	for _, c := range chunkings {
		t.Run(c.name, func(t *testing.T) {
			chunks := Of(LanguageOf(c.file, nil), c.src)
			if got := shapes(chunks); !slices.Equal(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			checkChunks(t, c.src, chunks)
		})
	}
}

// checkChunks checks the contract of chunks: they are in order, do not overlap, have the text of their lines, and
// together cover everything but blank lines.
func checkChunks(t *testing.T, src string, chunks []Chunk) {
	t.Helper()
	split := strings.Split(src, "\n")
	lines := len(split)
	covered := 0
	last := 0
	for i, c := range chunks {
		if c.Start < 1 || c.End < c.Start || c.End > lines {
			t.Fatalf("chunk %d has lines %d to %d of %d", i, c.Start, c.End, lines)
		}
		whole := strings.Join(split[c.Start-1:c.End], "\n")
		if !strings.Contains(whole, c.Text) {
			t.Fatalf("chunk %d, lines %d to %d, is not what the lines are:\n%q\n%q", i, c.Start, c.End, c.Text, whole)
		}
		if c.Start < last {
			t.Fatalf("chunk %d starts at line %d, the one before ends at %d", i, c.Start, last)
		}
		if c.Start == last && whole == c.Text {
			t.Fatalf("chunk %d has line %d a second time", i, c.Start)
		}
		last = c.End
		covered += len(withoutSpace(c.Text))
	}
	if want := len(withoutSpace(src)); covered != want {
		t.Fatalf("chunks have %d bytes beside space, the source has %d", covered, want)
	}
}

func withoutSpace(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, s)
}

var definitionLines = []struct{ lang, line, name string }{
	{"python", "async def fetch(url):", "fetch"},
	{"python", "class Foo(Bar):", "Foo"},
	{"python", "return helper(x)", ""},
	{"rust", "pub(crate) async unsafe fn spawn<T>(f: T) {", "spawn"},
	{"rust", "impl<T> Future for Join<T> {", "Future"},
	{"rust", "macro_rules! select {", "select"},
	{"typescript", "export default abstract class Shape<T> {", "Shape"},
	{"typescript", "export const parse = <T>(x: T) => {", "parse"},
	{"javascript", "async handle(req, res) {", "handle"},
	{"javascript", "exports.render = function (x) {", "render"},
	{"javascript", "if (ready) {", ""},
	{"javascript", "describe('x', () => {", ""},
	{"java", "public static <T> List<T> of(T... x) {", "of"},
	{"java", "private final Foo foo = new Foo();", ""},
	{"java", "return compute(x);", ""},
	{"csharp", "public override async Task<int> ReadAsync(byte[] b)", "ReadAsync"},
	{"c", "static int foo_bar(struct x *p)", "foo_bar"},
	{"c", "#define MAX_SIZE 10", "MAX_SIZE"},
	{"c", "\tfoo(bar);", ""},
	{"cpp", "void Widget::paint(Canvas& c) {", "paint"},
	{"php", "public function &handle(Request $r): Response", "handle"},
	{"ruby", "def self.call(env)", "call"},
	{"ruby", "class Foo::Bar < Baz", "Bar"},
	{"elixir", "defmacrop wrap(x) do", "wrap"},
	{"kotlin", "inline fun <reified T> Foo.bar(x: T) {", "bar"},
	{"kotlin", "data class Point(val x: Int)", "Point"},
	{"swift", "public func request(_ url: URL) -> Request {", "request"},
	{"lua", "local function split(s)", "split"},
	{"lua", "function M.actions.close(n)", "close"},
	{"haskell", "parseJSON :: Value -> Parser a", "parseJSON"},
	{"bash", "run_tests() {", "run_tests"},
	{"bash", "echo (x)", ""},
	{"scala", "case class User(name: String)", "User"},
	{"protobuf", "message Request {", "Request"},
}

func TestDefinedBy(t *testing.T) {
	for _, c := range definitionLines {
		text := strings.TrimLeft(c.line, " \t")
		if got, _ := definedBy(c.lang, text, len(c.line)-len(text)); got != c.name {
			t.Errorf("%s: %q defines %q, want %q", c.lang, c.line, got, c.name)
		}
	}
}

func TestHostileFiles(t *testing.T) {
	for name, src := range hostile.Texts() {
		for _, file := range []string{"a.go", "a.py", "a.md", "a.js"} {
			start := time.Now()
			chunks := Of(LanguageOf(file, nil), src)
			checkChunks(t, src, chunks)
			if took := time.Since(start); took > waits.Limit {
				t.Errorf("%s as %s took %s", name, file, took)
			}
		}
	}
}

func FuzzChunkFile(f *testing.F) {
	for _, c := range chunkings {
		f.Add(c.file, c.src)
	}
	for _, c := range definitionLines {
		f.Add("a."+c.lang, c.line+"\n")
	}
	f.Fuzz(func(t *testing.T, file, src string) {
		checkChunks(t, src, Of(LanguageOf(file, []byte(src)), src))
	})
}

func TestLanguageOf(t *testing.T) {
	for _, c := range []struct{ name, head, want string }{
		{"a/b.go", "", "go code"}, {"X.TSX", "", "typescript code"}, {"Makefile", "", "make config"}, {"README", "", "text doc"},
		{"run", "#!/usr/bin/env -S python3.12 -u\n", "python code"}, {"run", "#!/bin/sh\n", "bash code"}, {"run", "#!", "text doc"},
		{"run", "plain", "text doc"}, {".bashrc", "", "text doc"}, {"docs/a.md", "", "markdown doc"}, {"x.yml", "", "yaml config"},
	} {
		l := LanguageOf(c.name, []byte(c.head))
		if got := fmt.Sprint(l.Name, " ", l.Kind); got != c.want {
			t.Errorf("%s %q is %s, want %s", c.name, c.head, got, c.want)
		}
	}
}

func BenchmarkChunkFile(b *testing.B) {
	src := strings.Repeat("class Big:\n    def one(self):\n"+long("        ", 18)+"\n", 20)
	l := LanguageOf("a.py", nil)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		Of(l, src)
	}
}
