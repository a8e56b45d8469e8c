package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/internal/guard"
	"callgate/permissions"
)

// made makes files below a test folder.
func made(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFiles(t *testing.T) {
	home := t.TempDir()
	made(t, home, map[string]string{
		".venv/bin/python": "\x7fELF", "tools/bin/server": "#!" + home + "/.venv/bin/python\n", ".local/bin/uvx": "\x7fELF",
		".ssh/key": "", ".ssh/key.pub": "", ".cargo/bin/mcp": "\x7fELF", ".bun/bin/bunx": "\x7fELF", "app/server.py": "#!" + home + "/.ssh/key\n",
		"app/tool.py": "#!" + home + "/py/bin/python\n", "py/bin/python": "\x7fELF", "py/lib/os.py": "",
		"app/a.txt": "", "docs/b.txt": "", "x/node_modules/server/dist/index.js": "#!/usr/bin/env node\n",
	})
	if err := os.Symlink(home+"/.ssh/key", home+"/app/link"); err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(home, path) }
	rule := func(tool, pattern string, action permissions.Action) permissions.Rule {
		return permissions.Rule{Tool: tool, Pattern: pattern, Action: action}
	}
	for _, c := range []struct {
		name            string
		program         string
		o               Options
		read, write, no []string
	}{
		{"the workspace", at("tools/bin/server"), Options{Level: Workspace, Dir: at("app"), Args: []string{at("docs"), "--verbose"}},
			[]string{"/usr", at("tools"), at(".venv")}, []string{at("app"), at("docs")}, []string{home, at(".local")}},
		{"strictly", at("tools/bin/server"), Options{Level: Strict, Dir: at("app"), Args: []string{at("docs")}},
			[]string{at("app"), at("docs")}, nil, []string{home}},
		{"by rules", at("tools/bin/server"), Options{Level: Strict, Dir: at("app"), Rules: []permissions.Rule{
			rule("read_file", "~/notes/*", permissions.Allow), rule("write_file", "$WORKSPACE/out/*.txt", permissions.Allow), rule("edit_file", "~/one.txt", permissions.Allow),
			rule("read_file", "~/asked/*", permissions.Ask), rule("read_file", "~/denied/*", permissions.Deny), rule("read_file", "*", permissions.Allow), rule("write_file", "~/*", permissions.Allow), rule("shell_exec", "/cmd/*", permissions.Allow),
		}}, []string{at("notes")}, []string{at("app/out"), at("one.txt")}, []string{home, "/", at("asked"), at("denied"), "/cmd"}},
		{"some files of a folder", "/usr/bin/env", Options{Level: Strict, Dir: at("app"), Rules: []permissions.Rule{
			rule("read_file", "~/.ssh/*.pub", permissions.Allow), rule("read_file", "~/docs/**/*", permissions.Allow),
		}}, []string{at(".ssh/key.pub"), at("docs")}, nil, []string{at(".ssh"), at(".ssh/key")}},
		{"rules under a condition or a ceiling", "/usr/bin/env", Options{Level: Strict, Dir: at("app"), Rules: []permissions.Rule{
			{Tool: "read_file", Pattern: "~/docs/*", Action: permissions.Allow, When: permissions.When{Branch: "main"}},
			{Tool: "write_file", Pattern: "~/docs/*", Action: permissions.Allow, Capped: true, Risk: permissions.ReadOnly},
		}}, nil, nil, []string{at("docs")}},
		{"scripts and links that it can change", at("app/link"), Options{Level: Workspace, Dir: at("app"), Args: []string{"server.py", "tool.py"}},
			[]string{at("py")}, []string{at("app")}, []string{at(".ssh"), at(".ssh/key")}},
		{"programs in a shared bin", at(".cargo/bin/mcp"), Options{Level: Strict, Dir: at("app")}, []string{at(".cargo/bin")}, nil, []string{at(".cargo")}},
		{"settings and the runner itself", "/usr/bin/npx", Options{Level: Workspace, Dir: at("app")}, []string{at(".npmrc")}, []string{at(".npm")}, nil},
		{"a runner beside its cache", at(".bun/bin/bunx"), Options{Level: Workspace, Dir: at("app")}, []string{at(".bun")}, []string{at(".bun/install/cache")}, nil},
		{"a home is no workspace", at("tools/bin/server"), Options{Level: Workspace, Dir: home, Args: []string{"/", ".", ".."}},
			[]string{at("tools")}, nil, []string{home, "/", filepath.Dir(home)}},
		{"packages", "/usr/bin/env", Options{Level: Strict, Dir: at("app"), Args: []string{at("x/node_modules/server/dist/index.js")}},
			[]string{at("x/node_modules")}, nil, []string{at("x"), home}},
		{"a runner", at(".local/bin/uvx"), Options{Level: Workspace, Dir: at("app")},
			[]string{at(".local/bin")}, []string{at(".cache/uv"), at("app")}, []string{at(".local"), home}},
		{"added", "/usr/bin/env", Options{Level: Strict, Dir: at("app"), Read: []string{"/data"}, Write: []string{"/out"}}, []string{"/data"}, []string{"/out"}, nil},
	} {
		c.o.Home = home
		box := Wall(guard.Wall{}, c.program, c.o).Box
		for _, path := range c.read {
			if !slices.Contains(box.Read, path) {
				t.Errorf("%s: %s cannot be read: %v", c.name, path, box.Read)
			}
		}
		for _, path := range c.write {
			if !slices.Contains(box.Write, path) {
				t.Errorf("%s: %s cannot be written: %v", c.name, path, box.Write)
			}
		}
		if c.write == nil && len(box.Write) > 0 {
			t.Errorf("%s: %v can be written", c.name, box.Write)
		}
		for _, path := range box.Write {
			if slices.Contains([]string{at(".npmrc"), at(".bun")}, path) {
				t.Errorf("%s: %s can be written", c.name, path)
			}
		}
		for _, path := range c.no {
			if slices.Contains(box.Read, path) || slices.Contains(box.Write, path) {
				t.Errorf("%s: %s is open", c.name, path)
			}
		}
	}
}

