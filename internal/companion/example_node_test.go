package companion

import (
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The example client in JavaScript works as printed.
func TestJavaScriptExample(t *testing.T) {
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		t.Skip("node is not installed")
	}
	major, err := strconv.Atoi(strings.Split(strings.TrimPrefix(string(version), "v"), ".")[0])
	if err != nil || major < 20 {
		t.Skipf("node %s has no WebSocket", version)
	}
	args := []string{"../../examples/approver.mjs"}
	if major < 22 {
		args = append([]string{"--experimental-websocket"}, args...)
	}
	b := newFakeBackend("s1")
	r := start(t, b)
	in, keys := io.Pipe()
	x := &terminal{t: t, keys: keys, screen: new(lockedBuffer), done: make(chan struct{})}
	command := exec.Command("node", append(args, r.dir)...)
	command.Stdin, command.Stdout, command.Stderr = in, x.screen, x.screen
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		x.err = command.Wait()
		close(x.done)
	}()
	t.Cleanup(func() {
		keys.Close()
		command.Process.Kill()
		<-x.done
	})
	say := func(line string) {
		t.Helper()
		if _, err := io.WriteString(keys, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	b.ask(shellApproval("call_1", "git push\u202e"))
	x.expect("commands_run (medium): Runs a command.", `{"command":"git push\u{202e}"}`, "y or n?")
	say("")
	x.expect("y or n?")
	say("y")
	x.expect("call_1: approve by custom:example")
	b.ask(shellApproval("call_2", "ls"))
	x.expect("y or n?")
	say("n")
	x.expect("call_2: reject by custom:example")
	if got := b.applied(); len(got) != 2 || got[0].Decision != "approve" || got[1].Decision != "reject" {
		t.Errorf("applied %+v", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	x.expect("closed: 1001")
}
