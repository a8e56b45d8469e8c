package gitfiles

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// An index that git wrote is read, in each version and with each kind of object names.
func TestIndex(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	want := []string{"a/long name.txt", "a/longer name.txt", "b", "c/d/e"}
	for _, format := range []string{"sha1", "sha256"} {
		for _, version := range []string{"2", "3", "4"} {
			t.Run(format+" version "+version, func(t *testing.T) {
				top := t.TempDir()
				run := func(args ...string) {
					t.Helper()
					cmd := exec.Command(git, args...)
					cmd.Dir = top
					cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("git %v: %v\n%s", args, err, out)
					}
				}
				run("init", "-q", "--object-format="+format)
				for _, name := range want {
					path := filepath.Join(top, filepath.FromSlash(name))
					if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o644)); err != nil {
						t.Fatal(err)
					}
				}
				run("add", "-A")
				if version == "3" { // needs version 3
					run("update-index", "--skip-worktree", "b")
				}
				run("update-index", "--index-version="+version)
				names, err := Index(filepath.Join(top, ".git", IndexName))
				if err != nil || !slices.Equal(names, want) {
					t.Errorf("got %q, %v", names, err)
				}
			})
		}
	}
}

// A file that is not an index, or lists only some of the files, is refused.
func TestIndexRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Index(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an index that does not exist: %v", err)
	}
	if _, err := Index(dir); err == nil {
		t.Error("a folder was read")
	}
	for name, text := range map[string]string{
		"empty":       "",
		"text":        "no index at all, but text that is long enough for one",
		"many":        "DIRC\x00\x00\x00\x02\xff\xff\xff\xff" + string(make([]byte, 200)),
		"version 5":   "DIRC\x00\x00\x00\x05\x00\x00\x00\x00" + string(make([]byte, 32)),
		"split index": "DIRC\x00\x00\x00\x02\x00\x00\x00\x00link\x00\x00\x00\x14" + string(make([]byte, 20+20)),
	} {
		path := filepath.Join(dir, "index")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if names, err := Index(path); !errors.Is(err, ErrIndex) {
			t.Errorf("%s: got %q, %v", name, names, err)
		}
	}
}

// A work tree apart from its repository is found, and the way back.
func TestLinkedWorkTree(t *testing.T) {
	dir := t.TempDir()
	repository, top := filepath.Join(dir, "main", ".git", "worktrees", "w"), filepath.Join(dir, "w")
	below := filepath.Join(top, "x", "y")
	err := errors.Join(os.MkdirAll(repository, 0o755), os.MkdirAll(below, 0o755),
		os.WriteFile(filepath.Join(top, ".git"), []byte("gitdir: "+repository+"\n"), 0o644),
		os.WriteFile(filepath.Join(repository, "gitdir"), []byte(filepath.Join(top, ".git")+"\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	if got := Top(below, false); got != top {
		t.Errorf("the top is %s", got)
	}
	got, err := Repository(top)
	if err != nil || got != repository {
		t.Errorf("the repository is %s, %v", got, err)
	}
	if got := WorkTree(repository); got != top {
		t.Errorf("the work tree is %s", got)
	}
}
