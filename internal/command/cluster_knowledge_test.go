package command

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"callgate/internal/testserver/waits"
)

// TestDocumentsOfThree adds a document on the machine of one replica. Hosts find it at every other, until it is removed
// on the machine of a third. One replica indexes the workspace, and the others begin with its index.
func TestDocumentsOfThree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	if elsewhere(t) {
		return
	}
	work := t.TempDir()
	write(t, filepath.Join(work, "zanzibar.go"), "package zanzibar // sails to the island of cloves\n")
	team := teamOf(t, 3, work, allowAll, "", "--rag", "--cluster-indexes", "--cluster-lease", "1m") // no replica is lost here, and a busy machine is slow to hear
	team.startAll()
	first, second, third := team.members[0], team.members[1], team.members[2]
	run := func(m *member, args ...string) string {
		out, err := team.command(m, args...)
		if err != nil {
			t.Fatalf("%s: %v: %v\n%s", m.name, args, err, out)
		}
		return out
	}
	handbook := filepath.Join(t.TempDir(), "handbook.md")
	write(t, handbook, "# Backups\n\nBackups are kept for ninety days.\n")
	added := run(first, "kb", "add", handbook)
	id := regexp.MustCompile(`doc-[0-9a-f]{16}`).FindString(added)
	if id == "" {
		t.Fatalf("it printed %q", added)
	}
	for _, m := range team.members {
		waits.Until(t, m.name+" finds it", func() bool {
			return strings.Contains(run(m, "kb", "search", "how long are backups kept"), "ninety days")
		})
	}
	h := &host{team: team, token: team.token(second)}
	for range team.members { // the balancer sends each session to another replica
		if err := h.begin(); err != nil {
			t.Fatal(err)
		}
		answer, err := h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"callgate_kb_search","arguments":{"query":"how long are backups kept"}}}`)
		if err != nil || !strings.Contains(string(answer), "ninety days") {
			t.Errorf("a host found %s, %v", answer, err)
		}
		answer, err = h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"callgate_search","arguments":{"query":"island of cloves"}}}`)
		if err != nil || !strings.Contains(string(answer), "zanzibar.go") {
			t.Errorf("a host found %s, %v", answer, err)
		}
		waits.Until(t, "one replica leaves its index to the others", func() bool { return team.said("can begin with this index") == 1 })
		h.end()
	}
	if n := team.said("begins with the index of another replica"); n != 2 {
		t.Errorf("%d replicas began with the index of another one", n)
	}

	// A file with the same text, added elsewhere, is a separate document, and stays when the first one changes.
	duplicate := filepath.Join(t.TempDir(), "copy.md")
	write(t, duplicate, "# Backups\n\nBackups are kept for ninety days.\n")
	run(second, "kb", "add", duplicate)
	for _, m := range team.members {
		waits.Until(t, m.name+" has both", func() bool { return strings.Count(run(m, "kb", "list"), "doc-") == 2 })
	}
	write(t, handbook, "# Backups\n\nBackups are kept for ten days.\n")
	if again := run(third, "kb", "add", handbook); !strings.Contains(again, id) || !strings.Contains(again, "replaced") {
		t.Errorf("it printed %q", again)
	}
	for _, m := range team.members {
		waits.Until(t, m.name+" finds both texts", func() bool {
			found := run(m, "kb", "search", "how long are backups kept")
			return strings.Contains(found, "ninety days") && strings.Contains(found, "ten days")
		})
	}

	run(third, "kb", "remove", id)
	for _, m := range team.members {
		waits.Until(t, m.name+" has it no more", func() bool { return !strings.Contains(run(m, "kb", "list"), id) })
	}
}

// said counts the replicas that wrote that to standard error.
func (team *team) said(text string) (n int) {
	for _, m := range team.members {
		if strings.Contains(m.c.stderr.String(), text) {
			n++
		}
	}
	return n
}

// TestListsOfThree has a host at one replica. The others know the tools of its server, although it never ran there.
func TestListsOfThree(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	if elsewhere(t) {
		return
	}
	team := startTeam(t, 3, "--cluster-lease", "1m")
	team.startAll()
	h := &host{team: team, token: team.token(team.members[1])}
	if err := h.begin(); err != nil {
		t.Fatal(err)
	}
	if answer, err := h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); err != nil || !strings.Contains(string(answer), "demo_read_file") {
		t.Fatalf("%s, %v", answer, err)
	}
	for _, m := range team.members {
		waits.Until(t, m.name+" knows the tools", func() bool {
			out, err := team.command(m, "check", "demo_raed_file", "hello.txt")
			return err != nil && strings.Contains(out, "demo_read_file")
		})
	}
	h.end()
}
