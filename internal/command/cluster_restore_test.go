package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callgate/internal/testserver/waits"
)

// A backup replaces no file, and a restore says what it brings back. Secrets that were rotated since, and people who
// were removed, come back only on request.
func TestRestoreInACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts a callgate with a NATS")
	}
	t.Parallel()
	team := startTeam(t, 1)
	team.startAll()
	m := team.members[0]
	must := func(want string, args ...string) string {
		t.Helper()
		out, err := team.command(m, args...)
		if err != nil || !strings.Contains(out, want) {
			t.Fatalf("callgate %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	kept := filepath.Join(t.TempDir(), "gate.backup")
	before := team.token(m)
	must("wrote", "cluster", "backup", kept)
	if out, err := team.command(m, "cluster", "backup", kept); err == nil || !strings.Contains(out, "exists already") {
		t.Errorf("%v\n%s", err, out)
	}
	must("wrote", "cluster", "backup", kept, "--force")

	must("", "credentials", "rotate", "mcp")
	must("", "credentials", "add", "approve@leo")
	must("added", "rules", "add", "shell_exec", "echo *", "deny")
	after := team.token(m)
	waits.Until(t, "the cluster has the new credentials", func() bool {
		out, _ := team.command(m, "cluster", "restore", kept)
		return strings.Contains(out, "credentials stay; from the backup, with --credentials: mcp has an older secret, approve@leo is gone")
	})
	out := must("credentials stay", "cluster", "restore", "--replace", kept)
	if !strings.Contains(out, "rules of ") || !strings.Contains(out, " replaces revision ") {
		t.Errorf("it does not say what comes back:\n%s", out)
	}
	waits.Until(t, "the rules are back", func() bool {
		out, _ := team.command(m, "rules", "list")
		return !strings.Contains(out, "echo *")
	})
	if team.token(m) != after {
		t.Error("a secret that was rotated away works again")
	}
	must("credentials come from the backup", "cluster", "restore", "--replace", "--credentials", kept)
	waits.Until(t, "the old secret is back", func() bool { return team.token(m) == before })
	waits.Until(t, "a person who was added since is gone", func() bool {
		_, err := os.Stat(filepath.Join(m.data, "credentials", "approve@leo"))
		return errors.Is(err, fs.ErrNotExist)
	})

	// The folder of a named file must exist.
	nowhere := filepath.Join(t.TempDir(), "new", "permissions.jsonc")
	if out, err := team.command(m, "rules", "pull", "--file", nowhere); err == nil || !strings.Contains(out, "its folder is not there") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Dir(nowhere)); err == nil {
		t.Error("it made the folder")
	}
	must("is revision", "rules", "pull", "--file", t.TempDir())
}
