//go:build unix

package checkpoint

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"callgate/internal/testserver/waits"
)

// git runs git in the workspace, without the machine's configuration.
func (d *desk) git(args ...string) {
	d.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", d.dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+d.t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// repository returns a workspace with tracked, ignored and untracked files. One file is both ignored and tracked.
func repository(t *testing.T, o Options) *desk {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	d := newDesk(t, o)
	d.fill()
	d.write(".gitignore", "*.log\nbuild/\n", 0o644)
	d.write("forced.log", "tracked although ignored", 0o644)
	d.write("build/kept/one", "tracked in an ignored folder", 0o644)
	d.git("init", "-q")
	d.git("add", "-A")
	d.git("add", "-f", "forced.log", "build/kept/one")
	d.git("commit", "-q", "-m", "one")
	d.write("untracked.txt", "not added", 0o640)
	d.write("noise.log", "ignored", 0o644)
	d.write("build/out", "ignored", 0o644)
	return d
}

// wreck does what commands may do that nobody can predict.
func (d *desk) wreck() {
	d.write("a.txt", "by the command", 0o600)
	d.write("forced.log", "by the command", 0o644)
	d.write("build/kept/one", "by the command", 0o644)
	d.must(os.Remove(d.path("untracked.txt")))
	d.must(os.RemoveAll(d.path("dir")))
	d.write("new/folder/file", "by the command", 0o644)
	d.write("dir", "a file now", 0o644)
}

func TestAWorkspaceIsKept(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			d := repository(t, Options{})
			tops := d.store.Workspaces([]string{d.path("dir/deep"), d.dir, filepath.Dir(d.dir)})
			if len(tops) != 1 || tops[0] != d.dir {
				t.Fatalf("workspaces %v", tops)
			}
			before, gitBefore := d.state(), d.gitState()
			scope := Path{Path: d.dir, Scope: Git}
			var id string
			if killed {
				taken, err := d.store.Take(context.Background(), Request{Workspace: d.dir, Paths: []Path{scope}})
				d.must(err)
				d.wreck()
				d.store, id = d.open(Options{Dir: d.store.o.Dir}), taken.ID
			} else {
				id = d.around(d.wreck, scope).ID
			}
			// Files that are ignored and not tracked do not matter here.
			d.write("build/out", "built anew", 0o644)
			d.write("noise.log", "more noise", 0o644)
			d.restore(id, RestoreOptions{Force: killed})
			before["build/out"], before["noise.log"] = "-rw-r--r-- built anew", "-rw-r--r-- more noise"
			if diff := cmp.Diff(before, d.state()); diff != "" {
				t.Fatalf("restored (-before +now):\n%s", diff)
			}
			if diff := cmp.Diff(gitBefore, d.gitState()); diff != "" {
				t.Fatalf(".git was touched (-before +now):\n%s", diff)
			}
		})
	}
}

// gitState returns everything in .git, with the times of its files.
func (d *desk) gitState() map[string]string {
	all := map[string]string{}
	d.must(filepath.WalkDir(d.path(".git"), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || e.IsDir() {
			return err
		}
		all[path] = fmt.Sprint(info.Size(), info.ModTime())
		return nil
	}))
	return all
}

// TestNothingOfARepositoryRuns checks that no program in a repository runs that git commands would run.
func TestNothingOfARepositoryRuns(t *testing.T) {
	d := repository(t, Options{})
	ran := filepath.Join(t.TempDir(), "ran")
	run := fmt.Sprintf("touch %s; cat", ran)
	d.write(".gitattributes", "* filter=evil diff=evil text eol=crlf\n", 0o644)
	config := fmt.Sprintf("[core]\n\tfsmonitor = %[1]q\n\thooksPath = hooks\n\tattributesFile = .gitattributes\n\tsshCommand = %[1]q\n\tpager = %[1]q\n\texcludesFile = %[2]q\n"+
		"[filter \"evil\"]\n\tclean = %[1]q\n\tsmudge = %[1]q\n\tprocess = %[1]q\n\trequired = true\n[diff \"evil\"]\n\ttextconv = %[1]q\n\tcommand = %[1]q\n[include]\n\tpath = ../more\n", run, ran)
	d.must(os.WriteFile(d.path(".git/config"), []byte(config), 0o644))
	for _, hook := range []string{"pre-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman"} {
		d.must(os.WriteFile(d.path(".git/hooks/"+hook), []byte("#!/bin/sh\n"+run+"\n"), 0o755))
		d.write("hooks/"+hook, "#!/bin/sh\n"+run+"\n", 0o755)
	}
	before := d.state()
	taken := d.around(d.wreck, Path{Path: d.dir, Scope: Git})
	if _, err := d.store.Diff(context.Background(), taken.ID, ShowOptions{Hidden: show}); err != nil {
		t.Fatal(err)
	}
	d.restore(taken.ID, RestoreOptions{})
	if diff := cmp.Diff(before, d.state()); diff != "" {
		t.Fatalf("restored (-before +now):\n%s", diff)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("a program of the repository ran")
	}
}

