package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/testserver/waits"
)

// In a cluster, the commands for rules read and change the rules that apply: the cluster's, not those in the file.
func TestRulesCommandsOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a callgate with a NATS")
	}
	t.Parallel()
	team := startTeam(t, 1)
	team.startAll()
	m := team.members[0]
	h := &host{team: team, token: team.token(m)}
	must := func(want string, args ...string) {
		t.Helper()
		if out, err := team.command(m, args...); err != nil || !strings.Contains(out, want) {
			t.Fatalf("callgate %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	answers := func(want, body string) {
		t.Helper()
		if answer, err := h.insist(body); err != nil || !bytes.Contains(answer, []byte(want)) {
			t.Errorf("want %s: %s, %v", want, answer, err)
		}
	}

	must("added", "rules", "add", "shell_exec", "echo *", "deny")
	answers("denied", shellCall("echo one >> ran"))
	must("removed", "rules", "remove", "shell_exec")

	edited := filepath.Join(t.TempDir(), "edit.sh")
	write(t, edited, "#!/bin/sh\nprintf '%s' '{ \"*\": \"ask\", \"$always\": [{\"tool\": \"shell_exec\", \"pattern\": \"echo two\", \"risk\": \"NETWORK\"}] }' > \"$1\"\n")
	if err := os.Chmod(edited, 0o700); err != nil {
		t.Fatal(err)
	}
	edit := exec.CommandContext(t.Context(), callgateProgram(t), "rules", "edit", "--config", team.config, "--data-dir", m.data)
	edit.Env = append(m.environ(), "VISUAL="+edited)
	if out, err := edit.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	answers("two", shellCall("echo two"))
	must("revoked shell_exec", "rules", "revoke", "--all")
	go func() { _, _ = h.insist(shellCall("echo two")) }()
	waits.Until(t, "the call waits for a person", func() bool { return m.asks(t, "echo two") != nil })
	h = &host{team: team, token: team.token(m)}
	must("added", "rules", "add", "shell_exec", "*", "deny")
	answers("denied", shellCall("echo two"))

	// A file that was changed by hand has no effect, and every command says so.
	write(t, filepath.Join(m.data, "workers", "default", "permissions.jsonc"), `{ "*": "allow" }`)
	answers("denied", shellCall("echo two"))
	for _, args := range [][]string{{"rules", "list"}, {"check", "shell_exec", "echo two"}} {
		out, _ := team.command(m, args...)
		if !strings.Contains(strings.ToLower(out), "deny") || !strings.Contains(out, "differs from the cluster's rules") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	waits.Until(t, "doctor names it", func() bool {
		out, _ := team.command(m, "doctor")
		return strings.Contains(out, "differs from the cluster's rules")
	})
	must("permissions.jsonc is revision", "rules", "pull")
	waits.Until(t, "it is well again", func() bool {
		out, _ := team.command(m, "status")
		return !strings.Contains(out, "problem")
	})

	// A command without the cluster's configuration changes nothing.
	for _, args := range [][]string{{"rules", "add", "shell_exec", "*", "allow"}, {"rules", "revoke", "--all"}, {"rules", "list"}, {"check", "shell_exec", "ls"}} {
		alone := exec.CommandContext(t.Context(), callgateProgram(t), append(args, "--data-dir", m.data)...)
		alone.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
		if out, err := alone.CombinedOutput(); err == nil || !strings.Contains(string(out), "a replica of a cluster runs in") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	team.kill(m)
	if out, err := team.command(m, "rules", "add", "shell_exec", "rm *", "allow"); err == nil || !strings.Contains(out, "the cluster's rules apply, but cannot be reached") {
		t.Errorf("%v\n%s", err, out)
	}
}
