// Package unraced runs single tests without the race detector, where it would look at one goroutine, or at the test alone
// because what is tested is another process, and take five times as long.
package unraced

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Elsewhere runs the whole test in a process without the race detector, if this one has it, and reports whether it did.
func Elsewhere(t *testing.T) bool {
	t.Helper()
	if !Raced {
		return false
	}
	program := filepath.Join(t.TempDir(), "unraced.test")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := Build(program); err != nil {
		t.Fatal(err)
	}
	Run(t, program, nil)
	return true
}

// Build builds the tests of the package in the current folder, without the race detector.
func Build(program string) error {
	if out, err := exec.Command("go", "test", "-c", "-race=false", "-o", program, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests: %w\n%s", err, out)
	}
	return nil
}

// Run runs the test in a program that Build has made, with further variables and arguments.
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
