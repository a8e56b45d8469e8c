// Package unraced runs tests without the race detector if it would only see one goroutine, or only the test because the
// tested code is another process. There it would take five times as long and find nothing.
package unraced

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callgate/internal/testserver/built"
)

// Main is for the TestMain of a package whose tests mostly have one goroutine, or test other processes. If this program
// has the race detector, it runs only the tests that start goroutines, themselves or through a function of a test file,
// and the tests in further, whose goroutines the tested code starts. All others run in a program without it. Main
// returns the exit code.
func Main(m interface{ Run() int }, further ...string) int {
	flag.Parse()
	if !Raced || slices.ContainsFunc([]string{"list", "fuzz", "bench", "coverprofile"}, func(name string) bool { return value("test."+name) != "" }) {
		return m.Run()
	}
	raced, err := concurrent(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	raced = append(raced, further...)
	code := 0
	top, below, _ := strings.Cut(value("test.run"), "/")
	here := slices.DeleteFunc(slices.Clone(raced), func(name string) bool { return !regexp.MustCompile(top).MatchString(name) })
	if len(here) > 0 {
		set("test.run", strings.TrimSuffix(oneOf(here)+"/"+below, "/"))
		code = m.Run()
	}
	if err := others(raced, len(here) > 0); err != nil {
		fmt.Fprintln(os.Stderr, "without the race detector:", err)
		code = max(code, 1)
	}
	return code
}

func value(name string) string { return flag.Lookup(name).Value.String() }

func set(name, value string) {
	if err := flag.Set(name, value); err != nil {
		panic(err) // testing has the flag
	}
}

func oneOf(names []string) string { return "^(" + strings.Join(names, "|") + ")$" }

// others runs all but the raced tests in a program without the race detector. after means that some tests have already
// run here.
func others(raced []string, after bool) (err error) {
	folder, err := os.MkdirTemp("", "callgate-unraced-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program, err := built.Tests(folder)
	if err != nil {
		return err
	}
	args := slices.Clone(os.Args[1:])
	if len(raced) > 0 {
		args = append(args, "-test.skip="+strings.TrimPrefix(value("test.skip")+"|"+oneOf(raced), "|"))
	}
	log, opened := value("test.testlogfile"), filepath.Join(folder, "opened")
	if log != "" && after {
		args = append(args, "-test.testlogfile="+opened)
		defer func() { err = errors.Join(err, appendTo(log, opened)) }()
	}
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// appendTo adds the files that the other program opened to the log of this one: the go command runs the tests again if
// they change.
func appendTo(log, opened string) error {
	text, err := os.ReadFile(opened)
	if err != nil {
		return err
	}
	_, text, _ = bytes.Cut(text, []byte("\n")) // the heading
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// Elsewhere runs the whole test in a process without the race detector, if this one has it, and reports whether it did.
func Elsewhere(t *testing.T) bool {
	t.Helper()
	if !Raced {
		return false
	}
	program, err := built.Tests(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	Run(t, program, nil)
	return true
}

// Run runs the test in a program from built.Tests, with further variables and arguments.
func Run(t *testing.T, program string, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, append([]string{"-test.run=^" + t.Name() + "$", "-test.timeout=0"}, args...)...)
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	if testing.Verbose() {
		cmd.Args = append(cmd.Args, "-test.v")
	}
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("without the race detector: %v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
}
