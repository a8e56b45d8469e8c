package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/gate/tools/kinds"
	"callgate/gate/tools/workspace"
	"callgate/permissions"
)

func TestOffers(t *testing.T) {
	p := project(t, map[string]string{"README.md": "x", "src/app/main.go": "x", "odd[1].txt": "x"})
	demo := Server{Name: "demo", Packages: []string{"callgate-demo"}}
	fs := Server{Name: "fs", Packages: []string{"@modelcontextprotocol/server-filesystem"}}
	for _, c := range []struct {
		name      string
		server    Server
		tool      string
		arguments []byte
		want      []string // "tool pattern ceiling", "*" in front of a default
	}{
		{"a file in the workspace", demo, "read_file", object(t, "path", "src/app/main.go"),
			[]string{"*read_file src/app/main.go READ_ONLY", "read_file src/app/* READ_ONLY"}},
		{"a file of its root", demo, "write_file", object(t, "path", "README.md", "content", ""),
			[]string{"*write_file README.md WRITE", "write_file $WS/* WRITE"}},
		{"by its absolute name", demo, "edit_file", object(t, "path", filepath.Join(p.Dir, "src/app/main.go")),
			[]string{"*edit_file src/app/main.go WRITE", "edit_file src/app/* WRITE"}},
		{"a file outside", demo, "read_file", object(t, "path", "/usr/share/doc/x"),
			[]string{"*read_file /usr/share/doc/x READ_ONLY", "read_file /usr/share/doc/* READ_ONLY"}},
		{"a file of the system's root", demo, "read_file", object(t, "path", "/x"), []string{"*read_file /x READ_ONLY"}},
		{"a file above the workspace", demo, "read_file", object(t, "path", "../x"), []string{"*read_file $UP/x READ_ONLY"}},
		{"a file of the home folder", demo, "read_file", object(t, "path", "~/x"), []string{"*read_file $UP/home/x READ_ONLY"}},
		{"characters of patterns", demo, "read_file", object(t, "path", "odd[1].txt"),
			[]string{`*read_file odd\[1\].txt READ_ONLY`, "read_file $WS/* READ_ONLY"}},
		{"several files", fs, "read_multiple_files", object(t, "paths", []string{"src/a", "src/b"}),
			[]string{"*read_file src/a READ_ONLY", "read_file src/* READ_ONLY", "*read_file src/b READ_ONLY", "read_file src/* READ_ONLY"}},
		{"a folder", demo, "grep", object(t, "pattern", "x", "path", "src"),
			[]string{"*grep src READ_ONLY", "grep src/* READ_ONLY"}},
		{"deletion is exact", Server{Name: "x", Mappings: []Mapping{{Tool: "rm", Kind: KindDeleteFile, Roles: map[string]Role{"path": kinds.DeletePath}}}}, "rm",
			object(t, "path", "src/app/main.go"), []string{"*delete_file src/app/main.go DESTRUCTIVE"}},
		{"a tool without values", Server{Name: "mem", Packages: []string{"@modelcontextprotocol/server-memory"}}, "read_graph", nil,
			[]string{"*mem_read_graph * READ_ONLY"}},
		{"one that deletes", Server{Name: "mem", Packages: []string{"@modelcontextprotocol/server-memory"}}, "delete_entities",
			object(t, "entityNames", []string{"x"}), []string{`*mem_delete_entities \{\"entityNames\":\[\"x\"\]\} DESTRUCTIVE`}},
		{"a tool that nobody knows", Server{Name: "srv"}, "do_thing", object(t, "a", 1),
			[]string{`*srv_do_thing \{\"a\":1\} UNKNOWN`, "srv_do_thing * UNKNOWN"}},
		{"a tool that nobody knows, without arguments", Server{Name: "srv"}, "do_thing", []byte("{}"), []string{"srv_do_thing * UNKNOWN"}},
		{"arguments that say what it is about", Server{Name: "srv"}, "update", []byte(`{"ticket_id": 7, "hostName":"a*b", "body":"x", "bad name id":"y", "tags":["id"]}`), []string{
			`*srv_update \{\"bad name id\":\"y\",\"body\":\"x\",\"hostName\":\"a\*b\",\"tags\":\[\"id\"\],\"ticket_id\":7\} UNKNOWN`,
			"srv_update ticket_id=7 UNKNOWN", "srv_update * UNKNOWN"}},
		{"arguments that nobody can read", Server{Name: "srv"}, "update", object(t, "id", "7", "body", strings.Repeat("x", maxExact)),
			[]string{"srv_update id=7 UNKNOWN", "srv_update * UNKNOWN"}},
		{"a guess is granted by the tool's own name", Server{Name: "srv"}, "read_file", object(t, "path", "src/app/main.go"),
			[]string{"*srv_read_file src/app/main.go UNKNOWN", "srv_read_file src/app/* UNKNOWN"}},
		{"an address", Server{Name: "f", Packages: []string{"mcp-server-fetch"}}, "fetch", object(t, "url", "https://x.example/a?b"),
			[]string{`*web_fetch https://x.example/a\?b NETWORK`, "web_fetch https://x.example/* NETWORK"}},
		{"a skill", Server{Mappings: []Mapping{{Tool: "skill", Kind: KindSkill, Roles: map[string]Role{"name": kinds.Name}}}}, "skill", object(t, "name", "pdf"),
			[]string{"*skill pdf UNKNOWN"}},
		{"marked", demo, "write_file", object(t, "path", ".git/config", "content", ""), nil},
		{"unmapped", demo, "read_file", object(t, "path", "README.md", "x", 1), nil},
		{"escalation", demo, "shell_exec", object(t, "command", "sudo ls"), nil},
		{"an effect", demo, "shell_exec", object(t, "command", "LD_PRELOAD=x ls"), nil},
		{"an effect, and a folder that is written", demo, "shell_exec", object(t, "command", "unzip README.md"), nil},
		{"deletion that a search finds", demo, "shell_exec", object(t, "command", "find . -delete"), []string{"*shell_exec find . -delete DESTRUCTIVE", "*write_file $WS WRITE"}},
		{"a folder that is written", demo, "shell_exec", object(t, "command", "touch src"),
			[]string{"*shell_exec touch src WRITE", "shell_exec touch * WRITE", "*write_file src WRITE", "write_file $WS/* WRITE"}},
		{"an archive that cannot be read", demo, "shell_exec", object(t, "command", "tar -xzf a.tgz -C src"), nil},
		{"what cannot be known", demo, "shell_exec", object(t, "command", "$x"), nil},
		{"malformed", demo, "read_file", []byte(`{`), nil},
		{"input of a process", Server{Name: "dc", Packages: []string{"@wonderwhy-er/desktop-commander"}}, "interact_with_process",
			object(t, "input", "ls"), nil},
	} {
		call := Call{Tool: Describe(c.server, c.tool, c.server.Name+"_"+c.tool, nil), Arguments: c.arguments, Place: p}
		var got []string
		for _, o := range Offers(call, Analyze(call)) {
			pattern := strings.ReplaceAll(o.Pattern, p.Dir, "$WS")
			pattern = strings.ReplaceAll(pattern, filepath.Dir(p.Dir), "$UP")
			s := fmt.Sprintf("%s %s %s", o.Tool, pattern, o.Risk)
			if o.Default {
				s = "*" + s
			}
			got = append(got, s)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n  %s\nwant\n  %s", c.name, strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
		}
	}
}

