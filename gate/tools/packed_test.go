package tools

import (
	"slices"
	"strings"
	"testing"

	"callgate/gate/tools/internal/arguments"
	"callgate/internal/jsonx"
)

var packedTexts = []struct {
	text string
	want []string
}{
	{`["a.txt",".env"]`, []string{"a.txt", ".env"}},
	{" [\".env\"]\n", []string{".env"}},
	{`{"path":{"of":".env"}}`, []string{"path", "of", ".env"}},
	{`".env"`, []string{".env"}},
	{`["[\".env\"]"]`, []string{`[".env"]`, ".env"}},
	{`[id].tsx`, nil},
	{`[1]`, nil},
	{`a.txt`, nil},
	{``, nil},
}

func TestUnpacked(t *testing.T) {
	for _, c := range packedTexts {
		if got := arguments.Unpacked(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.text, got, c.want)
		}
	}
}

// A path that arrives as JSON inside a text is also judged as what the text holds.
func TestPathsInTexts(t *testing.T) {
	p := project(t, map[string]string{"a.txt": "x", ".env": "x"})
	fs := Server{Name: "fs", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	shell := Server{Name: "sh", Packages: []string{"mcp-server-commands"}}
	for _, c := range []struct {
		server    Server
		tool      string
		arguments string
		reads     bool // .env
		marked    bool
	}{
		{fs, "read_multiple_files", `{"paths":"[\"a.txt\",\".env\"]"}`, true, true},
		{fs, "read_multiple_files", `{"paths":["[\".env\"]"]}`, true, true},
		{fs, "read_text_file", `{"path":"[\".env\"]"}`, true, true},
		{fs, "read_text_file", `{"path":"\u005b\".env\"]"}`, true, true},
		{fs, "read_text_file", `{"path":"\".env\""}`, true, true},
		{fs, "read_text_file", `{"path":"['.env']"}`, false, true},
		{fs, "read_text_file", `{"path":"[id].tsx"}`, false, false},
		{fs, "read_text_file", `{"path":"a.txt"}`, false, false},
		{shell, "run_process", `{"command_line":"[ -f a.txt ] && echo \"{}\""}`, false, false},
		{Server{Name: "x"}, "anything", `{"paths":"[\"a.txt\",\".env\"]"}`, true, false},
		{Server{Name: "x"}, "anything", `{"v":" [\".env\"]"}`, true, false},
		{Server{Name: "x"}, "anything", `{"v":"{\"path\": \"a.txt\", \"path\": \".env\"}"}`, false, true},
		{Server{Name: "x"}, "anything", `{"v":"` + strings.Repeat("./", 400) + `new/.env"}`, true, false},
		{Server{Name: "x"}, "anything", `{"v":"` + strings.Repeat("src//../", 100) + `new/.env"}`, true, false},
		{Server{Name: "x"}, "anything", `{"v":"\u005b\".env\"]"}`, true, false},
		{Server{Name: "x"}, "anything", `{"v":"\"\\\".env\\\"\""}`, true, false},
	} {
		a := Analyze(Call{Tool: Describe(c.server, c.tool, c.tool, nil), Arguments: []byte(c.arguments), Place: p})
		reads := slices.ContainsFunc(a.Paths, func(path string) bool { return strings.HasSuffix(path, "/.env") })
		marked := slices.ContainsFunc(a.Marks, func(m Mark) bool { return m.Code == "ambiguous" })
		if reads != c.reads || marked != c.marked {
			t.Errorf("%s %s: reads %v, marks %v", c.tool, c.arguments, reads, a.Marks)
		}
	}
}

func FuzzUnpacked(f *testing.F) {
	for _, c := range packedTexts {
		f.Add(c.text)
	}
	p := Place{Dir: "/nonexistent", Roots: []string{"/nonexistent"}}
	f.Fuzz(func(t *testing.T, s string) {
		if got := arguments.Unpacked(s); len(got) > 2*arguments.MaxArguments {
			t.Fatalf("%d texts", len(got))
		}
		arguments := append(append([]byte(`{"path":`), jsonx.Quote(s)...), '}')
		Analyze(Call{Tool: KindTool(KindReadFile), Arguments: arguments, Place: p})
	})
}
