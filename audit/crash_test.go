package audit

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"callgate/internal/testserver/unraced"
)

// crashDir tells a child process of the test where to append until it is killed.
const crashDir = "CALLGATE_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		appendForever(dir)
	}
	os.Exit(unraced.Main(m, "TestFollow", "TestSyncAndAnchorAreBatched"))
}

func appendForever(dir string) {
	l, err := Open(dir, Options{MaxFile: 20_000})
	for err == nil {
		var r Record
		if r, err = l.Append(typical()); err == nil {
			fmt.Println(r.Hash)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

// TestKilledProcessLosesNothing kills a process while it writes. What it had acknowledged must be there, and Verify
// must not call it tampering, neither at once nor after the next process has sealed the log.
func TestKilledProcessLosesNothing(t *testing.T) {
	dir := t.TempDir()
	there := make(map[string]bool)
	var acknowledged []string
	for i := range 4 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), crashDir+"="+dir)
		child.Stderr = os.Stderr
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			// A last line cut short by the kill acknowledges nothing.
			if isHash(lines.Text()) {
				acknowledged = append(acknowledged, lines.Text())
			}
			if n == 50+37*i {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := child.Wait(); err == nil || child.ProcessState.ExitCode() == 2 {
			t.Fatalf("the child was not killed: %v", err)
		}
		report := verify(t, dir)
		if last := report.Logs[len(report.Logs)-1]; last.State != Killed {
			t.Errorf("the last log is %s", last.State)
		}
	}
	write(t, dir, 0)
	for _, log := range verify(t, dir).Logs {
		if log.State == Killed && log.Records > 0 { // an empty log has nothing to seal
			t.Errorf("%s was not sealed", log.File)
		}
	}
	for _, r := range readAll(t, dir, Filter{}) {
		there[r.Hash] = true
	}
	for _, hash := range acknowledged {
		if !there[hash] {
			t.Errorf("record %s was acknowledged and is not there", hash)
		}
	}
}
