package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"callgate/internal/command/search"
	"callgate/internal/config"
	"callgate/internal/retrieval"
)

// searchSetup returns a workspace, and a function that runs a command line in it.
func searchSetup(t *testing.T) (root string, run func(args ...string) (stdout, stderr string, err error)) {
	root = t.TempDir()
	data := t.TempDir()
	for name, text := range map[string]string{
		"auth/token.go":     "package auth\n\n// refreshToken renews the access token.\nfunc refreshToken() error {\n\treturn nil // \x1b[31mred\n}\n",
		"web/page.py":       "def render_page(title):\n    return title\n",
		"secrets/notes.md":  "# The token of the bank\n",
		"prod.env":          "TOKEN=s3cr3t\n",
		"paper.pdf":         "%PDF",
		"old.txt":           "Die Gr\xf6\xdfe\n",
		".env":              "TOKEN=s3cr3t\n",
		"node_modules/a.js": "x\n",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rules := filepath.Join(data, "workers", "default", "permissions.jsonc")
	if err := os.MkdirAll(filepath.Dir(rules), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rules, []byte(`{"*": "ask", "read_file": {"*": "allow", "*.env": "deny", "secrets/*": "deny"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	return root, func(args ...string) (string, string, error) {
		var out, errOut bytes.Buffer
		top := &cobra.Command{Use: "callgate", SilenceUsage: true, SilenceErrors: true}
		s := config.NewSettings(top.PersistentFlags())
		top.AddCommand(s.Searching(search.NewIndexCommand(s)), s.Searching(search.NewSearchCommand(s)))
		top.SetArgs(append(args, "--data-dir", data))
		top.SetOut(&out)
		top.SetErr(&errOut)
		err := top.ExecuteContext(t.Context())
		return out.String(), errOut.String(), err
	}
}

func TestIndexAndSearch(t *testing.T) {
	root, run := searchSetup(t)
	out, errOut, err := run("index", root, "-v")
	if err != nil || !strings.Contains(out, ": 2 files, 2 chunks; 2 files changed, 0 files removed in ") {
		t.Fatalf("index says %q, %q, %v", out, errOut, err)
	}
	for _, want := range []string{"paper.pdf: PDF and Office files are not read", "prod.env: denied", "secrets: denied|secrets/notes.md: denied", "left out 1 file: PDF and Office files are not read: convert them to text or Markdown\n",
		"old.txt: it is not UTF-8 or UTF-16: convert it\n", ".env: its name suggests secrets\n", "node_modules: left out by default\n"} {
		if !strings.Contains(errOut, strings.Split(want, "|")[0]) && !strings.Contains(errOut, strings.Split(want, "|")[len(strings.Split(want, "|"))-1]) {
			t.Errorf("index -v says %q, want %q", errOut, want)
		}
	}
	if _, errOut, err = run("index", root); err != nil || !strings.Contains(errOut, "left out 1 file: it is not UTF-8 or UTF-16: convert it (callgate index -v lists them)\n") || strings.Contains(errOut, ".env") {
		t.Errorf("index says %q, %v", errOut, err)
	}
	if out, _, err = run("index", root, "--json"); err != nil || !strings.Contains(out, `{"chunkCount":2,"duration":`) || !strings.Contains(out, `"totalFiles":3,"type":"index_start"`) || !strings.Contains(out, `{"path":".env","reason":"its name suggests secrets","type":"index_skip"}`) {
		t.Errorf("index --json says %q, %v", out, err)
	}
	if _, _, err = run("index", filepath.Join(root, "paper.pdf")); err == nil || !strings.Contains(err.Error(), "PDF and Office files are not read") {
		t.Errorf("indexing a PDF says %v", err)
	}

	// From a folder inside, with the index of the folder above: only what is in the inner folder.
	t.Chdir(filepath.Join(root, "auth"))
	out, errOut, err = run("search", "renew the token", "--scores")
	if err != nil || !strings.HasPrefix(out, "token.go:1-6  refreshToken  ") || !strings.Contains(out, "    4 func refreshToken() error {") {
		t.Errorf("search says %q, %q, %v", out, errOut, err)
	}
	if strings.Contains(out, "\x1b") || strings.Contains(out, "bank") || strings.Contains(out, "s3cr3t") {
		t.Errorf("search shows what it must not: %q", out)
	}
	for _, dir := range []string{"../web", filepath.Join(root, "web")} {
		if out, _, err = run("search", "page", "--in", dir); err != nil || !strings.HasPrefix(out, filepath.Join(root, "web", "page.py")+":1-2") || strings.Contains(out, "token.go") {
			t.Errorf("search in %s says %q, %v", dir, out, err)
		}
	}
	t.Chdir(root)
	if out, _, err = run("search", "page", "--in", "web", "--path", "web/*"); err != nil || out != "Nothing found.\n" {
		t.Errorf("a glob from above says %q, %v", out, err)
	}
	if out, _, err = run("search", "page", "--in", "web", "--path", filepath.Join(root, "web")+"/*"); err != nil || !strings.HasPrefix(out, filepath.Join("web", "page.py")+":1-2") {
		t.Errorf("an absolute glob says %q, %v", out, err)
	}
	if out, _, err = run("search", "page", "--in", root, "--json", "--lang", "python"); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Roots []string        `json:"roots"`
		Hits  []retrieval.Hit `json:"hits"`
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Hits) != 1 || answer.Hits[0].Symbol != "render_page" || answer.Hits[0].Root != root || !slices.Equal(answer.Roots, []string{root}) {
		t.Errorf("search --json says %s, %v", out, err)
	}
	if out, _, err = run("search", "page", "--in", root, "--path", "auth/**", "--lang", "python"); err != nil || out != "Nothing found.\n" {
		t.Errorf("search for nothing says %q, %v", out, err)
	}
	for _, args := range [][]string{{"search"}, {"search", "a", "b"}, {"search", "--eval", "x", "y"}, {"search", "x", "--in", filepath.Join(root, "none")}, {"index", "--embedder", "none"}, {"search", "x", "--lang", "klingon"}, {"search", "x", "--kind", "note"}} {
		if _, _, err := run(args...); err == nil {
			t.Errorf("%q is no error", args)
		}
	}
}

// All folders of the configuration are searched, and the results are ranked together.
func TestSearchSeveralRoots(t *testing.T) {
	root, run := searchSetup(t)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "renew.go"), []byte("package renew\n\n// renewToken renews the token.\nfunc renewToken() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	both := []string{"--root", root, "--root", other, "--root", filepath.Join(root, "web")}
	out, errOut, err := run(append([]string{"search", "renewToken"}, both...)...)
	mine, theirs := strings.Index(out, filepath.Join(root, "auth", "token.go")+":1-6"), strings.Index(out, filepath.Join(other, "renew.go")+":1-4")
	if err != nil || theirs != 0 || mine < 0 {
		t.Errorf("search in two folders says %q, %q, %v", out, errOut, err)
	}
	if strings.Count(out, "page.py") > 1 {
		t.Errorf("a folder in another is searched twice: %q", out)
	}
	out, _, err = run(append([]string{"search", "token", "--limit", "1", "--json"}, both...)...)
	var answer struct {
		Roots []string        `json:"roots"`
		Hits  []retrieval.Hit `json:"hits"`
	}
	if uerr := json.Unmarshal([]byte(out), &answer); err != nil || uerr != nil || len(answer.Hits) != 1 || !slices.Equal(answer.Roots, []string{root, other}) {
		t.Errorf("search --json in two folders says %s, %v, %v", out, err, uerr)
	}
	if out, _, err = run(append([]string{"search", "renewToken", "--in", root}, both...)...); err != nil || strings.Contains(out, "renew.go") {
		t.Errorf("--in one of them says %q, %v", out, err)
	}
	if _, _, err = run(append([]string{"search", "--eval", "x"}, both...)...); err == nil || !strings.Contains(err.Error(), "--in") {
		t.Errorf("--eval over two folders says %v", err)
	}
}

func TestSearchEval(t *testing.T) {
	root, run := searchSetup(t)
	file := filepath.Join(t.TempDir(), "judged.jsonl")
	if err := os.WriteFile(file, []byte(`{"query":"refreshToken","relevant":[{"path":"auth/token.go","start":4,"end":6}]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, err := run("search", "--eval", file, "--in", root)
	if want := "1 query  nDCG@10 1.0000  MRR 1.0000  Recall@5 1.0000  lines@10 1.0000  in file 1.0000\n"; err != nil || out != want || strings.Contains(errOut, "not in the index") {
		t.Errorf("got %q, %q, %v, want %q", out, errOut, err, want)
	}

	// In a subfolder, paths are relative to it. Files that are not indexed are reported.
	if err := os.WriteFile(file, []byte(`{"query":"refreshToken","relevant":[{"path":"token.go"},{"path":"auth/token.go"}]}`+"\n"+`{"query":"token","relevant":[{"path":"gone.go"},{"path":"gone.go","start":2}]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, err = run("search", "--eval", file, "--in", filepath.Join(root, "auth"))
	if err != nil || !strings.HasPrefix(out, "2 queries  nDCG@10 0.3") || !strings.HasSuffix(errOut, "\nnot in the index, so never found: auth/token.go\nnot in the index, so never found: gone.go\n") {
		t.Errorf("got %q, %q, %v", out, errOut, err)
	}
}

// TestIndexRoots: without a PATH, the configured workspaces are indexed.
func TestIndexRoots(t *testing.T) {
	root, run := searchSetup(t)
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "bees.md"), []byte("# Bees\n\nThey sleep in winter.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, errOut, err := run("index", "--root", root, "--root", other)
	if err != nil || strings.Count(out, " changed, ") != 2 {
		t.Fatalf("index says %q, %q, %v", out, errOut, err)
	}
	if out, _, err = run("search", "winter", "--root", other, "--no-sync"); err != nil || !strings.HasPrefix(out, filepath.Join(other, "bees.md")+":") {
		t.Errorf("search says %q, %v", out, err)
	}
}

// A repository inside an indexed folder gets a separate index, so that what it ignores is left out.
func TestSearchInNestedRepository(t *testing.T) {
	root, run := searchSetup(t)
	nested := filepath.Join(root, "nested")
	for name, text := range map[string]string{".git/info/exclude": "private.md\n", "private.md": "# narwhals at home\n", "deep/open.md": "# narwhals at sea\n"} {
		path := filepath.Join(nested, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := run("index", root); err != nil {
		t.Fatal(err)
	}
	t.Chdir(nested)
	for range 2 {
		if out, _, err := run("search", "narwhals"); err != nil || !strings.HasPrefix(out, filepath.Join("deep", "open.md")+":1-1") || strings.Contains(out, "private") {
			t.Errorf("search says %q, %v", out, err)
		}
	}
}
