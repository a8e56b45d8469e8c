package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"encoding/json"
)

func benchmarkAnalyze(b *testing.B, t *Tool, arguments string, p Place) {
	c := Call{Tool: t, Arguments: []byte(arguments), Place: p}
	b.ReportAllocs()
	for b.Loop() {
		if a := Analyze(c); len(a.Subjects) == 0 {
			b.Fatal("no subject")
		}
	}
}

func benchPlace(b *testing.B) Place {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "src", "app"), 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "app", "main.go"), []byte("package main\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	return Place{Dir: dir, Roots: []string{dir}, Home: "/home/somebody"}
}

func BenchmarkAnalyzeUnknownTool(b *testing.B) {
	t := Describe(Server{Name: "srv"}, "make_greeting", "srv_make_greeting", []byte(`{"name":"make_greeting","inputSchema":{"type":"object"}}`))
	benchmarkAnalyze(b, t, `{"name":"somebody","times":3,"polite":true}`, benchPlace(b))
}

func BenchmarkAnalyzeCatalogueTool(b *testing.B) {
	t := Describe(Server{Name: "mem", Packages: []string{"@modelcontextprotocol/server-memory"}}, "search_nodes", "mem_search_nodes", nil)
	benchmarkAnalyze(b, t, `{"query":"somebody"}`, benchPlace(b))
}

func BenchmarkAnalyzeReadFile(b *testing.B) {
	benchmarkAnalyze(b, KindTool(KindReadFile), `{"path":"src/app/main.go"}`, benchPlace(b))
}

func BenchmarkAnalyzeWriteLargeFile(b *testing.B) {
	content, err := json.Marshal(strings.Repeat("a line of text\n", 1<<16))
	if err != nil {
		b.Fatal(err)
	}
	benchmarkAnalyze(b, KindTool(KindWriteFile), `{"path":"src/app/main.go","content":`+string(content)+`}`, benchPlace(b))
}

func BenchmarkAnalyzeShell(b *testing.B) {
	benchmarkAnalyze(b, KindTool(KindShell), `{"command":"git status && go test ./... 2>&1 | tail -5"}`, benchPlace(b))
}

func BenchmarkVisible(b *testing.B) {
	b.ReportAllocs()
	s := strings.Repeat("plain text ", 10)
	for b.Loop() {
		if Visible(s) != s {
			b.Fatal("changed")
		}
	}
}

func BenchmarkDescribe(b *testing.B) {
	definition := []byte(`{"name":"read_text_file","description":"Reads a file","inputSchema":{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"number"}}},"annotations":{"readOnlyHint":true}}`)
	s := Server{Name: "fs", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	b.ReportAllocs()
	for b.Loop() {
		if !Describe(s, "read_text_file", "fs_read_text_file", definition).Bound {
			b.Fatal("not bound")
		}
	}
}
