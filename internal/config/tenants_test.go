package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Tenants are opened at the same time. Making the configuration for one does not touch what another has.
func TestTenantsShareNothingOfAConfiguration(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "callgate.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	whole := commentedKey.ReplaceAllString(string(text), "$1$2")
	c, err := load(t, strings.ReplaceAll(whole, "~/src/app", "DIR"))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, name := range []string{"acme", "beta"} {
		all.Go(func() {
			own, err := c.ForTenant(name)
			if err != nil {
				t.Error(err)
				return
			}
			if own.Worker != name || filepath.Base(own.DataDir) != name || own.HookRunner == c.HookRunner {
				t.Errorf("%s has the worker %s in %s", name, own.Worker, own.DataDir)
			}
			if len(own.Verify.Folders) != len(c.Verify.Workspaces) || &own.Verify.Folders[0] == &c.Verify.Folders[0] {
				t.Errorf("%s verifies %q", name, own.Verify.Folders)
			}
		})
	}
	all.Wait()
}

// Without tenants, a tenant's token would open the only worker there is.
func TestATokenOfATenantNeedsTenants(t *testing.T) {
	token := "mcpTokens:\n  - {name: laptop, file: DIR/laptop, tenant: acme}\n"
	if _, err := load(t, token); err == nil || !strings.Contains(err.Error(), "mcpTokens[0]") || !strings.Contains(err.Error(), "no tenants") {
		t.Errorf("%v", err)
	}
	if _, err := load(t, token+"tenants: {names: [acme]}\n"); err != nil {
		t.Error(err)
	}
}

// No client may have the name of a host that needs no token, or a name that callgate uses itself.
func TestNamesOfClientsAreTheirOwn(t *testing.T) {
	for name, ok := range map[string]bool{"laptop": true, "anyone": false, "stdio": false, "mcp": false} {
		_, err := load(t, "mcpTokens: [{name: "+name+", file: x}]\n")
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "mcpTokens[0]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Obvious mistakes are refused before hosts are served.
func TestSlipsBeforeHostsAreServed(t *testing.T) {
	for text, want := range map[string]string{
		"cluster: {key: cluster.key}\n":                                                         "cluster.url",
		"cluster: {peers: [\"127.0.0.1:7779\"]}\n":                                              "cluster.url",
		"tenants: {names: [acme, beta]}\nmcpTokens: [{name: laptop, file: x, tenant: gamma}]\n": `mcpTokens[0]: tenant: there is no tenant "gamma"`,
		"tenants: {names: [acme, beta]}\nmcpTokens: [{name: laptop, file: x, tenant: beta}]\n":  "",
		"mode: ask\n": "",
	} {
		c, err := load(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.CheckServe(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// callgate warns of a variable that nearly matches a setting, but not if the configuration mentions the variable.
func TestMisspelledVariables(t *testing.T) {
	c, err := load(t, `
rag: {embedder: {keyEnv: CALLGATE_EMBEDDER_KEY}}
cluster: {keyVariable: CALLGATE_CLUSTER_CERTS}
mcpConfig: [DIR/callgate.yaml] # CALLGATE_MODES
servers: [{name: a, command: a, env: ["TOKEN=${CALLGATE_TIMEOUTS:-x}"]}]
`)
	if err != nil {
		t.Fatal(err)
	}
	for name, near := range map[string]string{
		"CALLGATE_MODEE": "CALLGATE_MODE", "CALLGATE_TIMOUT": "CALLGATE_TIMEOUT",
		"CALLGATE_MODE": "", "CALLGATE_CONFIG": "", "CALLGATE_MCP_TOKEN": "", "CALLGATE_TOKEN": "", "CALLGATE_TENANT": "", "CALLGATE_IN_HOOK": "",
		"CALLGATE_TITLE": "", "CALLGATE_SECRET": "", "CALLGATE_TELEGRAM_TOKEN": "", "CALLGATE_PID": "", "CALLGATE_TEXT": "", "CALLGATE_TEST_LOG": "", "MODEE": "",
		"CALLGATE_EMBEDDER_KEY": "", "CALLGATE_CLUSTER_CERTS": "", "CALLGATE_MODES": "", "CALLGATE_TIMEOUTS": "",
	} {
		said := strings.Join(c.MisspelledVariables([]string{name + "=x"}), " ")
		if (said == "") != (near == "") || !strings.Contains(said, near) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

// A file with an empty list of servers means it. A file without the list has forgotten them.
func TestNoServersOnPurpose(t *testing.T) {
	for text, ok := range map[string]bool{"servers: []\n": true, "mode: ask\n": false, "servers: [{name: a, command: a, enabled: false}]\n": false} {
		c, err := load(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if servers, err := c.ProxyServers(); (err == nil) != ok || len(servers) > 0 {
			t.Errorf("%s: %v, %v", text, servers, err)
		}
	}
}
