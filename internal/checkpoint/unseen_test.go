//go:build unix

package checkpoint

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAFolderThatNobodyCouldSee checks that a folder that could not be listed before the call is not emptied after it.
func TestAFolderThatNobodyCouldSee(t *testing.T) {
	if os.Geteuid() == 0 { // root sees every folder
		asNobody(t)
		return
	}
	d := repository(t, Options{})
	d.must(os.Chmod(d.path("dir"), 0))
	taken := d.around(func() { d.must(os.Chmod(d.path("dir"), 0o755)) }, Path{Path: d.dir, Scope: Git})
	if _, err := d.store.Restore(context.Background(), taken.ID, RestoreOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	if got := d.state()["dir/b.txt"]; got != "-rw------- b" {
		t.Errorf("dir/b.txt is %q", got)
	}
}

// asNobody runs the test in a process of a user who owns nothing but one folder.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody") // t.TempDir is in a folder that only root can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "checkpoint.test")
	if err := errors.Join(os.WriteFile(own, program, 0o755), os.Chown(own, nobody, nobody), os.Chown(dir, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), own, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	output, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("this root may not become another user")
	}
	t.Logf("as uid %d:\n%s", nobody, output)
	if err != nil {
		t.Fatal(err)
	}
}
