package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/gate/tools/internal/arguments"
	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/kinds"
	"callgate/permissions"
)

// describe renders a subject for a table: kind, value, class, and what is special about it.
func describe(p Place, s *permissions.Subject) string {
	value := strings.ReplaceAll(s.Value, p.Dir, "$WS")
	out := fmt.Sprintf("%s %q %s", s.Kind, value, s.Risk)
	if !s.KindBound && s.Kind != "" {
		out += " unbound"
	}
	if s.DeniesOnly {
		out += " denies"
	}
	if len(s.Effects) > 0 {
		out += " effect"
	}
	if s.Arguments != nil {
		out += " arguments"
	}
	return out
}

func TestSubjects(t *testing.T) {
	p := project(t, map[string]string{"a.txt": "x", "b.txt": "x", "src/main.go": "x", ".env": "x"})
	demo := Server{Name: "demo", Packages: []string{"callgate-demo"}}
	fs := Server{Name: "fs", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	dc := Server{Name: "dc", Packages: []string{"@wonderwhy-er/desktop-commander"}}
	git := Server{Name: "git", Packages: []string{"mcp-server-git"}}
	ssh := Server{Name: "ssh", Packages: []string{"ssh-mcp"}}
	kube := Server{Name: "kube", Packages: []string{"kubernetes-mcp-server"}}
	browser := Server{Name: "pw", Packages: []string{"@playwright/mcp"}}
	memory := Server{Name: "mem", Packages: []string{"@modelcontextprotocol/server-memory"}}
	sqlite := Server{Name: "db", Packages: []string{"mcp-server-sqlite"}}
	mako := Server{Name: "sh", Packages: []string{"@mako10k/mcp-shell-server"}}
	unknown := Server{Name: "srv"}
	for _, c := range []struct {
		name      string
		server    Server
		tool      string
		arguments string
		subjects  []string
		marks     []string
		risk      permissions.Risk
		category  string
	}{
		{"read", demo, "read_file", `{"path":"a.txt"}`, []string{`read_file "a.txt" READ_ONLY`}, nil, permissions.ReadOnly, kinds.CategoryRead},
		{"write", demo, "write_file", `{"path":"a.txt","content":"x"}`, []string{`write_file "a.txt" WRITE`}, nil, permissions.Write, kinds.CategoryWrite},
		{"several files", fs, "read_multiple_files", `{"paths":["a.txt",".env"]}`,
			[]string{`read_file "a.txt" READ_ONLY`, `read_file ".env" READ_ONLY`}, nil, permissions.ReadOnly, kinds.CategoryRead},
		{"a move is denied by what denies reading or writing either end", fs, "move_file", `{"source":"a.txt","destination":"c.txt"}`,
			[]string{`move_file "a.txt" WRITE`, `read_file "$WS/a.txt" READ_ONLY denies`, `write_file "$WS/a.txt" READ_ONLY denies`,
				`move_file "c.txt" WRITE`, `write_file "$WS/c.txt" READ_ONLY denies`}, nil, permissions.Write, kinds.CategoryWrite},
		{"a glob is judged with its folder", demo, "glob", `{"pattern":"*.go","path":"src"}`,
			[]string{`glob "*.go" READ_ONLY`, `glob "$WS/src" READ_ONLY denies`}, nil, permissions.ReadOnly, kinds.CategoryRead},
		{"a search", demo, "grep", `{"pattern":"KEY","path":"src"}`,
			[]string{`grep "src" READ_ONLY`, `read_file "$WS/src" READ_ONLY denies`}, nil, permissions.ReadOnly, kinds.CategoryRead},
		{"a search where it runs", demo, "grep", `{"pattern":"KEY"}`,
			[]string{`grep "." READ_ONLY`, `read_file "$WS" READ_ONLY denies`}, nil, permissions.ReadOnly, kinds.CategoryRead},
		{"listing a folder reads nothing in it", fs, "list_directory", `{"path":"src"}`, []string{`glob "src" READ_ONLY`}, nil, permissions.ReadOnly, kinds.CategoryRead},
		{"an address where a path is expected", dc, "read_file", `{"path":"https://example.com/x","isUrl":true}`,
			[]string{`web_fetch "https://example.com/x" NETWORK`, `read_file "https://example.com/x" READ_ONLY`}, nil, permissions.Network, CategoryNetwork},
		{"an argument that nobody mapped", demo, "read_file", `{"path":"a.txt","also":"b.txt"}`,
			[]string{`read_file "a.txt" READ_ONLY`}, []string{"unmapped-argument"}, permissions.ReadOnly, kinds.CategoryRead},
		{"the value is missing", demo, "read_file", `{}`, []string{`read_file "" UNKNOWN`}, []string{"no-subject"}, permissions.Unknown, kinds.CategoryRead},
		{"the value is null", demo, "read_file", `{"path":null}`, []string{`read_file "" UNKNOWN`}, []string{"no-subject"}, permissions.Unknown, kinds.CategoryRead},
		{"the value is no text", demo, "read_file", `{"path":{"a":1}}`, []string{`read_file "" UNKNOWN`}, []string{"unexpected-type", "no-subject"}, permissions.Unknown, kinds.CategoryRead},
		{"a list with something else in it", fs, "read_multiple_files", `{"paths":["a.txt",7]}`, []string{`read_file "a.txt" READ_ONLY`}, []string{"unexpected-type"}, permissions.ReadOnly, kinds.CategoryRead},
		{"a tool without values", memory, "search_nodes", `{"query":"x"}`, []string{` "" READ_ONLY arguments`}, nil, permissions.ReadOnly, kinds.CategoryRead},
		{"no arguments at all", memory, "read_graph", ``, []string{` "" READ_ONLY arguments`}, nil, permissions.ReadOnly, kinds.CategoryRead},
		{"a tool that writes a file besides", browser, "browser_take_screenshot", `{"filename":"shot.png"}`,
			[]string{` "" READ_ONLY arguments`, `write_file "shot.png" WRITE`}, nil, permissions.Write, CategoryNetwork},
		{"program text", browser, "browser_evaluate", `{"function":"() => 1"}`, []string{` "" UNKNOWN arguments`}, []string{"code"}, permissions.Unknown, CategoryNetwork},
		{"a revision that names a file", git, "git_show", `{"repo_path":".","revision":"HEAD:.env"}`,
			[]string{` "" READ_ONLY arguments`, `read_file "$WS" READ_ONLY denies`, `read_file "$WS/.env" READ_ONLY denies`}, nil, permissions.ReadOnly, kinds.CategoryGitRead},
		{"a repository elsewhere", git, "git_log", `{"repo_path":"/elsewhere"}`,
			[]string{` "" READ_ONLY arguments`, `read_file "/elsewhere" READ_ONLY`}, nil, permissions.ReadOnly, kinds.CategoryGitRead},
		{"a revision that is an option", git, "git_diff", `{"repo_path":".","target":"--output=/x"}`,
			[]string{` "" READ_ONLY arguments`, `read_file "$WS" READ_ONLY denies`}, []string{"option"}, permissions.ReadOnly, kinds.CategoryGitRead},
		{"statements", sqlite, "read_query", `{"query":"DROP TABLE x"}`, []string{` "" DESTRUCTIVE arguments`}, nil, permissions.Destructive, kinds.CategoryRead},
		{"input of a process", dc, "interact_with_process", `{"pid":1,"input":"rm -rf x"}`, []string{`process_input "rm -rf x" UNKNOWN`}, []string{"process-input"}, permissions.Unknown, kinds.CategoryTerminalWrite},
		{"input of a terminal", mako, "terminal_operate", `{"terminal_id":"1","input":"ls\n"}`, []string{`process_input "ls\n" UNKNOWN`}, []string{"process-input"}, permissions.Unknown, kinds.CategoryTerminalWrite},
		{"variables of a command", mako, "shell_execute", `{"command":"ls","environment_variables":{"LD_PRELOAD":"x.so"}}`, []string{`shell_exec "ls" UNKNOWN effect`}, nil, permissions.Unknown, kinds.CategoryTerminalRead},
		{"no variables", mako, "shell_execute", `{"command":"ls","environment_variables":{}}`, []string{`shell_exec "ls" READ_ONLY`}, nil, permissions.ReadOnly, kinds.CategoryTerminalRead},
		{"another shell", dc, "start_process", `{"command":"ls","timeout_ms":1,"shell":"/tmp/bash"}`, []string{`shell_exec "ls" UNKNOWN effect`}, nil, permissions.Unknown, kinds.CategoryTerminalRead},
		{"a known shell", dc, "start_process", `{"command":"ls","timeout_ms":1,"shell":"/bin/zsh"}`, []string{`shell_exec "ls" READ_ONLY`}, nil, permissions.ReadOnly, kinds.CategoryTerminalRead},
		{"another machine's shell is not this one's", ssh, "run-command", `{"command":"ls /x"}`, []string{`shell_exec "ls /x" NETWORK unbound arguments`}, nil, permissions.Network, CategoryNetwork},
		{"another machine's root", ssh, "privileged-command", `{"command":"ls"}`, []string{`shell_exec "ls" ESCALATION unbound arguments`}, nil, permissions.Escalation, CategoryNetwork},
		{"words of a pod's command", kube, "pods_exec", `{"name":"p","command":["rm","-rf","/my data"]}`,
			[]string{`shell_exec "rm -rf /my data" DESTRUCTIVE unbound arguments`, `write_file "/my data" READ_ONLY denies`, `write_file "/my data" WRITE unbound`}, nil, permissions.Destructive, CategoryNetwork},
		{"words that start a shell", kube, "pods_exec", `{"name":"p","command":["sh","-c","ls; curl x.example"]}`,
			[]string{`shell_exec "ls" NETWORK unbound arguments`, `shell_exec "curl x.example" NETWORK unbound arguments`, `web_fetch "x.example" READ_ONLY denies`}, nil, permissions.Network, CategoryNetwork},

		{"nobody knows it", unknown, "do_thing", `{"message":"hello there","n":3}`, []string{` "" UNKNOWN arguments`}, nil, permissions.Unknown, CategoryNetwork},
		{"a path in it", unknown, "do_thing", `{"message":".env"}`,
			[]string{` "" UNKNOWN arguments`, `read_file "$WS/.env" READ_ONLY denies`, `write_file "$WS/.env" READ_ONLY denies`}, nil, permissions.Unknown, CategoryNetwork},
		{"a path deep in it, of a tool that reads", unknown, "get_thing", `{"a":[{"b":{"file":".env"}}]}`,
			[]string{` "" UNKNOWN arguments`, `read_file "$WS/.env" READ_ONLY denies`}, nil, permissions.Unknown, CategoryNetwork},
		{"a command in it", unknown, "do_thing", `{"command":"git status"}`, []string{`shell_exec "git status" UNKNOWN unbound arguments`}, nil, permissions.Unknown, kinds.CategoryGitRead},
		{"a command deep in it", unknown, "do_thing", `{"steps":[{"cmd":"rm -rf x"}]}`,
			[]string{` "" UNKNOWN arguments`, `shell_exec "rm -rf x" DESTRUCTIVE unbound arguments`, `write_file "$WS/x" READ_ONLY denies`, `write_file "$WS/x" WRITE unbound`}, nil, permissions.Destructive, CategoryNetwork},
		{"a command in words", unknown, "do_thing", `{"argv":["git","add","a b"]}`, []string{` "" UNKNOWN arguments`, `shell_exec "git add a b" UNKNOWN unbound arguments`, `read_file "$WS/a b" READ_ONLY denies`}, nil, permissions.Unknown, CategoryNetwork},
		{"statements in it", unknown, "run_sql_query", `{"sql":"delete from x"}`, []string{` "" DESTRUCTIVE arguments`}, nil, permissions.Destructive, CategoryNetwork},
		{"an address in it", unknown, "do_thing", `{"target":"https://example.com/a.b"}`, []string{` "" UNKNOWN arguments`, `web_fetch "https://example.com/a.b" READ_ONLY denies`}, nil, permissions.Unknown, CategoryNetwork},
		{"a program in it", unknown, "do_thing", `{"code":"import os; os.remove('x')"}`, []string{` "" UNKNOWN arguments`}, []string{"code"}, permissions.Unknown, CategoryNetwork},
		{"a code that is no program", unknown, "do_thing", `{"code":"US"}`, []string{` "" UNKNOWN arguments`}, nil, permissions.Unknown, CategoryNetwork},
		{"a command packed into a text", unknown, "do_thing", `{"arguments":"{\"command\":\"ls\"}"}`,
			[]string{` "" UNKNOWN arguments`, `shell_exec "ls" UNKNOWN unbound arguments`}, nil, permissions.Unknown, CategoryNetwork},
		{"a command beside a lot of text", unknown, "do_thing", `{"steps":{"cmd":"ls","pad":"` + strings.Repeat("x", 50_000) + `"}}`,
			[]string{` "" UNKNOWN arguments`, `shell_exec "ls" UNKNOWN unbound arguments`}, nil, permissions.Unknown, CategoryNetwork},
		{"something encoded", unknown, "do_thing", `{"payload_base64":"cm0gLXJm"}`, []string{` "" UNKNOWN arguments`}, []string{"encoded"}, permissions.Unknown, CategoryNetwork},
		{"a guess for files", unknown, "save_file", `{"path":"a.txt","text":"x"}`, []string{`write_file "a.txt" UNKNOWN unbound arguments`}, nil, permissions.Unknown, kinds.CategoryWrite},

		{"no JSON", unknown, "do_thing", `{"a":`, []string{` "" UNKNOWN arguments`}, []string{"malformed", "no-subject"}, permissions.Unknown, CategoryNetwork},
		{"no object", unknown, "do_thing", `[1]`, []string{` "" UNKNOWN arguments`}, []string{"malformed", "no-subject"}, permissions.Unknown, CategoryNetwork},
		{"a name twice", demo, "read_file", `{"path":"a.txt","path":".env"}`, []string{`read_file "" UNKNOWN`}, []string{"malformed", "no-subject"}, permissions.Unknown, kinds.CategoryRead},
	} {
		t.Run(c.name, func(t *testing.T) {
			definition := `{"name":"x","inputSchema":{"type":"object","properties":{"command":{},"path":{}}}}`
			if c.server.Name != "srv" || c.tool != "do_thing" || !strings.Contains(c.arguments, `{"command"`) {
				definition = `{}`
			}
			tool := Describe(c.server, c.tool, c.server.Name+"_"+c.tool, []byte(definition))
			a := Analyze(Call{Tool: tool, Arguments: []byte(c.arguments), Place: p})
			var got []string
			for i := range a.Subjects {
				got = append(got, describe(p, &a.Subjects[i]))
				if s := a.Subjects[i]; s.Tool != tool.Qualified && (s.Tool != s.Kind || s.Kind == tool.Kind) {
					t.Errorf("%s is a subject of %q", got[i], s.Tool)
				}
			}
			if !slices.Equal(got, c.subjects) {
				t.Errorf("subjects\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.subjects, "\n  "))
			}
			if !slices.Equal(codes(a), c.marks) {
				t.Errorf("marks %v, want %q", a.Marks, c.marks)
			}
			if a.Risk != c.risk || a.Category != c.category {
				t.Errorf("%v %s, want %v %s", a.Risk, a.Category, c.risk, c.category)
			}
			if a.Summary == "" || len(a.Summary) > 4*wording.MaxSummary {
				t.Errorf("summary %q", a.Summary)
			}
			if malformed := slices.Contains(c.marks, "malformed"); malformed != (a.Refuse != "") {
				t.Errorf("refuse %q", a.Refuse)
			}
		})
	}
}

func TestAnalyzeWithoutATool(t *testing.T) {
	a := Analyze(Call{})
	if a.Risk != permissions.Unknown || len(a.Subjects) != 1 || a.Subjects[0].Kind != "" || a.Subjects[0].KindBound {
		t.Errorf("%+v", a)
	}
}

// A call over a cap is refused, because a deny among the rest would be overlooked.
func TestCaps(t *testing.T) {
	p := project(t, nil)
	paths := make([]string, arguments.MaxArguments+1)
	for i := range paths {
		paths[i] = fmt.Sprint(i)
	}
	deep := strings.Repeat(`{"a":`, arguments.MaxDepth+2) + "1" + strings.Repeat("}", arguments.MaxDepth+2)
	for _, c := range []struct {
		name string
		a    *Analysis
		mark string
		stop bool
	}{
		{"paths", analyze(t, KindReadFile, p, "paths", paths), "too-many", true},
		{"a long path", analyze(t, KindReadFile, p, "path", strings.Repeat("a/", arguments.MaxPath)), "too-long", true},
		{"values of an unknown tool", Analyze(Call{Tool: &Tool{}, Arguments: object(t, "x", paths), Place: p}), "too-many", true},
		{"depth", Analyze(Call{Tool: &Tool{}, Arguments: []byte(deep), Place: p}), "too-deep", false},
		{"commands", analyze(t, KindShell, p, "command", strings.Repeat("ls;", arguments.MaxArguments)+"rm x"), "too-many", true},
	} {
		if !slices.Contains(codes(c.a), c.mark) || (c.a.Refuse != "") != c.stop {
			t.Errorf("%s: marks %q, refuse %q", c.name, codes(c.a), c.a.Refuse)
		}
	}
}

// A deny on a file holds whichever tool reaches the file.
func TestOneDenyManyDoors(t *testing.T) {
	p := project(t, map[string]string{".env": "x", "sub/.env": "x", "innocent": "-> .env"})
	pol := policy(t, `{ "*": "allow", "read_file": { "*": "allow", "*.env": "deny" }, "write_file": { "*": "allow", "*.env": "deny" } }`)
	server := func(pkg string) Server { return Server{Name: "s", Packages: []string{pkg}} }
	for _, c := range []struct {
		server    Server
		tool      string
		arguments string
	}{
		{server("callgate-demo"), "read_file", `{"path":".env"}`},
		{server("callgate-demo"), "write_file", `{"path":".env","content":""}`},
		{server("callgate-demo"), "grep", `{"pattern":"x","path":".env"}`},
		{server("@modelcontextprotocol/server-filesystem"), "get_file_info", `{"path":".env"}`},
		{server("@modelcontextprotocol/server-filesystem"), "move_file", `{"source":".env","destination":"x"}`},
		{server("@modelcontextprotocol/server-filesystem"), "move_file", `{"source":"x","destination":"sub/.env"}`},
		{server("@modelcontextprotocol/server-filesystem"), "read_multiple_files", `{"paths":["x","innocent"]}`},
		{server("@wonderwhy-er/desktop-commander"), "start_search", `{"path":".","pattern":"x","filePattern":".env"}`},
		{server("@playwright/mcp"), "browser_file_upload", `{"paths":[".env"]}`},
		{server("mcp-server-git"), "git_show", `{"repo_path":".","revision":"HEAD:.env"}`},
		{server("@cyanheads/git-mcp-server"), "git_show", `{"path":".","object":"HEAD:.env"}`},
		{server("@cyanheads/git-mcp-server"), "git_diff", `{"path":".","paths":["x",".env"]}`},
		{server("@cyanheads/git-mcp-server"), "git_log", `{"path":".","patch":true,"filePath":".env"}`},
		{server("fast-filesystem-mcp"), "fast_read_multiple_files", `{"paths":["x","innocent"]}`},
		{server("fast-filesystem-mcp"), "fast_search_code", `{"path":".env","pattern":"x"}`},
		{server("fast-filesystem-mcp"), "fast_copy_file", `{"source":".env","destination":"x"}`},
		{server("fast-filesystem-mcp"), "fast_compress_files", `{"paths":["sub/.env"],"output_path":"x.zip"}`},
		{server("@eslint/mcp"), "lint-files", `{"filePaths":[".env"]}`},
		{server("cclsp"), "get_diagnostics", `{"file_path":"sub/.env"}`},
		{server("@shortcut/mcp"), "stories-upload-file", `{"storyPublicId":1,"filePath":".env"}`},
		{server("@piotr-agier/google-drive-mcp"), "uploadFile", `{"localPath":".env"}`},
		{server("@piotr-agier/google-drive-mcp"), "downloadFile", `{"fileId":"x","localPath":"sub/.env"}`},
		{server("firecrawl-mcp"), "firecrawl_parse", `{"filePath":".env"}`},
		{server("markitdown-mcp"), "convert_to_markdown", `{"uri":"file://` + filepath.ToSlash(p.Dir) + `/.env"}`},
		{server("@executeautomation/playwright-mcp-server"), "playwright_upload_file", `{"selector":"a","filePath":".env"}`},
		{server("callgate-demo"), "shell_exec", `{"command":"cat .env"}`},
		{server("callgate-demo"), "shell_exec", `{"command":"cat < .env"}`},
		{server("callgate-demo"), "shell_exec", `{"command":"cat .en*"}`},
		{server("callgate-demo"), "shell_exec", `{"command":"cat innocent"}`},
		{server("callgate-demo"), "shell_exec", `{"command":"cd sub && cat .env"}`},
		{server("callgate-demo"), "shell_exec", `{"command":"echo x > .env"}`},
		{server("callgate-demo"), "shell_exec", `{"command":"echo x | tee sub/.env"}`},
		{server("callgate-demo"), "shell_exec", `{"command":"git show HEAD:.env"}`},
		{server("unknown-package"), "look_around", `{"where":".env"}`},
		{server("unknown-package"), "look_around", `{"command":"cat .env"}`},
		{server("unknown-package"), "delete_file", `{"path":".env"}`},
		{Server{Name: "r"}, KindResource, `{"uri":"file://` + filepath.ToSlash(p.Dir) + `/.env"}`},
	} {
		tool := Describe(c.server, c.tool, "s_"+c.tool, nil)
		if c.tool == KindResource {
			tool = KindTool(KindResource)
		}
		a := Analyze(Call{Tool: tool, Arguments: []byte(c.arguments), Place: p})
		if got := verdict(pol, a); got != permissions.Deny {
			t.Errorf("%s %s: %v\n%+v", c.tool, c.arguments, got, a.Subjects)
		}
	}
}

// A guessed kind never lets a rule for the kind allow.
func TestGuessAllowsNothing(t *testing.T) {
	p := project(t, map[string]string{"a.txt": "x"})
	pol := policy(t, `{ "*": "ask", "read_file": "allow", "shell_exec": "allow", "write_file": "allow", "grep": "allow", "glob": "allow" }`)
	for tool, arguments := range map[string]string{
		"read_file": `{"path":"a.txt"}`, "bash": `{"command":"ls"}`, "write_file": `{"path":"a.txt"}`, "grep": `{"path":"."}`, "glob": `{"pattern":"*"}`,
	} {
		a := Analyze(Call{Tool: Describe(Server{Name: "evil"}, tool, "evil_"+tool, nil), Arguments: []byte(arguments), Place: p})
		if got := verdict(pol, a); got != permissions.Ask {
			t.Errorf("%s: %v", tool, got)
		}
		if a.Risk.Label() == "low" || a.Risk.Label() == "medium" {
			t.Errorf("%s: risk %v", tool, a.Risk)
		}
	}
	own := policy(t, `{ "*": "ask", "evil_bash": { "git *": "allow" } }`)
	bash := Describe(Server{Name: "evil"}, "bash", "evil_bash", nil)
	for command, want := range map[string]permissions.Action{"git status": permissions.Allow, "ls": permissions.Ask, "git diff > x": permissions.Ask} {
		a := Analyze(Call{Tool: bash, Arguments: object(t, "command", command), Place: p})
		if got := verdict(own, a); got != want {
			t.Errorf("rule by the tool's own name, %q: %v, want %v", command, got, want)
		}
	}
}

// Rules on arguments apply to tools without kind, and still hold when a value looks like a path.
func TestArgumentPatterns(t *testing.T) {
	p := project(t, nil)
	pol := policy(t, `{ "*": "ask", "gh_create_issue": { "repo=me/*": "allow" } }`)
	tool := Describe(Server{Name: "gh"}, "create_issue", "gh_create_issue", nil)
	for repo, want := range map[string]permissions.Action{"me/x": permissions.Allow, "you/x": permissions.Ask} {
		if got := verdict(pol, Analyze(Call{Tool: tool, Arguments: object(t, "repo", repo), Place: p})); got != want {
			t.Errorf("%s: %v, want %v", repo, got, want)
		}
	}
}

func TestShellSubjects(t *testing.T) {
	p := project(t, map[string]string{"a.txt": "x", "sub/x": "x", "web/": ""})
	for _, c := range []struct {
		command string
		want    []string
		marks   []string
	}{
		{"git status", []string{`shell_exec "git status" READ_ONLY`}, nil},
		{"git add . && git push", []string{`shell_exec "git add ." WRITE`, `shell_exec "git push" NETWORK`}, nil},
		{"timeout 60 go test ./...", []string{`shell_exec "go test ./..." BUILD_TEST`}, nil},
		{"ls > out.txt", []string{`shell_exec "ls" READ_ONLY`, `write_file "$WS/out.txt" WRITE`}, nil},
		{"ls > /dev/null 2>&1", []string{`shell_exec "ls" READ_ONLY`}, nil},
		{"ls > $f", []string{`shell_exec "ls" UNKNOWN effect`}, nil},
		{"echo x > /dev/sda", []string{`shell_exec "echo x" READ_ONLY`, `write_file "/dev/sda" DESTRUCTIVE`}, []string{"device"}},
		{"cat a.txt", []string{`shell_exec "cat a.txt" READ_ONLY`, `read_file "$WS/a.txt" READ_ONLY denies`}, nil},
		{"sudo ls", []string{`shell_exec "ls" ESCALATION`}, nil},
		{"LD_PRELOAD=x.so ls", []string{`shell_exec "ls" UNKNOWN effect`}, nil},
		{"$x", []string{`shell_exec "$x" UNKNOWN`, `shell_exec "$x" UNKNOWN`}, []string{"dynamic"}},
		{"echo 'unclosed", []string{`shell_exec "echo 'unclosed" UNKNOWN`, `shell_exec "echo unclosed" READ_ONLY`}, []string{"unparsable"}},
		{"x=1", []string{`shell_exec "x=1" READ_ONLY`}, nil},
		{"   ", []string{`shell_exec "" UNKNOWN`}, []string{"no-subject"}},
	} {
		a := analyze(t, KindShell, p, "command", c.command)
		var got []string
		for i := range a.Subjects {
			got = append(got, describe(p, &a.Subjects[i]))
		}
		if !slices.Equal(got, c.want) || !slices.Equal(codes(a), c.marks) {
			t.Errorf("%s:\n  %s %q\nwant\n  %s %q", c.command, strings.Join(got, "\n  "), codes(a), strings.Join(c.want, "\n  "), c.marks)
		}
	}
}

// Denies look at the text as written, behind its wrappers, and by the bare name of the program.
func TestShellForms(t *testing.T) {
	p := project(t, nil)
	for _, c := range []struct{ command, deny string }{
		{"timeout 60 rm x", "rm *"},
		{"timeout 60 rm x", "timeout *"},
		{"nice timeout 60 rm x", "timeout *"},
		{`"rm" x`, "rm *"},
		{`'rm' x`, `'rm'*`},
		{"/opt/tools/rm x", "rm *"},
		{"git -C web push", "git -C *"},
		{"ls; rm x", "rm *"},
		{"echo 'unclosed; rm x", "*rm x*"},
	} {
		rules := fmt.Sprintf(`{ "shell_exec": { "*": "allow", %q: "deny" } }`, c.deny)
		if got := verdict(policy(t, rules), analyze(t, KindShell, p, "command", c.command)); got != permissions.Deny {
			t.Errorf("%s with a deny on %s: %v", c.command, c.deny, got)
		}
	}
}

// A command is judged by the folder that it runs in.
func TestWorkingDirectory(t *testing.T) {
	p := project(t, map[string]string{"web/.env": "x"})
	outside := filepath.Join(filepath.Dir(p.Dir), "home")
	pol := policy(t, `{ "shell_exec": { "{ls,cat} *": "allow" }, "read_file": { "*": "allow", "web/*": "deny" } }`)
	for _, c := range []struct {
		cwd, command string
		want         permissions.Action
	}{
		{"web", "ls", permissions.Allow},
		{"web", "cat .env", permissions.Deny},
		{outside, "ls", permissions.Ask},
		{"..", "ls", permissions.Ask},
		{"", "ls", permissions.Allow},
	} {
		if got := verdict(pol, analyze(t, KindShell, p, "command", c.command, "cwd", c.cwd)); got != c.want {
			t.Errorf("%s in %q: %v, want %v", c.command, c.cwd, got, c.want)
		}
	}
}

func TestFoldersAndPaths(t *testing.T) {
	p := project(t, map[string]string{"src/a.go": "x", "docs/x": "x", "link": "-> src"})
	for _, c := range []struct {
		kind    string
		pairs   []any
		folders []string
		paths   []string
	}{
		{KindGrep, []any{"path", "src", "pattern", "x"}, []string{"src"}, []string{"src"}},
		{KindGrep, []any{"path", "link", "pattern", "x"}, []string{"src"}, []string{"src", "link"}},
		{KindGrep, []any{"pattern", "x"}, []string{""}, []string{""}},
		{KindGlob, []any{"pattern", "*"}, nil, []string{"*"}},
		{KindReadFile, []any{"path", "link/a.go"}, nil, []string{"src/a.go", "link/a.go"}},
		{KindShell, []any{"command", "grep -rn x src"}, []string{"src"}, nil},
		{KindShell, []any{"command", "grep -n x src/a.go"}, nil, nil},
		{KindShell, []any{"command", "rg x"}, []string{""}, nil},
		{KindShell, []any{"command", "cd docs && rg x"}, []string{"docs"}, nil},
		{KindShell, []any{"command", "tar czf /dev/null docs"}, []string{"docs"}, nil},
		{KindShell, []any{"command", "cp -r docs /tmp/x"}, []string{"docs"}, nil},
		{KindShell, []any{"command", "find docs -type f -exec cat {} +"}, []string{"docs"}, nil},
		{KindShell, []any{"command", "ls docs"}, nil, nil},
		{KindShell, []any{"command", "mv docs elsewhere"}, []string{"docs"}, nil},
		{KindMoveFile, []any{"source", "docs", "destination", "elsewhere"}, []string{"docs"}, nil},
		{KindMoveFile, []any{"source", "src/a.go", "destination", "elsewhere"}, nil, nil},
	} {
		a := analyze(t, c.kind, p, c.pairs...)
		for _, f := range c.folders {
			if !slices.Contains(a.Folders, filepath.Join(p.Dir, f)) {
				t.Errorf("%s %v: folders %q lack %q", c.kind, c.pairs, a.Folders, f)
			}
		}
		if c.folders == nil && len(a.Folders) > 0 {
			t.Errorf("%s %v: folders %q", c.kind, c.pairs, a.Folders)
		}
		for _, f := range c.paths {
			if !slices.Contains(a.Paths, filepath.Join(p.Dir, f)) {
				t.Errorf("%s %v: paths %q lack %q", c.kind, c.pairs, a.Paths, f)
			}
		}
	}
	a := analyze(t, KindShell, p, "command", "mytool --db=~/x/y link/a.go")
	for _, want := range []string{filepath.Join(p.Home, "x/y"), filepath.Join(p.Dir, "src/a.go")} {
		if !slices.Contains(a.Paths, want) {
			t.Errorf("paths %q lack %q", a.Paths, want)
		}
	}
}

// Folders inside each other are looked through once, and no more of them than there is time for.
func TestFoldersAreBounded(t *testing.T) {
	files := map[string]string{}
	list := []string{"."}
	for i := range maxFolders + 1 {
		name := fmt.Sprintf("d%d", i)
		files[name+"/"] = ""
		list = append(list, name)
	}
	p := project(t, files)
	if a := analyze(t, KindGrep, p, "path", list); !slices.Equal(a.Folders, []string{p.Dir}) || len(a.Marks) > 0 {
		t.Errorf("folders %q, marks %v", a.Folders, a.Marks)
	}
	if a := analyze(t, KindGrep, p, "path", list[1:]); len(a.Folders) != maxFolders || !slices.Equal(codes(a), []string{"too-many"}) {
		t.Errorf("%d folders, marks %v", len(a.Folders), a.Marks)
	}
}

func TestURLs(t *testing.T) {
	for _, c := range []struct {
		url  string
		rule string
		want permissions.Action
		mark string
	}{
		{"https://docs.example/a", "https://docs.example/*", permissions.Allow, ""},
		{"HTTPS://DOCS.example:443/a", "https://docs.example/*", permissions.Allow, ""},
		{"https://docs.example./a", "https://docs.example/*", permissions.Allow, ""},
		{"https://docs.example/a/../../b", "https://docs.example/a/*", permissions.Ask, ""},
		{"https://docs.example@evil.example/", "https://docs.example*", permissions.Ask, "ambiguous-url"},
		{`https://docs.example\@evil.example/`, "https://docs.example*", permissions.Ask, "ambiguous-url"},
		{"https://docs.example\n.evil.example/", "https://docs.example*", permissions.Ask, "ambiguous-url"},
		{"http://docs.example/a", "https://docs.example/*", permissions.Ask, ""},
		{"file:///etc/passwd", "*", permissions.Ask, ""}, // reads a file, too
		{"view-source:file:///etc/passwd", "*", permissions.Ask, "ambiguous-url"},
		{"/etc/passwd", "*", permissions.Ask, "ambiguous-url"},
		{"JavaScript:alert(1)", "*", permissions.Ask, "code"},
	} {
		a := analyze(t, KindFetch, Place{Dir: "/ws"}, "url", c.url)
		pol := policy(t, fmt.Sprintf(`{ "*": "ask", "web_fetch": { %q: "allow" } }`, c.rule))
		if got := verdict(pol, a); got != c.want {
			t.Errorf("%q with %q: %v, want %v (%v)", c.url, c.rule, got, c.want, a.Subjects)
		}
		if c.mark != "" && !slices.Contains(codes(a), c.mark) {
			t.Errorf("%q: marks %q", c.url, codes(a))
		}
	}
	deny := policy(t, `{ "web_fetch": { "*": "allow", "*evil.example*": "deny" } }`)
	for _, url := range []string{"https://EVIL.example/", "https://evil%2eexample/", "https://x@evil.example/"} {
		if got := verdict(deny, analyze(t, KindFetch, Place{Dir: "/ws"}, "url", url)); got != permissions.Deny {
			t.Errorf("%q: %v", url, got)
		}
	}
}

// Gemini CLI's web_fetch takes a prompt: each address in it is judged, and a prompt that may hold another one asks.
func TestAddressesInAText(t *testing.T) {
	tool := Describe(Server{Name: "host", Identity: "host:gemini", Packages: []string{"callgate-host-gemini"}}, "web_fetch", "gemini_web_fetch", nil)
	pol := policy(t, `{ "*": "ask", "web_fetch": { "https://docs.example/*": "allow", "*evil.example*": "deny" } }`)
	for prompt, want := range map[string]permissions.Action{
		"https://docs.example/a": permissions.Allow,
		"Say, please: what is in https://docs.example/a and HTTPS://docs.example/b": permissions.Allow,
		"Compare https://docs.example/a with https://other.example/":                permissions.Ask,
		"Compare https://docs.example/a with https://evil.example/":                 permissions.Deny,
		"Compare https://docs.example/a with evil.example":                          permissions.Deny,
		"Compare https://docs.example/a with other.example/x":                       permissions.Ask,
		"Compare https://docs.example/a with localhost:8080":                        permissions.Ask,
		"Compare https://docs.example/a with other。example":                         permissions.Ask,
		"Compare https://docs.example/a,https://other.example/":                     permissions.Ask,
		"Compare https://docs.example/a;https://evil.example/":                      permissions.Deny,
		"Look it up": permissions.Ask,
	} {
		a := Analyze(Call{Tool: tool, Arguments: object(t, "prompt", prompt), Place: Place{Dir: "/ws"}})
		if got := verdict(pol, a); got != want {
			t.Errorf("%q: %v, want %v (%v, %v)", prompt, got, want, a.Subjects, a.Marks)
		}
	}
}

// A patch is judged by the files that its headers name.
func TestPatches(t *testing.T) {
	tool := Describe(Server{Name: "host", Identity: "host:codex", Packages: []string{"callgate-host-codex"}}, "apply_patch", "codex_apply_patch", nil)
	pol := policy(t, `{ "*": "ask", "shell_exec": "allow", "edit_file": { "*": "allow", "*.env": "deny" }, "write_file": { "*": "allow", "*.key": "deny" }, "delete_file": { "/ws/tmp/*": "allow" } }`)
	for patch, want := range map[string]permissions.Action{
		"*** Update File: a.txt\n@@\n-old\n+new":                                  permissions.Allow,
		"*** Add File: sub/a.txt\n+*** Delete File: b.txt\n+text":                 permissions.Allow,
		"*** Update File: a.txt\n@@\n-old\n+new\n*** Update File: x/.env\n@@\n+A": permissions.Deny,
		"*** Add File: id.key\n+text":                                             permissions.Deny,
		"*** Update File: a.txt\n*** Move to: id.key\n@@\n+text":                  permissions.Deny,
		"*** Update File: a.txt\n*** Move to: b.txt\n@@\n+text":                   permissions.Ask, // a.txt goes away
		"*** Update File: tmp/a.txt\n*** Move to: b.txt\n@@\n+text":               permissions.Allow,
		"*** Delete File: tmp/a.txt":                                              permissions.Allow,
		"*** Delete File: a.txt":                                                  permissions.Ask,
		"  *** Update File: x/.env\n@@\n+A":                                       permissions.Deny,
		"*** Update File:  a.txt\n@@\n+A":                                         permissions.Ask,
		"*** Rename File: a.txt\n@@\n+A":                                          permissions.Ask,
		"*** Update File: a.txt\n@@\n+A\nUpdate File: x/.env":                     permissions.Ask,
		"*** Add File: a.txt\n+A\r*** Delete File: b.txt":                         permissions.Ask, // some programs take this for a separate line
		"*** Add File: a.txt\n+A\u2028*** Delete File: b.txt":                     permissions.Ask,
		"*** Add File: a.txt\n+A\x0c*** Delete File: b.txt":                       permissions.Ask,
		"*** Add File: a.txt\r\n+A\r\n":                                           permissions.Allow,
		"*** Add File: a.txt\n+A\x0cB\rC":                                         permissions.Allow,
		"@@\n+A":                                                                  permissions.Ask,
		"":                                                                        permissions.Ask,
	} {
		a := Analyze(Call{Tool: tool, Arguments: object(t, "command", "*** Begin Patch\n"+patch+"\n*** End Patch\n"), Place: Place{Dir: "/ws", Workspace: []string{"/ws"}}})
		if got := verdict(pol, a); got != want {
			t.Errorf("%q: %v, want %v (%v, %v)", patch, got, want, a.Subjects, a.Marks)
		}
	}
}

// A deny on a host holds however the host is spelled, for a tool that fetches and for an unknown tool.
func TestDeniedHostInEverySpelling(t *testing.T) {
	deny := policy(t, `{ "*": "allow", "web_fetch": { "*": "allow", "http*://10.1.2.3/*": "deny", "*://evil.example*": "deny" } }`)
	unknown := Describe(Server{Name: "srv"}, "convert", "srv_convert", []byte(`{}`))
	for _, url := range []string{
		"http://10.1.2.3/", "http://167838211/x", "http://0xa010203/", "http://012.1.2.3/", "http://10.66051/", "http://[::ffff:10.1.2.3]/", "http://[::ffff:a01:203]:80/",
		"http://１０。１。２。３/", "http://%31%30.1.2.3/", "http:10.1.2.3", "http:/10.1.2.3", `http:\\10.1.2.3\x`, "http://10.1.2.3.:80/", "http://u:p@10.1.2.3/", "http://a.example\\@10.1.2.3/",
		" ht\ttp://10.\n1.2.3/", "http://ⓔvil.example/", "http://evil\u00ad.example/", "HTTPS://evil.EXAMPLE.:443/", "wss://evil.example",
		"http:/evil.example/" + strings.Repeat("x", 30_000),
	} {
		if got := verdict(deny, analyze(t, KindFetch, Place{Dir: "/ws"}, "url", url)); got != permissions.Deny {
			t.Errorf("web_fetch of %q: %v", url, got)
		}
		for _, name := range []string{"source", "page"} {
			a := Analyze(Call{Tool: unknown, Arguments: object(t, name, url), Place: Place{Dir: "/ws"}})
			if got := verdict(deny, a); got != permissions.Deny {
				t.Errorf("an unknown tool with %.40q as %s: %v", url, name, got)
			}
		}
	}
}

// A file that a recursive reader would meet is judged like a file that is read by its own name.
func TestReadSubject(t *testing.T) {
	p := project(t, map[string]string{"sub/.env": "x"})
	pol := policy(t, defaults)
	for path, want := range map[string]permissions.Action{"sub/.env": permissions.Deny, "sub/x": permissions.Allow} {
		s := ReadSubject(filepath.Join(p.Dir, path), p)
		if got := permissions.Evaluate(pol, permissions.Context{}, &s).Action; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// The category is that of the part that reaches furthest, wherever it stands and whatever its class.
func TestCategory(t *testing.T) {
	p := project(t, map[string]string{"a": "x"})
	for _, c := range []struct {
		kind  string
		pairs []any
		want  string
	}{
		{KindReadFile, []any{"path", "/etc/hostname"}, kinds.CategoryRead},
		{KindWriteFile, []any{"path", "x"}, kinds.CategoryWrite},
		{KindWriteFile, []any{"path", "../x"}, kinds.CategoryTerminalWrite},
		{KindWriteFile, []any{"path", "/opt/x"}, kinds.CategoryTerminalWrite},
		{KindDeleteFile, []any{"path", "~/x"}, kinds.CategoryTerminalWrite},
		{KindShell, []any{"command", "ls"}, kinds.CategoryTerminalRead},
		{KindShell, []any{"command", "git status"}, kinds.CategoryGitRead},
		{KindShell, []any{"command", "git status | cat"}, kinds.CategoryTerminalRead},
		{KindShell, []any{"command", "echo x > out"}, kinds.CategoryWrite},
		{KindShell, []any{"command", "echo x > /tmp/elsewhere"}, kinds.CategoryTerminalWrite},
		{KindShell, []any{"command", "echo x > out; git commit -m x"}, kinds.CategoryGitWrite},
		{KindShell, []any{"command", "go test ./... > out"}, kinds.CategoryTerminalWrite},
		{KindShell, []any{"command", "rm a; curl https://x.example"}, CategoryNetwork},
		{KindFetch, []any{"url", "https://x.example"}, CategoryNetwork},
	} {
		if got := analyze(t, c.kind, p, c.pairs...).Category; got != c.want {
			t.Errorf("%s %v: %s, want %s", c.kind, c.pairs, got, c.want)
		}
	}
}

func TestAudioOfTrustedServers(t *testing.T) {
	for tool, want := range map[string]string{"speak": CategoryAudioOutput, "record_voice": kinds.CategoryAudioInput, "think": kinds.CategoryRead} {
		d := []byte(`{"annotations":{"readOnlyHint":true}}`)
		if got := Analyze(Call{Tool: Describe(Server{Trusted: true}, tool, "s_"+tool, d)}).Category; got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
		if got := Analyze(Call{Tool: Describe(Server{}, tool, "s_"+tool, d)}).Category; got != CategoryNetwork {
			t.Errorf("%s of a stranger: %s", tool, got)
		}
	}
}

// The analysis of a call changes with the file system, which is why callers repeat it.
func TestAnalysisFollowsTheFileSystem(t *testing.T) {
	p := project(t, map[string]string{"a": "x", ".env": "x"})
	pol := policy(t, defaults)
	if got := verdict(pol, analyze(t, KindReadFile, p, "path", "a")); got != permissions.Allow {
		t.Fatal(got)
	}
	if err := os.Remove(filepath.Join(p.Dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".env", filepath.Join(p.Dir, "a")); err != nil {
		t.Skip(err)
	}
	if got := verdict(pol, analyze(t, KindReadFile, p, "path", "a")); got != permissions.Deny {
		t.Error(got)
	}
}
