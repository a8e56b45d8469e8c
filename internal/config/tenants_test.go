package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Tenants are opened at the same time. What is made of the configuration for one does not touch what another has.
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
		})
	}
	all.Wait()
}

// Without tenants, a token that is for one would open the only worker there is.
func TestATokenOfATenantNeedsTenants(t *testing.T) {
	token := "mcpTokens:\n  - {name: laptop, file: DIR/laptop, tenant: acme}\n"
	if _, err := load(t, token); err == nil || !strings.Contains(err.Error(), "mcpTokens[0]") || !strings.Contains(err.Error(), "no tenants") {
		t.Errorf("%v", err)
	}
	if _, err := load(t, token+"tenants: {names: [acme]}\n"); err != nil {
		t.Error(err)
	}
}
