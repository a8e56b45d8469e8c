package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"callgate/internal/testserver/waits"
)

// workspace returns the demo's client and its sandbox folder, which lies beside a file that no tool may reach.
func workspace(t *testing.T) (*client.Client, string) {
	t.Helper()
	outside := t.TempDir()
	dir := filepath.Join(outside, "box")
	files := map[string]string{
		"secret.txt":           "outside",
		"box/README.md":        "# Demo\n\nhello world\n",
		"box/src/main.go":      "package main\n\nfunc main() {}\n",
		"box/src/util/util.go": "package util\n",
		"box/.env":             "TOKEN=hello\n",
		"box/image.bin":        "hello\x00world",
		"box/large.txt":        strings.Repeat("hello\n", maxFile/6+1),
	}
	for name, content := range files {
		path := filepath.Join(outside, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("../secret.txt", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	box, err := openSandbox(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.root.Close() })
	c, err := client.NewInProcessClient(newServer(box))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	return c, box.dir
}

func call(t *testing.T, c *client.Client, tool string, args map[string]any) (text string, isError bool) {
	t.Helper()
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, args
	result, err := c.CallTool(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range result.Content {
		text += mcp.GetTextFromContent(content)
	}
	return text, result.IsError
}

func TestTools(t *testing.T) {
	type args = map[string]any
	tests := []struct {
		name    string
		tool    string
		args    args
		want    string // the whole text or, after "…", a part of it
		isError bool
	}{
		{"reads a file", "read_file", args{"path": "README.md"}, "# Demo\n\nhello world\n", false},
		{"reads by way of a dotted path", "read_file", args{"path": "./src/../README.md"}, "# Demo\n\nhello world\n", false},
		{"refuses a parent", "read_file", args{"path": "../secret.txt"}, "…escapes", true},
		{"refuses an absolute path outside", "read_file", args{"path": "/etc/passwd"}, "…escapes", true},
		{"refuses a missing file", "read_file", args{"path": "nowhere"}, "…nowhere", true},
		{"refuses a folder", "read_file", args{"path": "src"}, "…not a regular file", true},
		{"refuses a binary file", "read_file", args{"path": "image.bin"}, "…not a text file", true},
		{"refuses a large file", "read_file", args{"path": "large.txt"}, "…larger than", true},
		{"refuses a call without its argument", "read_file", args{}, "…path", true},
		{"refuses an argument of another type", "read_file", args{"path": 7}, "…want \"string\"", true},

		{"writes a file and its folders", "write_file", args{"path": "a/b/new.txt", "content": "hi"}, "Wrote 2 bytes to a/b/new.txt.", false},
		{"does not write outside", "write_file", args{"path": "../new.txt", "content": "hi"}, "…escapes", true},
		{"edits one passage", "edit_file", args{"path": "README.md", "old_text": "world", "new_text": "gate"}, "Edited README.md.", false},
		{"does not guess which passage", "edit_file", args{"path": "README.md", "old_text": "o", "new_text": "0"}, "…occurs 3 times", true},
		{"says when the passage is not there", "edit_file", args{"path": "README.md", "old_text": "moon", "new_text": ""}, "…does not occur", true},

		{"finds files below folders", "glob", args{"pattern": "**/*.go"}, "src/main.go\nsrc/util/util.go", false},
		{"finds files of one folder", "glob", args{"pattern": "*.go", "path": "src"}, "src/main.go", false},
		{"finds dot files", "glob", args{"pattern": "*env"}, ".env", false},
		{"finds nothing", "glob", args{"pattern": "*.rs"}, "No file matches.", false},
		{"does not list outside", "glob", args{"pattern": "*", "path": ".."}, "…escapes", true},
		{"refuses a broken pattern", "glob", args{"pattern": "[z-a]"}, "…", true},

		{"greps text files only", "grep", args{"pattern": "^hello", "path": "README.md"}, "README.md:3:hello world", false},
		{"greps folders", "grep", args{"pattern": "^package"}, "src/main.go:1:package main\nsrc/util/util.go:1:package util", false},
		{"greps and finds nothing", "grep", args{"pattern": "goodbye"}, "Nothing found.", false},
		{"does not grep outside", "grep", args{"pattern": "outside", "path": "../secret.txt"}, "…escapes", true},
		{"refuses a broken expression", "grep", args{"pattern": "("}, "…missing closing", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, _ := workspace(t)
			text, isError := call(t, c, test.tool, test.args)
			if isError != test.isError {
				t.Errorf("isError = %v, text %q", isError, text)
			}
			if part, ok := strings.CutPrefix(test.want, "…"); ok && !strings.Contains(text, part) {
				t.Errorf("text %q does not say %q", text, part)
			} else if !ok && text != test.want {
				t.Errorf("text = %q, want %q", text, test.want)
			}
		})
	}
}

func TestAbsolutePathInside(t *testing.T) {
	c, dir := workspace(t)
	if text, isError := call(t, c, "read_file", map[string]any{"path": filepath.Join(dir, ".env")}); isError || text != "TOKEN=hello\n" {
		t.Errorf("got %q, isError %v", text, isError)
	}
}

func TestWhatWasWrittenIsThere(t *testing.T) {
	c, dir := workspace(t)
	call(t, c, "write_file", map[string]any{"path": "notes/one.md", "content": "first line\n"})
	call(t, c, "edit_file", map[string]any{"path": "notes/one.md", "old_text": "first", "new_text": "only"})
	data, err := os.ReadFile(filepath.Join(dir, "notes", "one.md"))
	if err != nil || string(data) != "only line\n" {
		t.Errorf("file holds %q, %v", data, err)
	}
}

func TestSymbolicLinkOutIsNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs the right to create links")
	}
	c, dir := workspace(t)
	if text, isError := call(t, c, "read_file", map[string]any{"path": "link"}); !isError {
		t.Errorf("read through a link: %q", text)
	}
	if text, isError := call(t, c, "write_file", map[string]any{"path": "link", "content": "x"}); !isError {
		t.Errorf("wrote through a link: %q", text)
	}
	if data, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "secret.txt")); err != nil || string(data) != "outside" {
		t.Errorf("the file outside holds %q, %v", data, err)
	}
}

