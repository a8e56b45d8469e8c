package command

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callgate/internal/testserver/addresses"
	"callgate/internal/testserver/waits"
)

// TestBalancers runs the configurations in deploy with HAProxy and nginx. Sessions go on wherever their requests
// arrive, answers stream while a call waits for a person, and a draining replica gets no new hosts.
func TestBalancers(t *testing.T) {
	conformance(t)
	for _, b := range []struct {
		program, config string
		args            func(config, dir string) []string
	}{
		{"haproxy", "haproxy.cfg", func(config, _ string) []string { return []string{"-db", "-f", config} }},
		{"nginx", "nginx.conf", func(config, dir string) []string {
			return []string{"-c", config, "-p", dir, "-e", "stderr", "-g", "daemon off; pid nginx.pid;"}
		}},
	} {
		t.Run(b.program, func(t *testing.T) {
			program, err := exec.LookPath(b.program)
			if err != nil {
				if program = filepath.Join("/usr/sbin", b.program); exec.Command(program, "-v").Run() != nil {
					t.Skip(b.program + " is not installed")
				}
			}
			at := addresses.Free(t, 4)
			team := startTeam(t, 3)
			for i, m := range team.members {
				m.flags = []string{"--mcp-host", at[0], "--mcp-listen", at[i+1]}
			}
			team.startAll()
			text, err := os.ReadFile(filepath.Join("..", "..", "deploy", b.config))
			if err != nil {
				t.Fatal(err)
			}
			var changes []string
			for i, address := range at {
				changes = append(changes, fmt.Sprintf("127.0.0.1:%d", 17778+i), address)
			}
			dir := t.TempDir()
			config := filepath.Join(dir, b.config)
			write(t, config, strings.NewReplacer(changes...).Replace(string(text)))
			var said bytes.Buffer
			cmd := exec.Command(program, b.args(config, dir)...) // not killed with the context: nginx would leave its workers behind
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				_ = cmd.Wait()
				if t.Failed() {
					t.Logf("%s said: %s", b.program, &said)
				}
			})
			team.address = "http://" + at[0] + "/mcp"
			waits.Until(t, b.program+" listens", func() bool {
				conn, err := net.Dial("tcp", at[0])
				if err == nil {
					conn.Close()
				}
				return err == nil
			})
			team.behind(t)
		})
	}
}

// behind makes hosts reach the replicas through the balancer.
func (team *team) behind(t *testing.T) {
	first, last := team.members[0], team.members[2]
	for _, m := range team.members[1:] {
		waits.Until(t, "all replicas have the same credentials", func() bool { return team.token(m) == team.token(first) })
	}
	h := &host{team: team, token: team.token(first)}
	waits.Until(t, "a session begins", func() bool { return h.begin() == nil })
	began := h.session
	for range 9 {
		if answer, err := h.send(serveCall); err != nil || !bytes.Contains(answer, []byte("Hello")) {
			t.Fatalf("%s, %v", answer, err)
		}
	}
	if h.session != began {
		t.Error("the session changed")
	}

	// A waiting call begins to answer before a person has said anything.
	r, err := http.NewRequestWithContext(t.Context(), "POST", team.address, strings.NewReader(shellCall("echo streamed >> ran")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{
		"Authorization": {"Bearer " + h.token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Session-Id": {began},
	}
	response, err := http.DefaultClient.Do(r) // it returns with the head of the stream
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("the answer is %s, %q", response.Status, kind)
	}
	var list []waiting
	waits.Until(t, "a person sees it", func() bool { list, _ = last.pending(t); return len(list) == 1 })
	if err := last.answer(t, list[0], "approve"); err != nil {
		t.Fatal(err)
	}
	var answer bytes.Buffer
	if _, err := answer.ReadFrom(response.Body); err != nil || !bytes.Contains(answer.Bytes(), []byte(`"result"`)) || team.ran()["streamed"] != 1 {
		t.Fatalf("%s, %v, ran %d times", &answer, err, team.ran()["streamed"])
	}

	// A draining replica says so, and hosts go on at the others.
	if err := last.c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-last.c.exited
	for range 9 {
		if answer, err := (&host{team: team, token: h.token}).insist(serveCall); err != nil || !bytes.Contains(answer, []byte("Hello")) {
			t.Fatalf("%s, %v", answer, err)
		}
	}
}
