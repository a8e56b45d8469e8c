package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callgate/internal/testserver/unraced"
	"callgate/internal/testserver/waits"
)

// place is a data directory with a credential, a workspace beside it, and a wall around the directory.
type place struct {
	home, data, config, workspace string
	wall                          Wall
}

func newPlace(t *testing.T, kinds ...Kind) *place {
	t.Helper()
	home := t.TempDir()
	p := &place{home: home, data: filepath.Join(home, ".local/share/callgate"), config: filepath.Join(home, "app/.mcp.json"), workspace: filepath.Join(home, "app")}
	for _, dir := range []string{p.data, p.workspace} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{filepath.Join(p.data, "approve"): "the-credential", p.config: "{}", filepath.Join(p.workspace, "a.txt"): "a"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.wall = Wall{Mode: Require, Hidden: []string{p.data}, Fixed: []string{p.config}, kinds: kinds}
	return p
}

// run runs a program behind the wall. It skips the test if this machine has no such wall.
func (p *place) run(t *testing.T, args ...string) (output string, s State, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waits.Limit)
	defer cancel()
	path, err := exec.LookPath(args[0])
	if err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.workspace, &out, &out
	cmd.Env = []string{atOnce, "PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "CALLGATE_PID=" + fmt.Sprint(os.Getpid()), "DATA=" + p.data, "CONFIG=" + p.config}
	k, s, err := p.wall.Start(cmd)
	if err != nil {
		if strings.Contains(err.Error(), "this system has none") {
			t.Skip(err)
		}
		return "", s, err
	}
	defer k.Release()
	err = cmd.Wait()
	return out.String(), s, err
}

var walls = []Kind{Namespaces, Landlock}

// TestHomeAsWorkspace starts in the folder above the hidden one: the covers hold for relative paths too.
func TestHomeAsWorkspace(t *testing.T) {
	for _, kind := range walls {
		p := newPlace(t, kind)
		p.workspace = p.home
		out, _, _ := p.run(t, "sh", "-c", `cat .local/share/callgate/approve; cat app/../.local/share/callgate/approve; mv .local elsewhere; cat elsewhere/share/callgate/approve`)
		if strings.Contains(out, "the-credential") {
			t.Errorf("%s: it got out: %s", kind, out)
		}
	}
}

// TestTyping checks that nothing can be typed into a terminal.
func TestTyping(t *testing.T) {
	for _, kind := range walls {
		t.Run(string(kind), func(t *testing.T) {
			p := newPlace(t, kind)
			out, _, err := p.run(t, "python3", "-c", `
import fcntl, os, termios
m, s = os.openpty()
os.setsid()
fcntl.ioctl(s, termios.TIOCSCTTY, 0)
try:
    fcntl.ioctl(s, termios.TIOCSTI, b"x")
    print("OUT")
except OSError as e:
    print("refused", e.errno)
`)
			if err != nil || !strings.Contains(out, "refused 1") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestOrdinary checks that a well-behaved program works as before.
func TestOrdinary(t *testing.T) {
	for _, kind := range walls {
		t.Run(string(kind), func(t *testing.T) {
			p := newPlace(t, kind)
			out, s, err := p.run(t, "sh", "-ec", `
				cat a.txt; echo b > b.txt; mkdir d; mv b.txt d/; rm -r d
				cat "$CONFIG" > /dev/null; ls "$HOME" > /dev/null
				id -u; pwd; echo "$0 $1"; cat; exit 7`, "name", "argument")
			code := (*exec.ExitError)(nil)
			if !errors.As(err, &code) || code.ExitCode() != 7 {
				t.Errorf("%v behind %s: %s", err, s, out)
			}
			if want := fmt.Sprintf("a%d\n%s\nname argument\n", os.Getuid(), p.workspace); out != want {
				t.Errorf("output %q, want %q", out, want)
			}
		})
	}
}

// TestProgramMissing checks that a program's error is not taken for the wall's.
func TestProgramMissing(t *testing.T) {
	for _, kind := range walls {
		p := newPlace(t, kind)
		_, _, err := p.wall.Start(exec.Command("/nowhere/to/be/found"))
		if err != nil && strings.Contains(err.Error(), "this system has none") {
			t.Skip(err)
		}
		if !errors.Is(err, syscall.ENOENT) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestNoWall checks that without a wall the mode decides whether the program starts, and that the state says so.
func TestNoWall(t *testing.T) {
	p := newPlace(t)
	p.wall.kinds = []Kind{}
	if _, _, err := p.wall.Start(exec.Command("/bin/true")); err == nil {
		t.Error("require started a program without a wall")
	}
	p.wall.Mode = On
	out, s, err := p.run(t, "echo", "hello")
	if err != nil || out != "hello\n" || s.Kind != None {
		t.Errorf("%q behind %s: %v", out, s, err)
	}
	p.wall.Mode = Off
	if _, s, err := p.run(t, "true"); err != nil || s.Kind != None || s.Why != "it is off" {
		t.Errorf("behind %s: %v", s, err)
	}
}

// TestOrdinaryUser runs the same tests as a user other than root.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is one already")
	}
	if unraced.Elsewhere(t) {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "guard")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "guard.test")
	if err := os.WriteFile(program, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "TestHostile$|TestBox|TestOrdinary$|TestTyping|TestProgramMissing", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{atOnce, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%d attempts, %d skipped", bytes.Count(out, []byte("--- PASS")), bytes.Count(out, []byte("--- SKIP")))
}

func BenchmarkStart(b *testing.B) {
	for _, w := range []*Wall{{Mode: Off}, {Mode: Require, Hidden: []string{b.TempDir()}, kinds: []Kind{Namespaces}}, {Mode: Require, Hidden: []string{b.TempDir()}, kinds: []Kind{Landlock}}, {Mode: Require, Box: &Box{Read: system, Net: ProxyNet}, kinds: []Kind{Namespaces}}, {Mode: Require, Box: &Box{Read: system, Net: ProxyNet}, kinds: []Kind{Landlock}}} {
		b.Run(fmt.Sprint(w.Mode, w.kinds, w.Box != nil), func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				k, _, err := w.Start(cmd)
				if err != nil {
					b.Skip(err)
				}
				if err := cmd.Wait(); err != nil {
					b.Fatal(err)
				}
				k.Release()
			}
		})
	}
}
