package tools

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"callgate/gate/tools/workspace"
	"callgate/permissions"
)

// defaults holds the rules about files that a new worker begins with.
const defaults = `{
	"*": "ask",
	"read_file": { "*": "allow", "*.env": "deny", "*.env.*": "deny", "*credentials*": "deny", "*secret*": "deny", "*.env.example": "allow" },
	"write_file": { "*": "allow", "*.env": "deny", "*.env.*": "deny" },
	"edit_file": { "*": "allow", "*.env": "deny", "*.env.*": "deny" },
	"glob": "allow", "grep": "allow", "skill": "ask", "shell_exec": "ask"
}`

// Every way to write a denied path is denied, and no way to write another path is.
func TestPathReadings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the names in the table are not all possible on Windows")
	}
	p := project(t, map[string]string{
		".env":               "KEY=1",
		".env.example":       "KEY=",
		"notes.txt":          "x",
		"sub/deep/file.txt":  "x",
		"innocent.txt":       "-> .env",
		"chain-a":            "-> chain-b",
		"chain-b":            "-> .env",
		"folder-link":        "-> sub/deep",
		"dangling.txt":       "-> new/.env",
		"example":            "-> .env.example",
		"disguised.example":  "-> .env",
		".env.copy.example":  "x",
		"secrets/":           "",
		"sub/.env.local":     "x",
		"outside":            "-> /",
		"caf\u00e9-secret.x": "x",
	})
	pol := policy(t, defaults)
	for _, c := range []struct {
		name, path string
		want       permissions.Action
	}{
		{"plain", "notes.txt", permissions.Allow},
		{"denied", ".env", permissions.Deny},
		{"exception after the deny", ".env.example", permissions.Allow},
		{"absolute", filepath.Join(p.Dir, ".env"), permissions.Deny},
		{"dot", "./.env", permissions.Deny},
		{"dot dot", "sub/../.env", permissions.Deny},
		{"doubled slash", ".//.env", permissions.Deny},
		{"trailing slash", ".env/", permissions.Deny},
		{"symbolic link", "innocent.txt", permissions.Deny},
		{"chain of links", "chain-a", permissions.Deny},
		{"link to a file that does not exist yet", "dangling.txt", permissions.Deny},
		{"link to an allowed file", "example", permissions.Allow},
		{"allowed name, denied target", "disguised.example", permissions.Deny},
		{"link through the root", "outside" + p.Dir + "/.env", permissions.Deny},
		{"percent", "%2eenv", permissions.Deny},
		{"percent in capitals", "%2Eenv", permissions.Deny},
		{"percent twice", "%252eenv", permissions.Deny},
		{"percent that is none", "100%", permissions.Allow},
		{"file URL", "file://" + p.Dir + "/.env", permissions.Deny},
		{"file URL with escapes", "file://" + p.Dir + "/%2eenv", permissions.Deny},
		{"file URL with a host", "file://localhost" + p.Dir + "/.env", permissions.Deny},
		{"file URL without slashes", "file:.env", permissions.Deny},
		{"file URL in capitals", "FILE://" + p.Dir + "/.env", permissions.Deny},
		{"backslashes", `sub\..\.env`, permissions.Deny},
		{"Windows prefix", `\\?\C:` + strings.ReplaceAll(p.Dir, "/", `\`) + `\.env`, permissions.Deny},
		{"trailing dot", ".env.", permissions.Deny},
		{"trailing space", ".env ", permissions.Deny},
		{"alternate stream", ".env::$DATA", permissions.Deny},
		{"home", "~/.env", permissions.Deny},
		{"home variable", "$HOME/.env", permissions.Deny},
		{"not there", "nothing/.env", permissions.Deny},
		{"decomposed", "cafe\u0301-\uff53ecret.x", permissions.Deny},
		{"ignored characters", ".e\u200cnv", permissions.Deny},
		{"compatibility form", "\uff0eenv", permissions.Deny},
		{"below a folder that matches", "secrets/x", permissions.Deny},
	} {
		a := analyze(t, KindReadFile, p, "path", c.path)
		if got := verdict(pol, a); got != c.want {
			t.Errorf("%s: reading %q: %v, want %v\n%+v", c.name, c.path, got, c.want, a.Subjects)
		}
	}
}

// An allow counts only for where a path really leads, and for every way that a server may read it.
func TestAllowNeedsTheRealPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need privileges")
	}
	p := project(t, map[string]string{
		"src/main.go":    "x",
		"src/out":        "-> /etc",
		"src/in":         "-> ../docs",
		"docs/a.md":      "x",
		"far/away/b.md":  "x",
		"src/near":       "-> ../far/away",
		"src/%2e%2e/x":   "x",
		"src/own%20name": "x",
	})
	pol := policy(t, `{ "*": "ask", "read_file": { "src/*": "allow" } }`)
	for _, c := range []struct {
		path string
		want permissions.Action
	}{
		{"src/main.go", permissions.Allow},
		{"./src//main.go", permissions.Allow},
		{filepath.Join(p.Dir, "src/main.go"), permissions.Allow},
		{"src/new.go", permissions.Allow},
		{"src/../src/main.go", permissions.Allow},
		{"src/own%20name", permissions.Allow},
		{"docs/a.md", permissions.Ask},
		{"src/out/passwd", permissions.Ask},
		{"src/in/a.md", permissions.Ask},
		{"src/../docs/a.md", permissions.Ask},
		{"src/near/../x", permissions.Ask},            // far/x for the kernel, src/x for a program that cleans first
		{"src/%2e%2e/docs/a.md", permissions.Ask},     // docs/a.md for a server that decodes
		{`src\..\docs\a.md`, permissions.Ask},         // docs/a.md for a server that takes backslashes
		{"file:src/main.go", permissions.Allow},       // the URL's path
		{"/etc/passwd", permissions.Ask},              // outside
		{"~/src/main.go", permissions.Ask},            // another src
		{"src/main.go\x00.txt", permissions.Ask},      // marked
		{"file://other/src/main.go", permissions.Ask}, // another machine's
	} {
		if got := verdict(pol, analyze(t, KindReadFile, p, "path", c.path)); got != c.want {
			t.Errorf("reading %q: %v, want %v", c.path, got, c.want)
		}
	}
}

func TestSpellings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table is in Unix paths")
	}
	p := Place{Dir: "/ws/app", Roots: []string{"/ws/app", "/ws"}, Home: "/ws"}
	for _, c := range []struct {
		path string
		want []string
	}{
		{"/ws/app/a/b", []string{"/ws/app/a/b", "a/b", "app/a/b", "$WORKSPACE/a/b", "~/app/a/b"}},
		{"/ws/app", []string{"/ws/app", ".", "app", "$WORKSPACE", "~/app"}},
		{"/ws/application", []string{"/ws/application", "application", "~/application"}},
		{"/etc/passwd", []string{"/etc/passwd"}},
		{"/", []string{"/"}},
	} {
		if got := p.Spellings(c.path, false); runtime.GOOS != "darwin" && !slices.Equal(got, c.want) {
			t.Errorf("spellings(%q) = %q, want %q", c.path, got, c.want)
		}
	}
}

// $WORKSPACE is the workspace of the call, by whatever path, and nothing that is too wide to be a workspace.
func TestWorkspaceSpelling(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table is in Unix paths")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	for _, d := range []string{"home/src/app", "home/src/other", "home/.config/x", "home/$WORKSPACE"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"link": "home/src/app", "home/src/app/out": "../other", "linkhome": "home"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	rules := policy(t, `{"read_file": {"$WORKSPACE/**": "allow"}, "write_file": {"$WORKSPACE/src/*": "allow"}}`)
	app := home + "/src/app"
	for _, c := range []struct {
		place Place
		path  string
		want  permissions.Action
	}{
		{Place{Dir: app}, "main.go", permissions.Allow},
		{Place{Dir: app}, app + "/a/b", permissions.Allow},
		{Place{Dir: app}, ".", permissions.Allow},
		{Place{Dir: app}, "~/src/app/x", permissions.Allow},
		{Place{Dir: app}, "../other/x", permissions.Ask},
		{Place{Dir: app}, app + "lication/x", permissions.Ask},
		{Place{Dir: app}, "out/x", permissions.Ask}, // leads outside
		{Place{Dir: app}, "/etc/passwd", permissions.Ask},
		{Place{Dir: app}, "$WORKSPACE/x", permissions.Allow}, // a folder of that name
		{Place{Dir: app}, "$WORKSPACE/../../x", permissions.Ask},
		{Place{Dir: app, Workspace: []string{home + "/src/other"}}, "main.go", permissions.Ask}, // the host says where it works
		{Place{Dir: app, Workspace: []string{app, home + "/src/other"}}, "../other/x", permissions.Allow},
		{Place{Dir: dir + "/link"}, "main.go", permissions.Allow}, // through a link, and directly
		{Place{Dir: dir + "/link"}, app + "/main.go", permissions.Allow},
		{Place{Dir: app, Roots: []string{app, home + "/src/other"}, Workspace: []string{app}}, "../other/x", permissions.Ask},
		{Place{Dir: home}, "src/app/main.go", permissions.Ask},
		{Place{Dir: home}, "$WORKSPACE/x", permissions.Ask},
		{Place{Dir: dir + "/linkhome"}, "src/app/main.go", permissions.Ask},
		{Place{Dir: dir}, "home/src/app/main.go", permissions.Ask}, // it holds the home
		{Place{Dir: home + "/.config"}, "x/y", permissions.Ask},
		{Place{Dir: "/"}, "x", permissions.Ask},
		{Place{Dir: "/tmp"}, "x", permissions.Ask},
		{Place{Dir: "/etc"}, "passwd", permissions.Ask},
		{Place{}, "$WORKSPACE/x", permissions.Ask}, // nobody knows where it runs
	} {
		c.place.Home = home
		if got := verdict(rules, analyze(t, KindReadFile, c.place, "path", c.path)); got != c.want {
			t.Errorf("reading %q in %q: %v, want %v", c.path, c.place.Dir, got, c.want)
		}
	}
}

// A workspace that is reached by a link has the names of both.
func TestLinkedWorkspace(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need privileges")
	}
	p := project(t, map[string]string{"src/main.go": "x"})
	alias := p.Dir + "-alias"
	if err := os.Symlink(p.Dir, alias); err != nil {
		t.Fatal(err)
	}
	linked := Place{Dir: alias, Roots: []string{alias}, Home: p.Home}
	for _, rule := range []string{"src/*", alias + "/*", p.Dir + "/*"} {
		pol := policy(t, `{ "read_file": { "`+rule+`": "allow" } }`)
		if got := verdict(pol, analyze(t, KindReadFile, linked, "path", "src/main.go")); got != permissions.Allow {
			t.Errorf("rule %q: %v", rule, got)
		}
	}
}

// A relative path may mean any root: what is denied in one of them is denied.
func TestOtherRoots(t *testing.T) {
	a := project(t, map[string]string{"x/key": "x"})
	b := project(t, map[string]string{"x/key": "x"})
	p := Place{Dir: a.Dir, Roots: []string{a.Dir, b.Dir}, Home: a.Home}
	pol := policy(t, `{ "*": "allow", "read_file": { "*": "allow", "`+filepath.ToSlash(b.Dir)+`/*": "deny" } }`)
	if got := verdict(pol, analyze(t, KindReadFile, p, "path", "x/key")); got != permissions.Deny {
		t.Errorf("relative path: %v, want deny", got)
	}
	if got := verdict(pol, analyze(t, KindReadFile, p, "path", filepath.Join(a.Dir, "x/key"))); got != permissions.Allow {
		t.Errorf("absolute path: %v, want allow", got)
	}
}

func TestRealPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need privileges")
	}
	p := project(t, map[string]string{
		"a/b/c":    "x",
		"link":     "-> a",
		"abs":      "-> /etc",
		"loop":     "-> loop",
		"dangling": "-> nowhere/x",
		"a/up":     "-> ../a/b",
		"file":     "x",
	})
	for _, c := range []struct{ in, want string }{
		{"a/b/c", "a/b/c"},
		{"link/b/c", "a/b/c"},
		{"link/../a", "a"},
		{"a/up/../b/c", "a/b/c"},
		{"dangling", "nowhere/x"},
		{"dangling/y", "nowhere/x/y"},
		{"none/at/all", "none/at/all"},
		{"file/below", "file/below"},
	} {
		real, _, err := workspace.RealPath(p.Dir + "/" + c.in)
		if err != nil || real != filepath.Join(p.Dir, c.want) {
			t.Errorf("realPath(%s) = %s, %v; want %s", c.in, real, err, c.want)
		}
		if followed, err := filepath.EvalSymlinks(p.Dir + "/" + c.in); err == nil && followed != real {
			t.Errorf("realPath(%s) = %s, the library says %s", c.in, real, followed)
		}
	}
	if real, _, err := workspace.RealPath(filepath.Join(p.Dir, "abs/passwd")); err != nil || !strings.HasSuffix(real, "/etc/passwd") {
		t.Errorf("absolute link: %s, %v", real, err)
	}
	if _, _, err := workspace.RealPath(filepath.Join(p.Dir, "loop")); err == nil {
		t.Error("a loop resolves")
	}
	if a := analyze(t, KindReadFile, p, "path", "loop"); !slices.Contains(codes(a), "unresolved-path") {
		t.Errorf("a loop is not marked: %v", a.Marks)
	}
	long := strings.Repeat("x", 300)
	if a := analyze(t, KindReadFile, p, "path", long); len(a.Marks) != 1 || strings.Contains(a.Marks[0].Text, long) || !strings.HasSuffix(a.Marks[0].Text, "leads: file name too long.") && runtime.GOOS != "windows" {
		t.Errorf("a name that is too long: %v", a.Marks)
	}
}

func TestHardLinksAreMarked(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links are not counted on Windows")
	}
	p := project(t, map[string]string{".env": "x", "node_modules/": ""})
	for _, name := range []string{"harmless.txt", "node_modules/x"} {
		if err := os.Link(filepath.Join(p.Dir, ".env"), filepath.Join(p.Dir, name)); err != nil {
			t.Skip(err)
		}
	}
	if got := codes(analyze(t, KindReadFile, p, "path", "harmless.txt")); !slices.Contains(got, "hard-link") {
		t.Errorf("marks %v", got)
	}
	if got := codes(analyze(t, KindReadFile, p, "path", "node_modules/x")); len(got) > 0 {
		t.Errorf("a package manager's link is marked: %v", got)
	}
}

func TestPercentDecoded(t *testing.T) {
	for in, want := range map[string]string{
		"a%20b": "a b", "100%": "100%", "%zz": "%zz", "%25%32%65": ".", "%2": "%2", "": "", "%%32e": ".",
	} {
		if got := workspace.PercentDecoded(in); got != want {
			t.Errorf("percentDecoded(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestWindowsName(t *testing.T) {
	for in, want := range map[string]string{
		`C:\a\.env.`: `C:\a\.env`, `\\?\C:\x `: `C:\x`, "a/.env::$DATA": "a/.env", "./a": "./a", "../a.": "../a", "a. /b": "a/b",
		"plain": "plain", "..": "..",
	} {
		if got := workspace.WindowsName(in); got != want {
			t.Errorf("windowsName(%q) = %q, want %q", in, got, want)
		}
	}
}
