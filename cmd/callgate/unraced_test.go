package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// unraced runs the whole test in a process without the race detector, if this one has it, and reports whether it did. It
// is for tests whose hosts and servers cost much, with a callgate that is a process of its own: the detector would look at
// the tests alone, and take five times as long. The stories and the tests of packages look for races in callgate.
func unraced(t *testing.T) bool {
	t.Helper()
	if !raced {
		return false
	}
	bin := servers(t)
	program, err := buildUnraced()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.timeout=0", fmt.Sprintf("-update=%t", *updatePages))
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	if testing.Verbose() {
		cmd.Args = append(cmd.Args, "-test.v")
	}
	cmd.Env = append(os.Environ(), builtServers+"="+bin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("without the race detector: %v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
	return true
}

var buildUnraced = sync.OnceValues(func() (string, error) {
	bin, err := buildServers()
	if err != nil {
		return "", err
	}
	program := filepath.Join(bin, "callgate.test")
	build := exec.Command("go", "test", "-c", "-race=false", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests: %w\n%s", err, out)
	}
	return program, nil
})
