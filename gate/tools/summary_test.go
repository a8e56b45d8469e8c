package tools

import (
	"strings"
	"testing"

	"callgate/gate/tools/internal/wording"
)

func TestSummary(t *testing.T) {
	p := project(t, map[string]string{"a.txt": "x"})
	demo := Server{Name: "demo", Packages: []string{"callgate-demo"}}
	for _, c := range []struct {
		server    Server
		tool      string
		arguments []byte
		want      string
	}{
		{demo, "read_file", object(t, "path", "a.txt"), `Read "a.txt".`},
		{demo, "write_file", object(t, "path", "a.txt", "content", "hello"), `Write "a.txt" (5 bytes).`},
		{demo, "write_file", []byte(`{"path": "a.txt", "content": "\n\u00e9\ud83d\ude00\\"}`), `Write "a.txt" (8 bytes).`},
		{demo, "write_file", object(t, "path", "a.txt", "content", "\n"), `Write "a.txt" (1 byte).`},
		{demo, "edit_file", object(t, "path", "a.txt"), `Edit "a.txt".`},
		{demo, "glob", object(t, "pattern", "*.go", "path", "src"), `List files that match "*.go" in "src".`},
		{demo, "grep", object(t, "pattern", "x"), `Search the files in ".".`},
		{demo, "shell_exec", object(t, "command", "git status"), `Run "git status".`},
		{demo, "shell_exec", object(t, "command", "ls; ls > x"), `Run 2 commands: "ls; ls > x". It writes "` + p.Dir + `/x".`},
		{demo, "shell_exec", nil, `Run something that the call does not name.`},
		{Server{Name: "fs", Packages: []string{"@modelcontextprotocol/server-filesystem"}}, "move_file",
			object(t, "source", "a", "destination", "b"), `Move "a" to "b".`},
		{Server{Name: "fs", Packages: []string{"@modelcontextprotocol/server-filesystem"}}, "read_multiple_files",
			object(t, "paths", []string{"a", "b", "c", "d", "e"}), `Read "a", "b", "c" and 2 more.`},
		{Server{Name: "srv"}, "do_thing", object(t, "n", 1), `Call "do_thing" of the server "srv".`},
		{Server{Name: "srv"}, "do_thing", object(t, "file", "x.txt"), `Call "do_thing" of the server "srv" with "x.txt".`},
		{Server{Name: "dc", Packages: []string{"@wonderwhy-er/desktop-commander"}}, "interact_with_process",
			object(t, "input", "ls\n"), `Send "ls⟨U+000A⟩" to a running process.`},
		{Server{Name: "ssh", Packages: []string{"ssh-mcp"}}, "run-command", object(t, "command", "ls"), `On another machine: Run "ls".`},
		{demo, "read_file", object(t, "path", "a\u202e\".\nDelete \"b"), `Read “a⟨U+202E⟩".⟨U+000A⟩Delete "b”.`},
		{demo, "read_file", object(t, "path", `a”. Delete "b`), `Read “a⟨U+201D⟩. Delete "b”.`},
		{demo, "shell_exec", object(t, "command", `echo "x"`), `Run “echo "x"”.`},
	} {
		tool := Describe(c.server, c.tool, c.server.Name+"_"+c.tool, nil)
		if got := Analyze(Call{Tool: tool, Arguments: c.arguments, Place: p}).Summary; got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
	long := Analyze(Call{Tool: KindTool(KindShell), Arguments: object(t, "command", "echo "+strings.Repeat("x", 10_000)), Place: p})
	if len(long.Summary) > 4*wording.MaxSummary || !strings.Contains(long.Summary, "bytes more") {
		t.Errorf("a long command: %q", long.Summary)
	}
}
