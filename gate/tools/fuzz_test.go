package tools

import (
	"path/filepath"
	"testing"
	"unicode/utf8"

	"encoding/json"

	"callgate/gate/tools/internal/commands"
	"callgate/gate/tools/internal/wording"
	"callgate/permissions"
)

// fuzzedTools returns one tool of each sort.
func fuzzedTools() []*Tool {
	tools := []*Tool{
		nil,
		Describe(Server{Name: "srv"}, "do_thing", "srv_do_thing", nil),
		Describe(Server{Name: "srv"}, "run_command", "srv_run_command", []byte(`{"inputSchema":{"properties":{"command":{"enum":["a"]},"cwd":{}}}}`)),
		Describe(Server{Name: "srv"}, "run_sql", "srv_run_sql", nil),
		Describe(Server{Name: "git", Packages: []string{"mcp-server-git"}}, "git_show", "git_git_show", nil),
		Describe(Server{Name: "ssh", Packages: []string{"ssh-mcp"}}, "run-command", "ssh_run-command", nil),
		Describe(Server{Name: "sh", Packages: []string{"@mako10k/mcp-shell-server"}}, "shell_execute", "sh_shell_execute", nil),
		Describe(Server{Name: "pw", Packages: []string{"@playwright/mcp"}}, "browser_evaluate", "pw_browser_evaluate", nil),
		Describe(Server{Name: "db", Packages: []string{"mcp-server-sqlite"}}, "read_query", "db_read_query", nil),
	}
	for _, k := range Kinds() {
		tools = append(tools, KindTool(k))
	}
	return tools
}

// FuzzAnalyze checks what is true of every analysis, whatever the arguments are.
func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `null`, `[]`, `{"path":".env"}`, `{"path":"%2e%2e/\\..\\x:y. "}`, `{"path":["a",{"b":1}]}`, `{"paths":["~/x","$HOME/y","file://h/z"]}`,
		`{"command":"ls | tee x && cat .en*"}`, `{"command":["sh","-c","rm -rf x"]}`, `{"command":"echo 'unclosed"}`, `{"command":"ls","cwd":"/","env":{"A":"b"},"shell":"fish"}`,
		`{"url":"https://u@h:443/../x"}`, `{"query":"select 'a\\'; drop table x"}`, `{"pattern":"**/*","path":"."}`, `{"a":{"b":[{"cmd":"rm x"}]}}`,
		`{"function":"() => 1","filename":"x"}`, `{"revision":"-x:y"}`, `{"input":"ls\n"}`, `{"path":"\u0000"}`, `{"path":"e\u0301\u202e"}`, `{"a":1,"a":2}`, `{"uri":"file:///etc/x"}`,
	} {
		f.Add(s)
	}
	tools := fuzzedTools()
	place := project(f, map[string]string{"src/main.go": "x", ".env": "x", "link": "-> .env"})
	f.Fuzz(func(t *testing.T, arguments string) {
		if len(arguments) > 4096 {
			t.Skip()
		}
		for _, tool := range tools {
			call := Call{Tool: tool, Arguments: []byte(arguments), Place: place}
			a := Analyze(call)
			name := "no tool"
			if tool != nil {
				name = tool.Qualified
			}
			worst, decided := permissions.ReadOnly, false
			for i := range a.Subjects {
				s := &a.Subjects[i]
				worst = worst.Worse(s.Risk)
				decided = decided || !s.DeniesOnly
				if tool != nil && !tool.Bound && s.KindBound && !s.DeniesOnly {
					t.Errorf("%s: a guess is bound: %+v", name, s)
				}
				if s.Kind == KindReadFile && !s.DeniesOnly && len(s.Decides) > 0 && !filepath.IsAbs(s.Decides[0]) && (tool == nil || !tool.remote) {
					t.Errorf("%s: %q is decided by %q", name, s.Value, s.Decides)
				}
			}
			if !decided {
				t.Errorf("%s: nothing to allow in %+v", name, a)
			}
			if a.Risk != worst && a.Refuse == "" {
				t.Errorf("%s: risk %v, the worst subject's is %v", name, a.Risk, worst)
			}
			if !json.Valid([]byte(arguments)) && arguments != "" && a.Refuse == "" {
				t.Errorf("%s: malformed arguments are not refused", name)
			}
			if a.Summary == "" || a.Category == "" || len(a.Summary) > 4*wording.MaxSummary {
				t.Errorf("%s: summary %q, category %q", name, a.Summary, a.Category)
			}
			for _, text := range append([]string{a.Summary}, markTexts(a)...) {
				if !utf8.ValidString(text) || Visible(text) != text {
					t.Errorf("%s: %q can be misread", name, text)
				}
			}
			for _, p := range append(a.Paths, a.Folders...) {
				if !filepath.IsAbs(p) {
					t.Errorf("%s: path %q", name, p)
				}
			}
			if offers := Offers(call, a); len(offers) > 0 && len(a.Marks) > 0 {
				t.Errorf("%s: marked, and yet %v", name, offers)
			}
		}
	})
}

func markTexts(a *Analysis) (list []string) {
	for _, m := range a.Marks {
		list = append(list, m.Text)
	}
	return list
}

func FuzzClassifySQL(f *testing.F) {
	for _, s := range []string{"select 1", "drop table x", "/*", "'", `"\"`, "$$", "\\!"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		// Appending to a statement never makes the whole harmless.
		if r := commands.ClassifySQL(s + "\n; drop table x"); r == permissions.ReadOnly || r == permissions.Write {
			t.Errorf("%q before a drop: %v", s, r)
		}
	})
}

func FuzzLocate(f *testing.F) {
	for _, s := range []string{"a", "../x", "~", "$HOME/x", "file:x", "%2e", `\\?\C:\x`, "x:y", "e\u0301", "link/../x", ""} {
		f.Add(s)
	}
	place := project(f, map[string]string{"src/main.go": "x", "link": "-> src"})
	f.Fuzz(func(t *testing.T, s string) {
		for _, l := range place.Locate(s) {
			if len(l.Decides) == 0 || len(l.Paths) == 0 || l.Decides[0] != l.Real() {
				t.Errorf("%q: %+v", s, l)
			}
			if clean := filepath.Clean(l.Real()); clean != l.Real() {
				t.Errorf("%q leads to %q, which is not clean", s, l.Real())
			}
		}
	})
}
