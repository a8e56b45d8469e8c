package command

import (
	"bytes"
	"strings"
	"testing"

	"callgate/internal/testserver/waits"
)

// freezeIs waits until every way to ask at a replica shows the same freeze of all sessions: its reason, or "" for none.
func (team *team) freezeIs(t *testing.T, m *member, reason string) {
	t.Helper()
	var listed, status string
	defer func() {
		if t.Failed() {
			t.Logf("%s: %s\n%s", m.name, listed, status)
		}
	}()
	waits.Until(t, m.name+" says that it is frozen by "+reason, func() bool {
		listed, _ = team.command(m, "freeze", "--list")
		status, _ = team.command(m, "status")
		if reason == "" {
			return strings.Contains(listed, "Nothing is frozen") && !strings.Contains(status, "FROZEN")
		}
		return strings.Contains(listed, reason) && !strings.Contains(listed, "at this replica alone") && strings.Contains(status, "FROZEN")
	})
}

// onRecord returns a replica's trail.
func (team *team) onRecord(t *testing.T, m *member) string {
	t.Helper()
	out, err := team.command(m, "audit", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// A freeze holds wherever it can, and no replica claims anything else, even while most replicas are gone and once they
// are back.
func TestFreezeWithoutTheOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three callgates with a NATS each")
	}
	t.Parallel()
	team := startTeam(t, 3)
	team.startAll()
	first, second, third := team.members[0], team.members[1], team.members[2]
	for _, m := range team.members[1:] {
		waits.Until(t, "all replicas have the same credentials", func() bool { return team.token(m) == team.token(first) })
	}
	all := func(reason string) {
		t.Helper()
		for _, m := range team.members {
			team.freezeIs(t, m, reason)
		}
	}
	away := func() {
		t.Helper()
		team.kill(second)
		team.kill(third)
		waits.Until(t, "the first is alone", func() bool {
			out, _ := team.command(first, "status")
			return strings.Contains(out, "problem")
		})
	}
	back := func() {
		t.Helper()
		for _, m := range team.members[1:] {
			team.start(m)
		}
		for _, m := range team.members[1:] {
			team.ready(m)
		}
	}

	if out, err := team.command(second, "freeze", "--reason", "drill"); err != nil || !strings.Contains(out, "Frozen: all sessions") {
		t.Fatalf("%v\n%s", err, out)
	}
	all("drill")
	away()
	if out, err := team.command(first, "unfreeze"); err == nil || !strings.Contains(out, "no freeze can be ended until") {
		t.Errorf("unfreeze: %v\n%s", err, out)
	}
	if text := team.onRecord(t, first); strings.Contains(text, "Ended the freeze") {
		t.Error("a freeze that holds is on record as ended")
	}
	back()
	all("drill")
	if out, err := team.command(third, "unfreeze"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all("")

	away()
	if out, _ := team.command(first, "freeze", "--reason", "split"); !strings.Contains(out, "split. It applies at this replica alone") {
		t.Errorf("freeze: %s", out)
	}
	if text := team.onRecord(t, first); !strings.Contains(text, "Frozen on this machine alone") {
		t.Error("the freeze is not on record")
	}
	back()
	all("split")
	h := &host{team: team, token: team.token(first)}
	for range 6 {
		h.session = ""
		if answer, err := h.insist(shellCall("echo split >> ran")); err != nil || !bytes.Contains(answer, []byte("Frozen")) {
			t.Errorf("it runs: %s, %v", answer, err)
		}
	}
	if text := team.onRecord(t, first); !strings.Contains(text, "All machines were told of the freeze") {
		t.Error("the record does not say that it is shared")
	}
	if out, err := team.command(second, "unfreeze"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all("")
}
