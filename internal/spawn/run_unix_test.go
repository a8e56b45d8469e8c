//go:build unix

package spawn

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func script(text string, args ...string) Command {
	return Command{
		Path: "/bin/sh", Args: append([]string{"-c", text, "sh"}, args...), Env: []string{"PATH=" + os.Getenv("PATH")},
		Output: 64, Logger: slog.New(slog.DiscardHandler),
	}
}

func TestRun(t *testing.T) {
	c := script(`cat; echo "$1" >&2; exit 7`, "an $(argument)")
	c.Stdin = []byte("input")
	r, err := Run(t.Context(), c)
	if err != nil || r.Code != 7 || string(r.Stdout) != "input" || string(r.Stderr) != "an $(argument)\n" || r.Cut {
		t.Errorf("%+v, %q, %q: %v", r, r.Stdout, r.Stderr, err)
	}
	if _, err := Run(t.Context(), Command{Path: "/nowhere/to/be/found", Logger: slog.New(slog.DiscardHandler)}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	if _, err := Run(t.Context(), script(`kill -s KILL $$`)); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("a program that died by a signal: %v", err)
	}
}

func TestRunEndsTheWholeGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	why := errors.New("the deadline")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
	defer cancel()
	over, end := context.WithCancelCause(t.Context())
	end(why)
	if _, err := Run(over, script("exit 0")); !errors.Is(err, why) {
		t.Errorf("with a context that has ended: %v", err)
	}
	began := time.Now()
	_, err := Run(ctx, script(`trap '' TERM; (trap '' TERM; sleep 60) & echo $! >"$1"; wait; sleep 60`, file))
	if !errors.Is(err, why) || time.Since(began) > 20*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	gone(t, file)
}

// What a program leaves behind holds neither its caller nor, once it is gone, anything else.
func TestRunLeavesNothingBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	began := time.Now()
	r, err := Run(t.Context(), script(`sleep 60 & echo $! >"$1"; echo done`, file))
	if err != nil || string(r.Stdout) != "done\n" || time.Since(began) > 20*time.Second {
		t.Errorf("after %s: %q: %v", time.Since(began), r.Stdout, err)
	}
	gone(t, file)
}

func TestRunEndsAFlood(t *testing.T) {
	r, err := Run(t.Context(), script(`yes`))
	if !errors.Is(err, errFlood) || len(r.Stdout) != 64 || !r.Cut {
		t.Errorf("%d bytes, cut %v: %v", len(r.Stdout), r.Cut, err)
	}
}

// Without a shell there is no guard, and the program leads its group.
func TestSystemWithoutAShell(t *testing.T) {
	tree := &Tree{log: slog.New(slog.DiscardHandler)}
	cmd := exec.Command("sleep", "60")
	if err := tree.Start(cmd); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if group, err := unix.Getpgid(pid); err != nil || group != pid || tree.group != pid {
		t.Errorf("process %d is in group %d, the tree has %d: %v", pid, group, tree.group, err)
	}
	tree.Kill()
	if err := cmd.Wait(); err == nil {
		t.Error("it was not killed")
	}
	tree.Release()
}

// gone waits until the process has ended whose id is in the file.
func gone(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); unix.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
			return // nobody reaps it here
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// What left the group is gone with the rest, and what the child of a child started too.
func TestWhatLeftTheGroupIsEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what a process carries")
	}
	dir := t.TempDir()
	for _, c := range []struct{ name, text string }{
		{"setsid", `setsid sh -c 'echo $$ >"$1"; exec sleep 60' sh "$1" & while ! [ -s "$1" ]; do sleep 0.01; done`},
		{"double fork", `(setsid sh -c '(echo $$ >"$1"; exec sleep 60) & wait' sh "$1" >/dev/null 2>&1 &); while ! [ -s "$1" ]; do sleep 0.01; done`},
	} {
		file := filepath.Join(dir, c.name)
		if _, err := Run(t.Context(), script(c.text, file)); err != nil {
			t.Fatal(err)
		}
		gone(t, file)
	}
}
