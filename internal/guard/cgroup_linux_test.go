package guard

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// limited starts a shell script in a box with limits, and returns its output, the state and the keeper.
func limited(t *testing.T, kind Kind, c *cgroups, l Limits, text string) (string, State, *Keeper) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", text)
	cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=/usr/bin:/bin"}, &out, &out
	w := Wall{Mode: Require, Box: &Box{Read: append([]string{"/proc"}, system...), Limits: l}, kinds: []Kind{kind}, cgroups: c}
	k, s, err := w.Start(cmd)
	if err != nil {
		skipWithoutWall(t, err)
		t.Fatal(err)
	}
	_ = cmd.Wait() // its output says enough
	return out.String(), s, k
}

// TestGroup checks that a delegated group holds memory and processes, and rlimits the rest. A folder stands in for the
// cgroup file system.
func TestGroup(t *testing.T) {
	for _, kind := range walls {
		mount := t.TempDir()
		dir := filepath.Join(mount, "user", "app", "scope")
		for path, text := range map[string]string{"cgroup.subtree_control": "cpu", "../cgroup.subtree_control": "memory pids", "../callgate-999999999-1/keep": "", "../../cgroup.subtree_control": "memory pids"} {
			path = filepath.Join(dir, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		out, s, k := limited(t, kind, &cgroups{mount, "user/app/scope"}, Limits{Memory: 256 << 20, Processes: 50, OpenFiles: 100}, "ulimit -n; ulimit -d")
		group := k.group.dir
		if s.Limits != "cgroup" || !strings.HasSuffix(s.String(), "sandbox, limits by cgroup") || out != "100\nunlimited\n" {
			t.Errorf("%s: %s, %q", kind, s, out)
		}
		if filepath.Dir(group) != filepath.Dir(dir) {
			t.Errorf("the group is %s", group)
		}
		for name, want := range map[string]string{"memory.max": "268435456", "memory.oom.group": "1", "pids.max": "50"} {
			if b, err := os.ReadFile(filepath.Join(group, name)); err != nil || string(b) != want {
				t.Errorf("%s: %s is %q: %v", kind, name, b, err)
			}
		}
		if b, err := os.ReadFile(filepath.Join(group, "cgroup.procs")); err != nil || len(b) == 0 {
			t.Errorf("%s: members %q: %v", kind, b, err)
		}
		k.Release()
	}
}

// TestNoGroup checks that without a delegated group rlimits hold what they can, and that the state says why.
func TestNoGroup(t *testing.T) {
	for _, kind := range walls {
		out, s, k := limited(t, kind, &cgroups{t.TempDir(), ""}, Limits{Memory: 256 << 20}, "ulimit -d")
		k.Release()
		if out != "262144\n" || !strings.HasPrefix(s.Limits, "rlimits (cgroup v2: no cgroup") {
			t.Errorf("%s: %s, %q", kind, s, out)
		}
	}
}

// TestMember checks that the program is in its kernel cgroup, which ends with it. This group counts neither memory nor
// processes, so it needs no controllers.
func TestMember(t *testing.T) {
	for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var fs unix.Statfs_t
		if unix.Statfs(mount, &fs) != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
			continue
		}
		for _, kind := range walls {
			g, err := makeGroup(mount, nil)
			if err != nil {
				t.Skip(err)
			}
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", "cat /proc/self/cgroup")
			cmd.Env, cmd.Stdout, cmd.Stderr = []string{"PATH=/usr/bin:/bin"}, &out, &out
			w := Wall{Mode: Require, Box: &Box{Read: append([]string{"/proc"}, system...), Limits: Limits{OpenFiles: 100}}, kinds: []Kind{kind}, group: g}
			k, _, err := w.Start(cmd)
			if err != nil {
				skipWithoutWall(t, err)
				t.Fatal(err)
			}
			_ = cmd.Wait() // its output says enough
			k.Release()
			if !strings.Contains(out.String(), filepath.Base(g.dir)) {
				t.Errorf("%s: it is in %q, not in %s", kind, out.String(), g.dir)
			}
			if _, err := os.Stat(g.dir); err == nil {
				t.Errorf("%s: %s is left", kind, g.dir)
			}
		}
		return
	}
	t.Skip("this system has no cgroup v2")
}
