//go:build unix

package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

func runner(t *testing.T, o Options) *Runner {
	t.Helper()
	if o.Debounce == 0 {
		o.Debounce = 20 * time.Millisecond
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func verify(t *testing.T, r *Runner, dir string) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waits.Limit)
	defer cancel()
	report, _, err := r.Verify(ctx, dir, "ck_1")
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// sh returns a command that runs text in a shell. Only a test may do this.
func sh(text string) []string { return []string{"sh", "-c", text} }

func TestReports(t *testing.T) {
	for name, c := range map[string]struct {
		commands [][]string
		passed   bool
		text     []string // what the report says
		not      string
	}{
		"passed":               {[][]string{{"true"}, sh("echo fine")}, true, []string{"the verification passed: true (", "sh -c \"echo fine\" ("}, "fine\n"},
		"failed":               {[][]string{sh("echo one; echo two >&2; exit 3"), {"false"}}, false, []string{"ended with exit code 3", "one\n[standard error]\ntwo"}, "false"},
		"silent":               {[][]string{{"false"}}, false, []string{"It wrote nothing."}, ""},
		"killed by a signal":   {[][]string{sh("kill -SEGV $$")}, false, []string{"did not end by itself", "segmentation fault"}, ""},
		"hangs":                {[][]string{sh("echo before; sleep 600")}, false, []string{"ran longer than 3s and was killed", "before"}, ""},
		"hangs in a child":     {[][]string{sh("sleep 600 & sleep 600")}, false, []string{"ran longer than 3s"}, ""},
		"floods":               {[][]string{sh("yes flood | head -c 9000000; exit 1")}, false, []string{"it wrote more than 4 MiB", "flood\nflood"}, ""},
		"floods without end":   {[][]string{{"yes", "flood"}}, false, []string{"it wrote more than 64 MiB"}, ""},
		"what terminals obey":  {[][]string{sh(`printf '\033[31mred\033[0m \033]0;title\007\a\b\377'; exit 1`)}, false, []string{"output:\nred \uFFFD"}, "\x1b"},
		"the end is what says": {[][]string{sh("seq 100000; echo LAST; exit 1")}, false, []string{"[…]\n", "100000\nLAST"}, "\n1\n2\n"},
		"a child is left":      {[][]string{sh("sleep 600 & exit 0")}, true, []string{"passed"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runner(t, Options{Commands: c.commands, Timeout: waits.Limit, Output: 500})
			if strings.HasPrefix(name, "hangs") {
				r.o.Timeout = 3 * time.Second
			}
			report := verify(t, r, t.TempDir())
			text := report.Text(true)
			if report.Passed != c.passed {
				t.Errorf("passed %v: %s", report.Passed, text)
			}
			for _, want := range c.text {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in %q", want, text)
				}
			}
			if c.not != "" && strings.Contains(text, c.not) {
				t.Errorf("%q is in %q", c.not, text)
			}
			if len(text) > 900 {
				t.Errorf("the report has %d bytes", len(text))
			}
		})
	}
}

// Nothing that a killed verification started goes on.
func TestNothingIsLeft(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := runner(t, Options{Commands: [][]string{sh("(while :; do echo x >> mark; sleep 0.02; done) & sleep 600")}, Timeout: 3 * time.Second})
	if verify(t, r, dir).Passed {
		t.Fatal("it passed")
	}
	before, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if after, err := os.ReadFile(mark); err != nil || len(after) != len(before) {
		t.Errorf("it still writes: %d, %d, %v", len(before), len(after), err)
	}
}

func TestCallsShareARun(t *testing.T) {
	dir := t.TempDir()
	hold := filepath.Join(dir, "hold") // runs in dir last as long as this file exists
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{}, 3)
	var runs, checkpoints atomic.Int32
	r := runner(t, Options{Debounce: time.Second, Commands: [][]string{sh("echo ran >> runs; while [ -e hold ]; do sleep 0.02; done")}, Around: func(_ context.Context, run Run) func(bool) []string {
		runs.Add(1)
		checkpoints.Add(int32(len(run.Checkpoints)))
		begun <- struct{}{}
		return func(passed bool) []string { return []string{fmt.Sprint("passed ", passed)} }
	}})
	var wholes atomic.Int32
	call := func() {
		report, full, err := r.Verify(context.Background(), dir, "ck")
		if err != nil || !report.Passed || !strings.Contains(report.Text(full), "passed true") {
			t.Errorf("%+v, %v", report, err)
		}
		if full {
			wholes.Add(1)
		}
	}
	var wait sync.WaitGroup
	for range 5 {
		wait.Go(call)
	}
	<-begun
	wait.Go(call)
	if report := verify(t, r, t.TempDir()); !report.Passed { // another workspace does not wait: the first run is held
		t.Errorf("%+v", report)
	}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	wait.Wait()
	text, err := os.ReadFile(filepath.Join(dir, "runs"))
	if err != nil || string(text) != "ran\nran\n" {
		t.Errorf("runs %q, %v", text, err)
	}
	if runs.Load() != 3 || checkpoints.Load() != 7 || wholes.Load() != 2 {
		t.Errorf("%d runs, %d checkpoints, %d whole reports", runs.Load(), checkpoints.Load(), wholes.Load())
	}
}

func TestNobodyWaits(t *testing.T) {
	dir := t.TempDir()
	r := runner(t, Options{Commands: [][]string{sh("echo began > began; sleep 600")}})
	gone := errors.New("the host took it back")
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		waits.Until(t, "it has begun", func() bool {
			_, err := os.Stat(filepath.Join(dir, "began"))
			return err == nil
		})
		cancel(gone)
	}()
	if _, _, err := r.Verify(ctx, dir, ""); !errors.Is(err, gone) {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { r.work.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(waits.Limit):
		t.Fatal("it still runs although nobody waits")
	}
}

func TestCloseEndsEverything(t *testing.T) {
	begun := make(chan struct{})
	r := runner(t, Options{Commands: [][]string{{"sleep", "600"}}, Around: func(context.Context, Run) func(bool) []string {
		close(begun)
		return func(bool) []string { return nil }
	}})
	done := make(chan *Report)
	go func() {
		report, _, err := r.Verify(context.Background(), t.TempDir(), "")
		if err != nil {
			t.Error(err)
		}
		done <- report
	}()
	<-begun
	r.Close()
	if report := <-done; report == nil || report.Passed {
		t.Errorf("%+v", report)
	}
	if _, _, err := r.Verify(context.Background(), t.TempDir(), ""); err == nil {
		t.Error("it runs after Close")
	}
}

func TestCommandsThatAreRefused(t *testing.T) {
	for want, argv := range map[string][]string{
		"names no program":         {},
		"depends on the workspace": {"./test.sh"},
		"not found":                {"this-program-is-not-there"},
		"no such file":             {"/nowhere/test"},
	} {
		if _, err := New(Options{Commands: [][]string{{"true"}, argv}}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "commands[1]") {
			t.Errorf("%q: %v", argv, err)
		}
	}
}

func TestEnvironmentIsNotCallgates(t *testing.T) {
	t.Setenv("CALLGATE_TELEGRAM_TOKEN", "secret")
	r := runner(t, Options{Commands: [][]string{sh("env; exit 1")}})
	if text := verify(t, r, t.TempDir()).Text(true); strings.Contains(text, "CALLGATE_") || !strings.Contains(text, "PATH=") {
		t.Error(text)
	}
}
