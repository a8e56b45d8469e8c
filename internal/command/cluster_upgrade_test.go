package command

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"callgate/internal/testserver/waits"
)

// TestRollingUpgrade replaces three replicas of an older version one by one. CALLGATE_TEST_OLDER names the older
// program. Meanwhile people at either version decide what waits at the other, and rules and the trail go on.
func TestRollingUpgrade(t *testing.T) {
	older := os.Getenv("CALLGATE_TEST_OLDER")
	if older == "" {
		t.Skip("set CALLGATE_TEST_OLDER to the program of an older version")
	}
	team := startTeam(t, 3)
	for _, m := range team.members {
		m.program, m.flags = older, nil
	}
	team.startAll()
	first, second, third := team.members[0], team.members[1], team.members[2]
	for _, m := range team.members[1:] {
		waits.Until(t, "all replicas have the same credentials", func() bool { return team.token(m) == team.token(first) })
	}
	token := team.token(first)
	call := func(m *member, body string) <-chan []byte {
		direct := &served{t: t, url: m.at() + "/mcp", token: token}
		session, err := direct.connect(http.DefaultClient)
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan []byte, 1)
		go func() {
			answer, _, _ := direct.send(http.DefaultClient, "POST", session, body)
			told <- answer
		}()
		return told
	}
	approves := func(m *member) {
		var list []waiting
		waits.Until(t, m.name+" shows it", func() bool { list, _ = m.pending(t); return len(list) == 1 })
		if err := m.answer(t, list[0], "approve"); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(m *member) {
		if err := m.c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-m.c.exited
		m.program = ""
		team.start(m)
		team.ready(m)
	}

	replace(third)
	for what, at := range map[string][2]*member{"new-old": {first, third}, "old-new": {third, first}} {
		told := call(at[0], shellCall("echo "+what+" >> ran"))
		approves(at[1])
		if answer := <-told; bytes.Contains(answer, []byte(`"isError":true`)) || team.ran()[what] != 1 {
			t.Fatalf("%s: %s, ran %d times", what, answer, team.ran()[what])
		}
	}
	strict := filepath.Join(filepath.Dir(team.config), "policy", "workers", "default", "permissions.jsonc")
	write(t, strict, `{ "*": "ask", "read_file": "deny" }`)
	if out, err := team.command(third, "rules", "push", "--file", filepath.Join(filepath.Dir(team.config), "policy")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range team.members {
		waits.Until(t, m.name+" goes by the new rules", func() bool { return bytes.Contains(<-call(m, serveCall), []byte("isError\":true")) })
	}

	// A call that waits at a replaced older replica is decided at a newer one, and runs there.
	told := call(first, shellCall("echo moved >> ran"))
	waits.Until(t, "the call waits", func() bool { list, _ := third.pending(t); return len(list) == 1 })
	replace(first)
	if answer := <-told; !bytes.Contains(answer, []byte("Repeat the same call")) {
		t.Errorf("the host was told %s", answer)
	}
	approves(second)
	waits.Until(t, "the decision is claimed", func() bool {
		<-call(third, shellCall("echo moved >> ran"))
		return team.ran()["moved"] == 1
	})
	replace(second)
	whole := func() {
		waits.Until(t, "the cluster has the whole trail", func() bool {
			out, err := team.command(third, "audit", "verify", "--cluster")
			if err != nil && !strings.Contains(out, "cannot be reached") { // a replica has only just come back
				t.Fatalf("%v\n%s", err, out)
			}
			return strings.Contains(out, "the cluster has") && strings.Count(out, "are not there yet") == 0
		})
	}
	whole()

	// The stream that the older version created is replaced while calls go on.
	write(t, strict, `{ "*": "allow" }`)
	if out, err := team.command(third, "rules", "push", "--file", filepath.Join(filepath.Dir(team.config), "policy")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range team.members {
		waits.Until(t, m.name+" allows again", func() bool { return !bytes.Contains(<-call(m, serveCall), []byte(`isError":true`)) })
	}
	ended := make(chan struct{})
	var renewed string
	go func() {
		defer close(ended)
		renewed, _ = team.command(second, "cluster", "renew")
	}()
	calls := 0
	for running := true; running || calls == 0; calls++ {
		select {
		case <-ended:
			running = false
		default:
		}
		answer := <-call(team.members[calls%3], shellCall("echo renew >> ran"))
		if bytes.Contains(answer, []byte(`"isError":true`)) {
			t.Errorf("while it is renewed: %s", answer)
		}
	}
	if n := team.ran()["renew"]; !strings.Contains(renewed, "of the old one") || n != calls {
		t.Errorf("%d of %d calls ran; renew said %q", n, calls, renewed)
	}
	whole()
	if out, err := team.command(first, "cluster", "renew"); err != nil || !strings.Contains(out, "nothing to renew") {
		t.Errorf("once more: %v\n%s", err, out)
	}
}