// An offer allows the call that it was made for, and never a call of a worse class.
func TestOffersGrantWhatTheySay(t *testing.T) {
	p := project(t, map[string]string{"src/a.go": "x", "odd[1] {x}.txt": "x"})
	for _, c := range []struct {
		kind  string
		pairs []any
	}{
		{KindReadFile, []any{"path", "src/a.go"}},
		{KindReadFile, []any{"path", "odd[1] {x}.txt"}},
		{KindWriteFile, []any{"path", "new.txt"}},
		{KindGlob, []any{"pattern", "src/**/*.go"}},
		{KindGrep, []any{"path", "src"}},
		{KindFetch, []any{"url", "https://x.example/a=b?c"}},
		{KindShell, []any{"command", "git status"}},
		{KindShell, []any{"command", "git log > out.txt"}},
		{KindShell, []any{"command", "python3 -m pip install x"}},
		{KindShell, []any{"command", "npx prisma db push"}},
		{KindShell, []any{"command", "curl -s https://x.example/a"}},
		{KindSkill, []any{"name", "a*b"}},
	} {
		call := Call{Tool: KindTool(c.kind), Arguments: object(t, c.pairs...), Place: p}
		a := Analyze(call)
		var grants []permissions.Grant
		for _, o := range Offers(call, a) {
			if o.Default {
				grants = append(grants, permissions.Grant{Tool: o.Tool, Pattern: o.Pattern, Risk: o.Risk})
			}
		}
		pol, err := permissions.NewPolicy(nil, nil, grants)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a.Subjects {
			s := a.Subjects[i]
			if f := permissions.Evaluate(pol, permissions.Context{}, &s); !s.DeniesOnly && f.Grant == nil {
				t.Errorf("%s %v: %q is not granted by %+v", c.kind, c.pairs, s.Value, grants)
			}
			s.Risk = permissions.Escalation
			if f := permissions.Evaluate(pol, permissions.Context{}, &s); f.Grant != nil {
				t.Errorf("%s %v: a worse call is granted", c.kind, c.pairs)
			}
		}
	}
}

