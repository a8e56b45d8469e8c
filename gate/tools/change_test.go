package tools

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"encoding/json"
)

// nothing hides no file from Changes.
func nothing(string) bool { return false }

func TestChanges(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"a.txt": "one\ntwo\ntwo\n", "image.bin": "PNG\x00", "latin.txt": "caf\xe9", "large.txt": strings.Repeat("x", maxChanged+1), "edge.txt": strings.Repeat("x", maxChanged),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		if err := os.Symlink("a.txt", filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
	}
	filesystem := Server{Name: "f", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	commander := Server{Name: "c", Packages: []string{"@wonderwhy-er/desktop-commander"}}
	for _, tt := range []struct {
		name      string
		server    Server
		tool      string
		arguments string
		state     string // "" for no change
		after     string
		why       string
	}{
		{"a new file", filesystem, "write_file", `{"path":"new.txt","content":"hello\n"}`, ChangeNew, "hello\n", ""},
		{"the whole file", filesystem, "write_file", `{"path":"a.txt","content":"x"}`, ChangeEdited, "x", ""},
		{"the same again", filesystem, "write_file", `{"path":"a.txt","content":"one\ntwo\ntwo\n"}`, ChangeNone, "", ""},
		{"by way of a parent", filesystem, "write_file", `{"path":"folder/../a.txt","content":"x"}`, ChangeEdited, "x", ""},
		{"a passage", filesystem, "edit_file", `{"path":"a.txt","edits":[{"oldText":"one","newText":"1"},{"oldText":"1\ntwo","newText":"1\n2"}]}`, ChangeEdited, "1\n2\ntwo\n", ""},
		{"one of several", filesystem, "edit_file", `{"path":"a.txt","edits":[{"oldText":"two","newText":"2"}]}`, ChangeEdited, "one\n2\ntwo\n", "2 times"},
		{"one that is not there", filesystem, "edit_file", `{"path":"a.txt","edits":[{"oldText":"three","newText":"3"}]}`, ChangeUnknown, "", "not in the file"},
		{"an empty one", filesystem, "edit_file", `{"path":"a.txt","edits":[{"oldText":"","newText":"3"}]}`, ChangeUnknown, "", "empty"},
		{"of a file that is not there", filesystem, "edit_file", `{"path":"b.txt","edits":[{"oldText":"x","newText":"y"}]}`, ChangeUnknown, "", "not in the file"},
		{"an end", commander, "write_file", `{"path":"a.txt","content":"three\n","mode":"append"}`, ChangeEdited, "one\ntwo\ntwo\nthree\n", ""},
		{"no text", filesystem, "write_file", `{"path":"image.bin","content":"x"}`, ChangeUnknown, "", "not text"},
		{"another encoding", filesystem, "write_file", `{"path":"latin.txt","content":"x"}`, ChangeUnknown, "", "not text"},
		{"a folder", filesystem, "write_file", `{"path":"folder","content":"x"}`, ChangeUnknown, "", "cannot be compared"},
		{"too large", filesystem, "write_file", `{"path":"large.txt","content":"x"}`, ChangeUnknown, "", "more than"},
		{"as large as may be", filesystem, "write_file", `{"path":"edge.txt","content":"x"}`, ChangeEdited, "x", ""},
		{"edits of a kind that nobody knows", filesystem, "edit_file", `{"path":"a.txt","edits":[{"line":1}]}`, "", "", ""},
		{"content that is no text", filesystem, "write_file", `{"path":"a.txt","content":[1]}`, "", "", ""},
		{"reading", filesystem, "read_text_file", `{"path":"a.txt"}`, "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			call := Call{Tool: Describe(tt.server, tt.tool, tt.server.Name+"_"+tt.tool, nil), Arguments: []byte(tt.arguments), Place: Place{Dir: dir}}
			if !json.Valid(call.Arguments) {
				t.Fatal("arguments")
			}
			changes := Changes(call, Analyze(call), nothing)
			if tt.state == "" {
				if len(changes) != 0 {
					t.Errorf("got %+v", changes)
				}
				return
			}
			if len(changes) != 1 || changes[0].State != tt.state || changes[0].After != tt.after || !strings.Contains(changes[0].Why, tt.why) {
				t.Fatalf("got %+v", changes)
			}
			if strings.Contains(changes[0].Path, "..") || !filepath.IsAbs(changes[0].Path) {
				t.Errorf("path %s", changes[0].Path)
			}
		})
	}
	if runtime.GOOS == "windows" {
		return
	}
	link := Call{Tool: Describe(filesystem, "write_file", "f_write_file", nil), Arguments: []byte(`{"path":"link","content":"x"}`), Place: Place{Dir: dir}}
	if changes := Changes(link, Analyze(link), nothing); len(changes) != 1 || filepath.Base(changes[0].Path) != "a.txt" || changes[0].Before != "one\ntwo\ntwo\n" {
		t.Errorf("a link: %+v", changes)
	}
	secret := func(path string) bool { return filepath.Base(path) == "a.txt" }
	if changes := Changes(link, Analyze(link), secret); len(changes) != 1 || changes[0].State != ChangeUnknown || changes[0].Before != "" || changes[0].After != "" {
		t.Errorf("a file that may not be read, by way of a link: %+v", changes)
	}
}
