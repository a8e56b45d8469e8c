//go:build unix

package spawn

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"callgate/internal/testserver/waits"
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
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	over, end := context.WithCancelCause(t.Context())
	end(why)
	if _, err := Run(over, script("exit 0")); !errors.Is(err, why) {
		t.Errorf("with a context that has ended: %v", err)
	}
	go func() {
		waits.Until(t, "the program has begun", func() bool {
			text, err := os.ReadFile(file)
			return err == nil && bytes.HasSuffix(text, []byte("\n"))
		})
		cancel(why)
	}()
	began := time.Now()
	_, err := Run(ctx, script(`trap '' TERM; (trap '' TERM; sleep 3600) & echo $! >"$1"; wait; sleep 3600`, file))
	if !errors.Is(err, why) || time.Since(began) > waits.Limit {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
	gone(t, file)
}

// What a program leaves behind does not hold up its caller, and ends.
func TestRunLeavesNothingBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	began := time.Now()
	r, err := Run(t.Context(), script(`sleep 3600 & echo $! >"$1"; echo done`, file))
	if err != nil || string(r.Stdout) != "done\n" || time.Since(began) > waits.Limit {
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

// gone waits until the process whose id is in the file has ended.
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
	for deadline := time.Now().Add(waits.Limit); unix.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
			return // nobody reaps zombies here
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// Processes that left the group are ended with the rest, and so are grandchildren.
func TestWhatLeftTheGroupIsEnded(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives what loses its parent to a keeper")
	}
	dir := t.TempDir()
	for _, c := range []struct{ name, text string }{
		{"setsid", `setsid sh -c 'echo $$ >"$1"; exec sleep 3600' sh "$1" & while ! [ -s "$1" ]; do sleep 0.01; done`},
		{"without its environment", `setsid env -i sh -c 'echo $$ >"$1"; exec sleep 3600' sh "$1" & while ! [ -s "$1" ]; do sleep 0.01; done`},
		{"double fork without its environment", `(setsid env -i sh -c '(echo $$ >"$1"; exec sleep 3600) & wait' sh "$1" >/dev/null 2>&1 &); while ! [ -s "$1" ]; do sleep 0.01; done`},
		{"double fork", `(setsid sh -c '(echo $$ >"$1"; exec sleep 3600) & wait' sh "$1" >/dev/null 2>&1 &); while ! [ -s "$1" ]; do sleep 0.01; done`},
	} {
		file := filepath.Join(dir, c.name)
		if _, err := Run(t.Context(), script(c.text, file)); err != nil {
			t.Fatal(err)
		}
		gone(t, file)
	}
}

// A program's environment is what the caller says, and nothing else.
func TestRunAddsNothingToTheEnvironment(t *testing.T) {
	c := script("")
	c.Path, c.Args, c.Env, c.Output = "/usr/bin/env", nil, []string{"A=b"}, 1<<10
	if r, err := Run(t.Context(), c); err != nil || string(r.Stdout) != "A=b\n" {
		t.Errorf("%q: %v", r.Stdout, err)
	}
}

// A program cannot keep its children alive by starting more than can be killed one after another.
func TestRunEndsWhatForks(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux gives what loses its parent to a keeper")
	}
	file := filepath.Join(t.TempDir(), "pid")
	c := script(`for i in 1 2 3; do setsid sh -c "$2" hop "$1" 100000 "$2" & done; while ! [ -s "$1" ]; do sleep 0.01; done`, file,
		`echo $$ >"$1"; setsid sh -c "$3" hop "$1" $(($2-1)) "$3" & exit`)
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(file)
	time.Sleep(100 * time.Millisecond)
	if after, _ := os.ReadFile(file); string(before) != string(after) {
		t.Errorf("something still starts itself anew: %s, then %s", before, after)
	}
}

// The error for a program that did not start says which program and why, without a system call.
func TestUnstartable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Run(t.Context(), Command{Path: path, Logger: slog.New(slog.DiscardHandler)})
	if want := path + " cannot be started: no such file or directory"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
