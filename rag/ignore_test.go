package rag

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"callgate/rag/chunks"
	"callgate/rag/ignore"
)

// ignoreStories are ignore files with other files, and the files that must be indexed.
var ignoreStories = []struct {
	name  string
	files map[string]string // with a content; others are empty
	names string            // more files
	want  string            // what is indexed
}{
	{"nothing ignored", nil, "a.go b/c.go", "a.go b/c.go"},
	{"names at any depth", map[string]string{".gitignore": "*.log\nbuild\n"}, "a.log x/b.log build/c.go x/build/d.go builder.go", "builder.go"},
	{"anchored", map[string]string{".gitignore": "/out\nsub/skip.go\n"}, "out/a.go x/out/b.go sub/skip.go x/sub/skip.go", "x/out/b.go x/sub/skip.go"},
	{"directories only", map[string]string{".gitignore": "out/\n"}, "out x/out/a.go", "out"},
	{"the last rule wins", map[string]string{".gitignore": "*.txt\n!keep.txt\n"}, "a.txt keep.txt x/keep.txt", "keep.txt x/keep.txt"},
	{"what is in an ignored directory stays out", map[string]string{".gitignore": "d/\n!d/keep.go\n"}, "d/keep.go", ""},
	{"contents ignored, one kept", map[string]string{".gitignore": "d/*\n!d/keep.go\n"}, "d/keep.go d/a.go", "d/keep.go"},
	{"inner files win", map[string]string{".gitignore": "*.go\n", "in/.gitignore": "!*.go\n/a.go\n"}, "a.go in/a.go in/b.go in/x/a.go", "in/b.go in/x/a.go"},
	{"double stars", map[string]string{".gitignore": "**/gen\na/**/z.go\nlog/**\n"}, "x/gen/a.go a/z.go a/b/c/z.go a/b/y.go log/x.go", "a/b/y.go"},
	{"classes and escapes", map[string]string{".gitignore": "[ab].go\n[!x]1.go\n\\#c.go\n\\!d.go\n"}, "a.go c.go x1.go y1.go #c.go !d.go", "c.go x1.go"},
	{"spaces and comments", map[string]string{".gitignore": "# a.go\na.go   \n\nb\\ \n"}, "a.go c.go", "c.go"},
	{"line ends of Windows", map[string]string{".gitignore": "a.go\r\nb.go\r\n"}, "a.go b.go c.go", "c.go"},
	{"a broken pattern matches nothing", map[string]string{".gitignore": "[\n*.txt\n"}, "a.txt [ b.go", "[ b.go"},
}

func writeFiles(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func walked(t *testing.T, x *Index, dir string) (names []string, left []skipped) {
	t.Helper()
	ws, err := x.openWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.close()
	files, _, left, err := ws.walk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if ws.one(f.name) == nil {
			t.Errorf("walk finds %s, one does not", f.name)
		}
		names = append(names, f.name)
	}
	return names, left
}

func memory(t testing.TB, o Options) *Index {
	t.Helper()
	x, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func TestIgnore(t *testing.T) {
	git, _ := exec.LookPath("git")
	for _, c := range ignoreStories {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			writeFiles(t, dir, c.files)
			for name := range strings.FieldsSeq(c.names) {
				writeFiles(t, dir, map[string]string{name: ""})
			}
			if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			names, _ := walked(t, memory(t, Options{}), dir)
			names = slices.DeleteFunc(names, func(n string) bool { return filepath.Base(n) == ignore.GitName })
			want := strings.Fields(c.want)
			slices.Sort(names)
			slices.Sort(want)
			if !slices.Equal(names, want) {
				t.Errorf("got %q, want %q", names, want)
			}
			if git == "" {
				return
			}
			// git itself must agree.
			run := func(args ...string) string {
				cmd := exec.Command(git, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(args, err)
				}
				return string(out)
			}
			run("init", "-q")
			var listed []string
			for name := range strings.SplitSeq(run("ls-files", "-z", "--others", "--exclude-standard"), "\x00") {
				if name != "" && filepath.Base(name) != ignore.GitName {
					listed = append(listed, name)
				}
			}
			slices.Sort(listed)
			if !slices.Equal(listed, want) {
				t.Errorf("git lists %q, the test wants %q", listed, want)
			}
		})
	}
}