// TestLinkedHome checks that a home is too wide by each of its names.
func TestLinkedHome(t *testing.T) {
	real := filepath.Join(t.TempDir(), "real")
	made(t, real, map[string]string{"bin/server": "\x7fELF", ".cargo/bin/mcp": "\x7fELF"})
	home := filepath.Join(filepath.Dir(real), "home")
	if err := os.Symlink(real, home); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{home + "/bin/server", real + "/bin/server", home + "/.cargo/bin/mcp"} {
		box := Wall(guard.Wall{}, program, Options{Level: Workspace, Home: home, Dir: real, Args: []string{real}}).Box
		for _, path := range []string{home, real, filepath.Dir(real), home + "/.cargo", real + "/.cargo"} {
			if slices.Contains(box.Read, path) || slices.Contains(box.Write, path) {
				t.Errorf("%s: %s is open", program, path)
			}
		}
	}
}

// TestDenied checks that the last rule that matches decides what is open, and that a deny closes parts of open folders.
func TestDenied(t *testing.T) {
	const home = "/home/somebody"
	rule := func(tool, pattern string, action permissions.Action) permissions.Rule {
		return permissions.Rule{Tool: tool, Pattern: pattern, Action: action}
	}
	for _, c := range []struct {
		name                       string
		rules                      []permissions.Rule
		grants                     []permissions.Grant
		read, write, hidden, fixed string // relative to the home
	}{
		{"a deny behind an allow", []permissions.Rule{rule("read_file", "~/docs/*", permissions.Allow), rule("read_file", "~/docs/**", permissions.Deny)}, nil, "", "", "", ""},
		{"an ask behind an allow", []permissions.Rule{rule("read_file", "~/docs/*", permissions.Allow), rule("*", "*", permissions.Ask)}, nil, "", "", "", ""},
		{"an allow behind an ask", []permissions.Rule{rule("*", "*", permissions.Ask), rule("read_file", "~/docs/*", permissions.Allow)}, nil, "docs", "", "", ""},
		{"an ask about another kind", []permissions.Rule{rule("read_file", "~/docs/*", permissions.Allow), rule("shell_exec", "*", permissions.Ask)}, nil, "docs", "", "", ""},
		{"an exception", []permissions.Rule{rule("read_file", "~/docs/*", permissions.Allow), rule("read_file", "~/docs/mine/*", permissions.Deny)}, nil, "docs", "", "docs/mine", ""},
		{"an exception for changes", []permissions.Rule{rule("write_file", "~/src/*", permissions.Allow), rule("{write,edit}_file", "~/src/.git/**", permissions.Deny)}, nil, "", "src", "", "src/.git"},
		{"an exception that is lifted", []permissions.Rule{rule("read_file", "~/docs/mine/*", permissions.Deny), rule("read_file", "~/docs/*", permissions.Allow)}, nil, "docs", "", "", ""},
		{"a grant against a deny", []permissions.Rule{rule("sandbox_read", "~/docs/*", permissions.Deny)}, []permissions.Grant{{Tool: "sandbox_read", Pattern: "~/docs/a"}}, "", "", "", ""},
		{"an allow in a denied folder", []permissions.Rule{rule("read_file", "~/docs/*", permissions.Deny), rule("read_file", "~/docs/a/*", permissions.Allow)}, nil, "docs/a", "", "", ""},
		{"an allow in an exception", []permissions.Rule{rule("read_file", "~/docs/*", permissions.Allow), rule("read_file", "~/docs/a/*", permissions.Deny), rule("read_file", "~/docs/a/b/*", permissions.Allow)}, nil, "docs", "", "docs/a", ""},
		{"a deny around its own folder", []permissions.Rule{rule("read_file", "~/*/*", permissions.Deny), rule("read_file", "~/app/*", permissions.Deny)}, nil, "", "", "", ""},
		{"its own folder", []permissions.Rule{rule("read_file", "$WORKSPACE/.env", permissions.Deny)}, nil, "", "", "", ""},
	} {
		w := Wall(guard.Wall{}, "/usr/bin/env", Options{Level: Strict, Home: home, Dir: home + "/app", Rules: c.rules, Grants: c.grants})
		for what, list := range map[string][]string{c.read + ": read": w.Box.Read, c.write + ": write": w.Box.Write, c.hidden + ": hidden": w.Hidden, c.fixed + ": fixed": w.Fixed} {
			want, what, _ := strings.Cut(what, ": ")
			var got []string
			for _, path := range list {
				if rest, ok := strings.CutPrefix(path, home+"/"); ok && rest != "app" {
					got = append(got, rest)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%s: %s is %q, want %q", c.name, what, got, want)
			}
		}
	}
}

// TestNoProgram checks that a wall for no program says what rules open, so that walls can be compared.
func TestNoProgram(t *testing.T) {
	home := t.TempDir()
	o := Options{Level: Workspace, Home: home, Dir: filepath.Join(home, "app"), Rules: []permissions.Rule{{Tool: "read_file", Pattern: "~/notes/*", Action: permissions.Allow}}}
	was := Wall(guard.Wall{}, "", o).Box
	o.Rules = nil
	is := Wall(guard.Wall{}, "", o).Box
	if !is.Narrower(was) || was.Narrower(is) {
		t.Errorf("%v\n%v", was.Read, is.Read)
	}
}
