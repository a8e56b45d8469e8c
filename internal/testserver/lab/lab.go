// Package lab runs command lines that tests made up, in a place where they can do no harm. It returns what they left
// behind: a program that was started, a file that was written, a secret that was read.
package lab

import (
	"encoding/json"
	"io"
	"os/exec"
	"sync"
	"testing"
)

// Secret is in the file "secret" and in the variable SECRET of every command.
const Secret = "SesameOpenUp"

// Lab is such a place.
type Lab struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  *json.Encoder
	out *json.Decoder
	end io.Closer
}

// job is a command to run, and result is its outcome.
type job struct{ Argv []string }

type result struct {
	Traces []string
	Output string
	Error  string
}

// Run runs one command in a folder with the files passed to New, and returns what it left behind.
func (l *Lab) Run(t testing.TB, argv ...string) (traces []string, output string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var r result
	if err := l.in.Encode(job{argv}); err != nil {
		t.Fatal(err)
	}
	if err := l.out.Decode(&r); err != nil {
		t.Fatalf("the lab is gone after %q: %v", argv, err)
	}
	if r.Error != "" {
		t.Fatal(r.Error)
	}
	return r.Traces, r.Output
}

// Has reports whether a program is installed.
func Has(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
