package rag

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"callgate/internal/testserver/waits"
	"callgate/rag/ignore"
)

// fickle denies a file that can be changed.
type fickle struct{ name atomic.Pointer[string] }

func (f *fickle) set(name string) { f.name.Store(&name) }

func (f *fickle) options() Options {
	return Options{
		Rules: func() string { return *f.name.Load() },
		Denied: func(path string) bool {
			n := *f.name.Load()
			return n != "" && strings.HasSuffix(filepath.ToSlash(path), n)
		},
	}
}

// TestRulesChange makes the rules stricter after files were indexed. The next answer must leave out denied files, and
// so must the index, also for processes that deny nothing.
func TestRulesChange(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	var rules fickle
	rules.set("")
	x := open(t, dir, rules.options())
	syncs(t, x, root)
	if got := first(t, x, "refreshToken"); got != "server/token.go" {
		t.Fatalf("finds %q", got)
	}
	rules.set("server/token.go")
	for range 2 {
		if got := first(t, x, "refreshToken"); got == "server/token.go" {
			t.Error("a denied file is found")
		}
	}
	indifferent := open(t, dir, Options{})
	if got := first(t, indifferent, "refreshToken"); got == "server/token.go" {
		t.Error("a denied file is still in the index")
	}
	rules.set("")
	syncs(t, x, root)
	if got := first(t, x, "refreshToken"); got != "server/token.go" {
		t.Errorf("what is allowed again is not found: %q", got)
	}
}

// TestRulesChangeWhileWritten checks that a writer elsewhere delays the purge, but that denied files are left out.
func TestRulesChangeWhileWritten(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	writeFiles(t, root, project)
	var rules fickle
	rules.set("")
	x := open(t, dir, rules.options())
	syncs(t, x, root)
	lock := flock.New(filepath.Join(dir, lockName))
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	rules.set("server/token.go")
	start := time.Now()
	if got := first(t, x, "refreshToken"); got == "server/token.go" {
		t.Error("a denied file is found")
	}
	if took := time.Since(start); took > waits.Limit {
		t.Errorf("the search waited for the writer for %s", took)
	}
}

func TestQueryDenied(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, project)
	x := memory(t, Options{})
	syncs(t, x, root)
	hits, err := x.Search(t.Context(), Query{Text: "refreshToken", Denied: func(path string) bool { return strings.HasSuffix(path, "token.go") }})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		if h.Path == "server/token.go" {
			t.Error("a file is found that the query denies")
		}
	}
}

// TestOtherNames checks that denied files, and files whose names suggest secrets, are not indexed under another name.
func TestOtherNames(t *testing.T) {
	root := t.TempDir()
	writeFiles(t, root, map[string]string{"denied.txt": "gardens", ".env": "GARDENS=1", "sub/found.txt": "gardens"})
	for from, to := range map[string]string{"denied.txt": "a.txt", ".env": "z.txt", "sub/found.txt": "b.txt"} {
		if err := os.Link(filepath.Join(root, from), filepath.Join(root, to)); err != nil {
			t.Skip("no hard links here:", err)
		}
	}
	info, err := os.Stat(filepath.Join(root, "a.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !ignore.HasOtherNames(info) {
		t.Skip("hard links are not counted here")
	}
	x := memory(t, Options{Denied: func(path string) bool { return filepath.Base(path) == "denied.txt" }})
	names, _ := walked(t, x, root)
	if got := strings.Join(names, " "); got != "b.txt sub/found.txt" {
		t.Errorf("it would index %q", got)
	}
}

// TestUserIgnores checks that the user's global git ignores count, in either place where git reads them.
func TestUserIgnores(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(config, "none"))
	root := t.TempDir()
	writeFiles(t, root, map[string]string{"a.txt": "", "a.orig": "", "b.swp": "", "kept.swp": "", ".gitignore": "!kept.swp\n"})
	writeFiles(t, config, map[string]string{"git/ignore": "*.swp\n", "elsewhere": "*.orig\n", "gitconfig": "[include]\n\tpath = more\n", "more": "[core]\n\texcludesFile = " + filepath.ToSlash(filepath.Join(config, "elsewhere")) + "\n"})
	names, _ := walked(t, memory(t, Options{}), root)
	if got := strings.Join(names, " "); got != ".gitignore a.orig a.txt kept.swp" {
		t.Errorf("by default it lists %q", got)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(config, "gitconfig"))
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	names, _ = walked(t, memory(t, Options{}), root)
	if got := strings.Join(names, " "); got != ".gitignore a.txt b.swp kept.swp" {
		t.Errorf("with core.excludesFile it lists %q", got)
	}
}

// TestLimits checks that an index that runs out of time says so and continues the next time, and that one that runs out
// of memory leaves files out and says why.
func TestLimits(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	manyFiles(t, root, 300)
	x := open(t, dir, Options{MaxTime: time.Nanosecond})
	if _, err := x.Sync(t.Context(), root, nil); err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "longer than its limit of 1ns") {
		t.Errorf("out of time it says %v", err)
	}
	y := open(t, dir, Options{})
	if s := syncs(t, y, root); s.Files != 300 {
		t.Errorf("after it: %+v", s)
	}
	z := memory(t, Options{MaxMemory: 100 * 2 * (256 + 32 + rowMemory)})
	reasons := map[string]int{}
	s, err := z.Sync(t.Context(), root, func(e Event) {
		if e.Kind == EventSkip {
			reasons[e.Reason]++
		}
	})
	if err != nil || s.Chunks == 0 || s.Chunks > 100 || s.Files+s.Skipped != 300 || len(reasons) != 1 {
		t.Errorf("out of memory: %+v, %v, %v", s, reasons, err)
	}
}
