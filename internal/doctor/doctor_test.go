package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"callgate/internal/companion/wire"
	"callgate/internal/hosthooks"
	"callgate/internal/install"
)

// A running callgate's problems come with a cure if there is one.
func TestRemedies(t *testing.T) {
	for text, want := range map[string]Finding{
		"the audit log is damaged: x":                {State: Broken, Cure: "callgate audit verify --data-dir d"},
		"the changed configuration is refused: port": {State: Broken},
		"the configuration has changed, and these settings take effect when callgate is restarted: worker":  {State: Warning},
		"nothing runs until this callgate hears from its cluster again: away":                               {State: Broken, Cure: "callgate cluster status --data-dir d"},
		"/d/permissions.jsonc differs from the cluster's rules, which apply: callgate rules diff shows how": {State: Warning, Cure: "callgate rules diff --data-dir d"},
		"calls of the replica gate-1 cannot be seen: it does not answer":                                    {State: Broken},
		"credentials cannot be shared with the other replicas: no":                                          {State: Broken, Cure: "callgate cluster status --data-dir d"},
	} {
		x := examination{o: Options{Chosen: " --data-dir d"}}
		x.problem(text)
		if got := x.findings[0]; got.State != want.State || got.Cure != want.Cure || got.Text != text {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// A server that connect cannot move bypasses the gate, and no command helps. A server that the host does not start does
// not bypass it.
func TestServersThatStay(t *testing.T) {
	for stays, want := range map[string]string{
		"only the host knows what ${input:key} is": "VS Code: servers bypass the gate, and connect cannot move them: s (only the host knows what ${input:key} is)",
		"it is disabled": "VS Code: no MCP server bypasses the gate",
	} {
		x := examination{o: Options{Machine: install.Machine{OS: "linux", Getenv: func(string) string { return "" }}}}
		x.host(&install.HostPlan{ID: "vscode", Name: "VS Code", Changes: []install.Change{{Servers: []install.Found{{Name: "s", Stays: stays}}}}}, hosthooks.State{})
		if got := x.findings[0]; got.Text != want || got.Cure != "" {
			t.Errorf("%s: %+v", stays, got)
		}
	}
}

// A replica on another machine has no process here, so nothing tells people to continue or end one.
func TestSilentReplica(t *testing.T) {
	x := examination{o: Options{Version: "2"}}
	x.process(process{Replica: "gate-1", Silent: true})
	x.process(process{Replica: "gate-1", Version: "1"})
	x.process(process{PID: 7, Silent: true})
	x.process(process{PID: 7, Version: "2"})
	if len(x.findings) != 3 {
		t.Fatalf("%+v", x.findings)
	}
	for i, want := range []string{"the replica gate-1 does not answer → callgate cluster status", "the replica gate-1 is callgate 1: upgrade it → ", "process 7 does not answer: it may have been stopped → kill -CONT 7"} {
		if got := x.findings[i].Text + " → " + x.findings[i].Cure; got != want {
			t.Errorf("%s, not %s", got, want)
		}
	}
	if said := wire.Unseen(0, "gate-1"); !strings.Contains(said, "gate-1") || strings.Contains(said, "process") || !wire.IsUnseen(said) {
		t.Error(said)
	}
}

// Nothing is rotated if no credential is at fault.
func TestCredentialsThatCannotBeListed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "credentials"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	x := examination{o: Options{DataDir: dir}}
	x.damaged()
	if len(x.findings) != 1 || x.findings[0].Cure != "" {
		t.Errorf("%+v", x.findings)
	}
}

// Each tenant has rules of its own.
func TestFilesOfTenantsThatOthersCanChange(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there, a file's mode does not say who may change it")
	}
	dir := t.TempDir()
	tenant := filepath.Join(dir, "tenants", "acme")
	for _, file := range []string{filepath.Join(dir, "workers", "default", "permissions.jsonc"), filepath.Join(tenant, "workers", "acme", "permissions.jsonc"), tenant} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if file != tenant {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(file, 0o777); err != nil {
			t.Fatal(err)
		}
		x := examination{o: Options{DataDir: dir}}
		x.writable()
		if len(x.findings) != 1 || !strings.Contains(x.findings[0].Text, file) {
			t.Errorf("%+v", x.findings)
		}
		if err := Fix(x.findings); err != nil {
			t.Error(err)
		}
	}
}