func TestDeniedBeneath(t *testing.T) {
	p := project(t, map[string]string{
		"clean/a.txt": "x", "clean/sub/b.txt": "x", "clean/inside": "-> sub",
		"dirty/sub/.env": "x",
		"linked/x":       "-> ../dirty/sub/.env",
		"linkedtree/d":   "-> ../dirty",
		"loop/self":      "-> .",
		"loop/up":        "-> ..",
		"empty/":         "",
		"dangling/x":     "-> nowhere",
	})
	denied := func(path string) bool { return filepath.Base(path) == ".env" }
	for folder, want := range map[string]string{
		"clean": "", "empty": "", "missing": "", "dangling": "", "dirty": "dirty/sub/.env", "linked": "dirty/sub/.env",
		"linkedtree": "dirty/sub/.env", "dirty/sub/.env": "dirty/sub/.env", "clean/a.txt": "",
	} {
		paths, err := workspace.DeniedBeneath(filepath.Join(p.Dir, folder), denied)
		if err != nil || len(paths) > 0 != (want != "") || len(paths) > 0 && !slices.Contains(paths, filepath.Join(p.Dir, want)) {
			t.Errorf("%s: %q, %v; want %q", folder, paths, err, want)
		}
	}
	if paths, _ := workspace.DeniedBeneath(filepath.Join(p.Dir, "loop"), denied); len(paths) == 0 {
		t.Error("the link out of a folder is not followed")
	}
	seen := 0
	if paths, err := workspace.DeniedBeneath(filepath.Join(p.Dir, "clean"), func(string) bool { seen++; return false }); len(paths) > 0 || err != nil || seen != 3 {
		t.Errorf("looked at %d files, %v, %v", seen, paths, err)
	}
}

func TestDeniedBeneathIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range 300 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := workspace.Walker{Denied: func(string) bool { return false }, Seen: map[string]bool{}} // its time is over
	if err := w.Walk(dir); err != workspace.ErrBound {
		t.Errorf("over the time: %v", err)
	}
	if paths, err := workspace.DeniedBeneath(dir, func(string) bool { return true }); err == nil || len(paths) <= workspace.MaxDenied {
		t.Errorf("%d denied files, %v", len(paths), err)
	}
}

func TestDeniedBeneathUnreadable(t *testing.T) {
	p := project(t, map[string]string{"a/locked/x": "x"})
	locked := filepath.Join(p.Dir, "a", "locked")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(locked, 0o700) })
	if _, err := os.ReadDir(locked); err == nil {
		t.Skip("this user may read everything")
	}
	paths, err := workspace.DeniedBeneath(filepath.Join(p.Dir, "a"), func(string) bool { return false })
	if len(paths) > 0 || err == nil || !strings.Contains(err.Error(), locked) {
		t.Errorf("%q, %v", paths, err)
	}
}
