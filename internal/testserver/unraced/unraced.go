// Package unraced runs single tests without the race detector, where it would look at one goroutine, or at the test alone
// because what is tested is another process, and take five times as long.
package unraced

import (
	"os"
	"os/exec"
	"testing"

	"callgate/internal/testserver/built"
)

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

// Run runs the test in a program that built.Tests has made, with further variables and arguments.
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
