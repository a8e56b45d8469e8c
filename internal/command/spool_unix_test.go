//go:build unix

package command

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A host may close callgate's standard error, or stop reading it. callgate still answers.
func TestTheLogHoldsNobodyUp(t *testing.T) {
	callgate := callgateProgram(t)
	for _, test := range []struct {
		name   string
		stderr func(t *testing.T) *os.File
	}{
		{"closed", func(t *testing.T) *os.File {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			return w
		}},
		{"full", func(t *testing.T) *os.File {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			stuff(t, w)
			return w
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := &client{responses: map[string][]byte{}, changed: make(chan struct{}), exited: make(chan struct{})}
			stderr := test.stderr(t)
			c.cmd = exec.Command(callgate, "wrap", "--data-dir", dir, "--listen", "127.0.0.1:0", "--log-level", "debug", "--log-file", dir+"/log", "--", servers(t)+"/demo", dir)
			c.cmd.Stderr = stderr
			if err := c.start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(c.kill)
			stderr.Close()
			if err := c.handshake(`{}`); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"1", "2"} {
				if _, err := c.request(id, "tools/list", ""); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.close(); err != nil {
				t.Error(err)
			}
			if text, err := os.ReadFile(dir + "/log"); err != nil || !strings.Contains(string(text), "companion is listening") {
				t.Errorf("the log file holds %q, %v", text, err)
			}
		})
	}
}

// stuff writes to a pipe until it is full.
func stuff(t *testing.T, w *os.File) {
	t.Helper()
	raw, err := w.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Write(func(fd uintptr) bool {
		for {
			if _, err := syscall.Write(int(fd), make([]byte, 512)); err != nil {
				return true
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
