package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// place is a data directory with a credential beside a workspace, and a wall around the first.
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

// run runs a program behind the wall. Where this machine keeps no such wall the test is skipped.
func (p *place) run(t *testing.T, args ...string) (output string, s State, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	path, err := exec.LookPath(args[0])
	if err != nil {
		t.Skip(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.workspace, &out, &out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "CALLGATE_PID=" + fmt.Sprint(os.Getpid()), "DATA=" + p.data, "CONFIG=" + p.config}
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

// attempts are what a hostile program tries. Each prints "OUT" when it got what it wanted.
var attempts = map[string]string{
	"read the credential":             `grep -q the-credential "$DATA/approve" && echo OUT`,
	"read it by another spelling":     `cd "$DATA/../callgate" && grep -rq the-credential . && echo OUT`,
	"read it through a link":          `ln -s "$DATA" link; grep -rq the-credential link/ && echo OUT`,
	"hard link it":                    `ln "$DATA/approve" stolen && grep -q the-credential stolen && echo OUT`,
	"plant a file":                    `echo x > "$DATA/planted"; true`,
	"remove it":                       `rm -rf "$DATA"/* "$DATA"; true`,
	"move the folder away":            `mv "$DATA" "$DATA.old" && echo OUT`,
	"move the folder above away":      `mv "$HOME/.local/share" "$HOME/.local/elsewhere" && echo OUT`,
	"move the folder above that away": `mv "$HOME/.local" "$HOME/elsewhere" && echo OUT`,
	"take the cover off":              `umount -l "$DATA" && grep -q the-credential "$DATA/approve" && echo OUT`,
	"take it off in a namespace":      `unshare -Urm sh -c 'umount -l "$DATA"; grep -q the-credential "$DATA/approve"' && echo OUT`,
	"bind the home elsewhere":         `mkdir v; unshare -Urm sh -c 'mount --bind "$HOME" v; umount -l v/.local/share/callgate; grep -rq the-credential v/.local' && echo OUT`,
	"chroot out":                      `unshare -Ur chroot "/proc/$CALLGATE_PID/root" grep -q the-credential "$DATA/approve" && echo OUT`,
	"through callgate's root":         `grep -q the-credential "/proc/$CALLGATE_PID/root/$DATA/approve" && echo OUT`,
	"through callgate's folder":       `ls /proc/$CALLGATE_PID/cwd/ && echo OUT`,
	"callgate's environment":          `cat "/proc/$CALLGATE_PID/environ" && echo OUT`,
	"callgate's memory":               `head -c1 "/proc/$CALLGATE_PID/mem"; dd if=/proc/$CALLGATE_PID/maps bs=1 count=1 && echo OUT`,
	"callgate's descriptors":          `readlink /proc/$CALLGATE_PID/fd/1 && echo OUT`,
	"enter callgate's namespace":      `nsenter -t "$CALLGATE_PID" -m true && echo OUT`,
	"trace callgate":                  `strace -f -p "$CALLGATE_PID" -o trace & sleep 1; kill $!; wait; test -s trace && echo OUT`,
	"write the configuration":         `echo x >> "$CONFIG" && echo OUT`,
	"replace the configuration":       `echo x > new && mv -f new "$CONFIG" && echo OUT`,
	"remove the configuration":        `rm -f "$CONFIG" && test ! -e "$CONFIG" && echo OUT`,
	"outlive the wall":                `setsid sh -c 'sleep 0.2; grep -q the-credential "$DATA/approve" && echo OUT' & wait`,
}

func TestAttempts(t *testing.T) {
	if err := Harden(); err != nil {
		t.Fatal(err)
	}
	for _, kind := range walls {
		for name, attempt := range attempts {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				if kind == Landlock && strings.HasSuffix(name, "the configuration") {
					t.Skip("Landlock cannot fix a file")
				}
				p := newPlace(t, kind)
				out, s, _ := p.run(t, "sh", "-c", attempt) // how it ended is its own business
				if s.Kind != kind {
					t.Fatalf("it ran behind %s", s)
				}
				if strings.Contains(out, "OUT") || strings.Contains(out, "the-credential") {
					t.Errorf("it got out:\n%s", out)
				}
				if b, err := os.ReadFile(filepath.Join(p.data, "approve")); err != nil || string(b) != "the-credential" {
					t.Errorf("the credential is %q: %v", b, err)
				}
				if b, err := os.ReadFile(p.config); err != nil || string(b) != "{}" {
					t.Errorf("the configuration is %q: %v", b, err)
				}
				if _, err := os.Stat(filepath.Join(p.data, "planted")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a file was planted: %v", err)
				}
			})
		}
	}
}

// TestHomeAsWorkspace begins in the folder above what is hidden: the covers hold for relative paths too.
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

// TestSignals: callgate cannot be ended from behind the wall.
func TestSignals(t *testing.T) {
	for _, kind := range walls {
		t.Run(string(kind), func(t *testing.T) {
			got := make(chan os.Signal, 1)
			signal.Notify(got, unix.SIGUSR1)
			defer signal.Stop(got)
			p := newPlace(t, kind)
			out, _, _ := p.run(t, "sh", "-c", `kill -USR1 "$CALLGATE_PID" && echo OUT`)
			abi, _, _ := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
			if abi < 6 {
				t.Skip("this kernel's Landlock has no scopes")
			}
			if strings.Contains(out, "OUT") {
				t.Errorf("the signal went out: %s", out)
			}
		})
	}
}

// TestTyping: nothing can be typed into a terminal.
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

// TestOrdinary: what a well-behaved program does is not changed.
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

// TestProgramMissing: an error of the program is its own, not the wall's.
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

// TestNoWall: without one the program starts as it is, or not at all, as the mode wants it, and the state says so.
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

// TestOrdinaryUser does the same as somebody who is not root.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is one already")
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
	cmd := exec.CommandContext(t.Context(), program, "-test.run", "TestAttempts|TestOrdinary$|TestTyping|TestSignals|TestProgramMissing", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	t.Logf("%d attempts, %d skipped", bytes.Count(out, []byte("--- PASS")), bytes.Count(out, []byte("--- SKIP")))
}

func BenchmarkStart(b *testing.B) {
	for _, w := range []*Wall{{Mode: Off}, {Mode: Require, Hidden: []string{b.TempDir()}, kinds: []Kind{Namespaces}}, {Mode: Require, Hidden: []string{b.TempDir()}, kinds: []Kind{Landlock}}} {
		b.Run(fmt.Sprint(w.Mode, w.kinds), func(b *testing.B) {
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