func TestShell(t *testing.T) {
	if _, err := findShell(); err != nil {
		t.Skip(err)
	}
	t.Setenv("DEMO_SECRET", "must not reach the shell")
	c, dir := workspace(t)

	text, isError := call(t, c, "shell_exec", map[string]any{"command": "pwd -P; env; echo oops >&2"})
	if isError || !strings.HasPrefix(text, dir) || !strings.HasSuffix(text, "oops\n") || strings.Contains(text, "DEMO_SECRET") {
		t.Errorf("isError %v, output %q", isError, text)
	}
	if text, isError = call(t, c, "shell_exec", map[string]any{"command": "echo partly; exit 3"}); !isError || text != "partly\nexit status 3" {
		t.Errorf("isError %v, output %q", isError, text)
	}
	if text, isError = call(t, c, "shell_exec", map[string]any{"command": "head -c 100000 /dev/zero | tr '\\0' x"}); isError || !strings.HasSuffix(text, "x\n[34464 bytes more]\n") {
		t.Errorf("isError %v, %d bytes of output end with %q", isError, len(text), text[max(0, len(text)-40):])
	}
	start := time.Now()
	text, isError = call(t, c, "shell_exec", map[string]any{"command": "echo begun; sleep 3600 & sleep 3600", "timeout_seconds": 1})
	if !isError || !strings.HasPrefix(text, "begun\nended after 1s") || time.Since(start) > waits.Limit {
		t.Errorf("isError %v, output %q after %s", isError, text, time.Since(start))
	}
}

// Every tool is annotated, so that a host can tell reading from writing.
func TestAnnotations(t *testing.T) {
	c, _ := workspace(t)
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	readOnly := map[string]bool{}
	for _, tool := range list.Tools {
		if tool.Description == "" || tool.Annotations.Title == "" || tool.Annotations.ReadOnlyHint == nil {
			t.Errorf("%s lacks a description or annotations", tool.Name)
			continue
		}
		readOnly[tool.Name] = *tool.Annotations.ReadOnlyHint
	}
	want := map[string]bool{"read_file": true, "glob": true, "grep": true, "write_file": false, "edit_file": false, "shell_exec": false}
	for name, ro := range want {
		if got, ok := readOnly[name]; !ok || got != ro {
			t.Errorf("%s: listed %v, readOnlyHint %v, want %v", name, ok, got, ro)
		}
	}
}

func TestRunServesStdio(t *testing.T) {
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	var out bytes.Buffer
	if err := run(t.Context(), []string{t.TempDir()}, in, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"name":"callgate-demo"`) {
		t.Errorf("answered %q", out.String())
	}
	if err := run(t.Context(), nil, in, &out); err == nil {
		t.Error("ran without a folder")
	}
	if err := run(t.Context(), []string{filepath.Join(t.TempDir(), "missing")}, in, &out); err == nil {
		t.Error("ran in a folder that is not there")
	}
}