func TestLeftOut(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "repo", "ws")
	writeFiles(t, top, map[string]string{
		"repo/.git/HEAD": "", "repo/.gitignore": "/ws/above.go\n", "repo/.git/info/exclude": "excluded.go\n", ".gitignore": "*.go\n",
		"secret/outside.go": "package outside",
	})
	writeFiles(t, dir, map[string]string{
		"a.go": "package a", "above.go": "x", "excluded.go": "x", "node_modules/x/y.js": "x", "go.sum": "x", ".env": "KEY=1",
		"prod.env.local": "x", ".env.example": "KEY=", "key.pem": "x", "own.go": "x", "wanted/.env": "x", "x.png": "x", "doc.pdf": "x", "sheet.XLSX": "x",
		"in/.gitignore": "b.go", "in/b.go": "x",
		"big.txt": strings.Repeat("x", 3<<20), "denied/a.go": "x", "a.denied": "x",
		".callgateignore": "own.go\n!wanted/.env\n",
	})
	for link, target := range map[string]string{"loop": ".", "out": filepath.Join(top, "secret"), "out.go": filepath.Join(top, "secret/outside.go"), "in.go": "a.go"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links:", err)
		}
	}
	x := memory(t, Options{Denied: func(path string) bool {
		if !filepath.IsAbs(path) {
			t.Errorf("denied is asked about %q, which is not absolute", path)
		}
		return filepath.Base(path) == "denied" || filepath.Ext(path) == ".denied"
	}})
	names, left := walked(t, x, dir)
	if want := []string{".callgateignore", ".env.example", "a.go", "in/.gitignore", "prod.env.local", "wanted/.env"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	reasons := map[string]string{}
	for _, s := range left {
		reasons[s.name] = s.reason
	}
	outer := filepath.Join(top, "repo")
	for name, want := range map[string]string{
		"node_modules": "left out by default", "go.sum": "left out by default", ".env": "its name suggests secrets", "key.pem": "its name suggests secrets",
		"own.go": "ignored by .callgateignore", "above.go": "ignored by " + filepath.Join(outer, ".gitignore"),
		"excluded.go": "ignored by " + filepath.Join(outer, ".git", "info", "exclude"), "in/b.go": "ignored by in/.gitignore",
		"x.png": "not text", "loop": "a symbolic link", "out": "a symbolic link", "out.go": "a symbolic link", "in.go": "a symbolic link",
		"doc.pdf": "PDF", "sheet.XLSX": "Office", "big.txt": "more than 2097152", "denied": "denied", "a.denied": "denied",
	} {
		if !strings.Contains(reasons[name], want) {
			t.Errorf("%s is left out because of %q, want %q", name, reasons[name], want)
		}
	}
	if len(reasons) != 18 || len(left) != 18 {
		t.Errorf("reasons for %q", reasons)
	}
}

func TestMaxFiles(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a": "", "b": "", "c": ""})
	names, left := walked(t, memory(t, Options{MaxFiles: 2}), dir)
	if len(names) != 2 || len(left) != 1 || left[0].reason != "1 files are left out: more than 2" {
		t.Errorf("got %q, left %v", names, left)
	}
}

// TestManyLeftOut checks that the list of expected exclusions is bounded.
func TestManyLeftOut(t *testing.T) {
	var e expected
	for i := range maxExpected + 3 {
		e.add(fmt.Sprint(i), "a symbolic link")
	}
	if all := e.all(); len(all) != maxExpected+1 || all[maxExpected].reason != "3 more files and folders are left out" {
		t.Errorf("%d are listed", len(all))
	}
}

func TestNotText(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a.txt", "plain\ttext\r\n", ""},
		{"a.txt", "with\x00zero", "binary"},
		{"a.txt", strings.Repeat("\xff\xd8\x01", 100), "binary"},
		{"a.txt", "caf\xe9 au lait" + strings.Repeat(", s'il vous plait", 10), ""},
		{"a.txt", "caf\xe9 au lait, s'il vous plait", "it is not UTF-8 or UTF-16: convert it"},
		{"a.cs", "\xff\xfec\x00l\x00a\x00s\x00s\x00", ""},
		{"a.txt", "\x1f\x8b\x08\x03\xff\xfe\xe0", "binary"},
		{"a.js", strings.Repeat("a=b;", 10_000), "minified or generated: lines of 40000 bytes"},
		{"a.md", strings.Repeat("word ", 10_000), ""},
	} {
		reason := ""
		text, err := decoded([]byte(c.data))
		if err == nil {
			err = notText(text, chunks.LanguageOf(c.name, nil))
		}
		if err != nil {
			reason = err.Error()
		}
		if reason != c.want {
			t.Errorf("%.20q: %q, want %q", c.data, reason, c.want)
		}
	}
}

// TestSwapped replaces a listed file with a link to a denied one before it is read.
func TestSwapped(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.go": "package a", "secret": "s3cr3t"})
	x := memory(t, Options{})
	ws, err := x.openWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.close()
	f := ws.one("a.go")
	if f == nil {
		t.Fatal("a.go is not found")
	}
	if err := os.Remove(filepath.Join(dir, "a.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret", filepath.Join(dir, "a.go")); err != nil {
		t.Skip("no symbolic links:", err)
	}
	if text, _, err := ws.read(f); !isSkip(err) || text != "" {
		t.Errorf("read %q, %v", text, err)
	}
}

// TestSwappedFolder replaces a folder with a link to a denied one, after its files were listed or were indexed.
func TestSwappedFolder(t *testing.T) {
	const denied = "the zebra is s3cr3t"
	swap := func(root string) {
		if err := os.Rename(filepath.Join(root, "in/pub"), filepath.Join(root, "in/was")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../secrets", filepath.Join(root, "in/pub")); err != nil {
			t.Skip("no symbolic links:", err)
		}
	}
	for _, when := range []EventKind{EventStart, EventDone} {
		t.Run(string(when), func(t *testing.T) {
			root := t.TempDir()
			writeFiles(t, root, map[string]string{"secrets/prod.txt": denied, "in/pub/prod.txt": "the zebra is black."})
			x := memory(t, Options{Denied: func(path string) bool { return strings.Contains(filepath.ToSlash(path), "/secrets") }})
			sum, err := x.Sync(t.Context(), root, func(e Event) {
				if e.Kind == when {
					swap(root)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			hits, err := x.Search(t.Context(), Query{Text: "zebra", WithText: true})
			if err != nil || len(hits) != sum.Files {
				t.Fatalf("%d files, %d hits, %v", sum.Files, len(hits), err)
			}
			for _, h := range hits {
				if strings.Contains(h.Text, "s3cr3t") || !h.Stale {
					t.Errorf("%+v", h)
				}
			}
		})
	}
}