// TestHostileRepositories checks obstacles in a repository: a damaged index, a pipe, or a .git that leads elsewhere.
func TestHostileRepositories(t *testing.T) {
	for name, spoil := range map[string]func(d *desk){
		"a damaged index": func(d *desk) {
			d.must(os.WriteFile(d.path(".git/index"), []byte("DIRC\x00\x00\x00\x02\xff\xff\xff\xff"), 0o644))
		},
		"an index that is short": func(d *desk) { d.must(os.Truncate(d.path(".git/index"), 40)) },
		"a pipe for an index": func(d *desk) {
			d.must(os.Remove(d.path(".git/index")))
			d.must(syscall.Mkfifo(d.path(".git/index"), 0o644))
		},
		"a pipe for ignore rules": func(d *desk) {
			d.must(os.Remove(d.path(".gitignore")))
			d.must(syscall.Mkfifo(d.path(".gitignore"), 0o644))
		},
		"a pipe among the files": func(d *desk) { d.must(syscall.Mkfifo(d.path("pipe"), 0o644)) },
		"git elsewhere": func(d *desk) {
			d.must(os.Rename(d.path(".git"), filepath.Join(filepath.Dir(d.dir), "git")))
			d.must(os.WriteFile(d.path(".git"), []byte("gitdir: /proc/self/fd\n"), 0o644))
		},
		"folders in a circle":    func(d *desk) { d.must(os.Symlink("..", d.path("dir/up"))) },
		"a name that is no text": func(d *desk) { d.write("bad\xff", "x", 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			d := repository(t, Options{})
			spoil(d)
			began := time.Now()
			taken := d.around(func() { d.write("a.txt", "by the command", 0o644) }, Path{Path: d.dir, Scope: Git})
			d.restore(taken.ID, RestoreOptions{})
			if got := d.state()["a.txt"]; got != "-rw-r--r-- old\n" {
				t.Errorf("a.txt is %q", got)
			}
			if took := time.Since(began); took > waits.Limit {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestLargeWorkspacesAreBounded checks that excess is left out and reported.
func TestLargeWorkspacesAreBounded(t *testing.T) {
	d := repository(t, Options{MaxTreeFiles: 20, MaxTree: 1 << 20})
	for i := range 100 {
		d.write(fmt.Sprintf("many/%03d", i), "x", 0o644)
	}
	taken := d.around(func() { d.write("a.txt", "by the command", 0o644); d.must(os.Remove(d.path("many/099"))) }, Path{Path: d.dir, Scope: Git})
	c, err := d.store.Get(taken.ID)
	d.must(err)
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0], whyLimit) {
		t.Errorf("notes %q", c.Notes)
	}
	if len(c.Changed) != 1 || c.Changed[0].Path != d.path("a.txt") {
		t.Errorf("changed %+v", c.Changed)
	}
	d.restore(taken.ID, RestoreOptions{})
}

// TestIgnoredFoldersAreLeftOut checks that removing what git ignores keeps nothing of it, and says so.
func TestIgnoredFoldersAreLeftOut(t *testing.T) {
	d := repository(t, Options{})
	d.write("node_modules/x/y.js", "x", 0o644)
	d.write(".gitignore", "node_modules/\n*.log\nbuild/\n", 0o644)
	taken := d.around(func() { d.must(os.RemoveAll(d.path("node_modules"))); d.must(os.Remove(d.path("noise.log"))) },
		Path{Path: d.path("node_modules"), Scope: Whole}, Path{Path: d.path("noise.log"), Scope: Whole})
	if want := []Conflict{{d.path("node_modules"), whyIgnored}}; !cmp.Equal(want, taken.LeftOut) {
		t.Errorf("left out %v", taken.LeftOut)
	}
	d.restore(taken.ID, RestoreOptions{Paths: []string{d.path("noise.log")}})
	if got := d.state()["noise.log"]; got != "-rw-r--r-- ignored" {
		t.Errorf("noise.log is %q", got)
	}
}

// TestWhatWasThereIsNeverRemoved changes the ignore rules. What was there before a call must never be taken for
// something that the call created, and so never be removed.
func TestWhatWasThereIsNeverRemoved(t *testing.T) {
	for name, call := range map[string]func(d *desk){
		"ignore rules are dropped":  func(d *desk) { d.must(os.Remove(d.path(".gitignore"))) },
		"ignore rules are loosened": func(d *desk) { d.write(".gitignore", "# nothing\n", 0o644) },
		"the index is dropped":      func(d *desk) { d.must(os.Remove(d.path(".git/index"))) },
		"everything is ignored":     func(d *desk) { d.write(".gitignore", "*\n", 0o644); d.write("a.txt", "by the call", 0o644) },
		"a folder is ignored": func(d *desk) {
			d.write(".gitignore", "dir/\n*.log\nbuild/\n", 0o644)
			d.write("dir/b.txt", "by the call", 0o600)
		},
		"it is no repository more": func(d *desk) { d.must(os.Rename(d.path(".git"), filepath.Join(filepath.Dir(d.dir), "git"))) },
	} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " killed ", killed), func(t *testing.T) {
				d := repository(t, Options{})
				d.write(".env.log", "SECRET", 0o600)
				d.write("own/file", "callgate's", 0o600)
				d.store.o.Protected = func(path string) bool { return beneath(path, d.path("own")) }
				before := d.state()
				taken, err := d.store.Take(context.Background(), Request{Workspace: d.dir, Paths: []Path{{Path: d.dir, Scope: Git}}})
				d.must(err)
				call(d)
				if !killed {
					_, err = taken.End(context.Background())
					d.must(err)
				}
				d.store = d.open(Options{Dir: d.store.o.Dir}) // another process, in which nothing is protected
				done, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{Force: true})
				d.must(err)
				if diff := cmp.Diff(before, d.state()); diff != "" {
					t.Fatalf("restored (-before +now):\n%s\n%+v", diff, done)
				}
			})
		}
	}
}
