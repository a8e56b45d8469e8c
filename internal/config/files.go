package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"callgate/internal/companion/credentials"
	"callgate/internal/siem"
	"callgate/internal/signin"

	"github.com/adrg/xdg"
)

// Files are where callgate keeps what belongs to a data directory, and to one of its workers.
type Files struct {
	DataDir string
	Worker  string
	Config  string // the configuration file, "" when there is none
}

// Files are where this configuration has callgate keep what belongs to it.
func (c *Config) Files() Files { return Files{DataDir: c.DataDir, Worker: c.Worker, Config: c.File} }

// WebhookQueues is the folder where webhooks of the worker keep what waits to be posted.
func (f Files) WebhookQueues() string {
	return filepath.Join(f.DataDir, "workers", f.Worker, "webhooks")
}

// checkpoints is where the checkpoints of all workers are.
func (f Files) checkpoints() string { return filepath.Join(f.DataDir, "checkpoints") }

// Index is where the worker's indexes are: one for each workspace. Workers have rules of their own about what
// may be read, so they share none.
func (f Files) Index() string { return filepath.Join(f.DataDir, "workers", f.Worker, "index") }

// Permissions is where the worker's rules are.
func (f Files) Permissions() string {
	return filepath.Join(f.DataDir, "workers", f.Worker, "permissions.jsonc")
}

// Cache is where upstreams are remembered between runs.
func (f Files) Cache() string { return filepath.Join(f.DataDir, "cache") }

// Logins is the folder of callgate's logins at servers.
func (f Files) Logins() string { return signin.Dir(f.DataDir) }

// Pins is where tool definitions are remembered as people have accepted them.
func (f Files) Pins() string { return filepath.Join(f.DataDir, "pins.json") }

// Lock says what each server may be. It is beside the configuration; without it servers are what their commands run.
func (f Files) Lock() string {
	dir := filepath.Join(xdg.ConfigHome, "callgate")
	if f.Config != "" {
		dir = filepath.Dir(f.Config)
	}
	path := filepath.Join(dir, "callgate.lock")
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// Workers are the names of those that have a folder.
func (f Files) Workers() (names []string) {
	entries, err := os.ReadDir(filepath.Join(f.DataDir, "workers"))
	if err != nil {
		return nil // the default one has none yet
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

const DefaultWorker = "default"

// knowWorker returns an error if the worker does not exist, so that looking at a worker does not make one.
func (f Files) knowWorker() error {
	all := f.Workers()
	if f.Worker == DefaultWorker || slices.Contains(all, f.Worker) {
		return nil
	}
	return fmt.Errorf("there is no worker %q%s: callgate run --worker %s makes it", f.Worker, meant(f.Worker, append(all, DefaultWorker)), f.Worker)
}

// mayMakeWorker returns an error if the name of a new worker looks like a misspelling of an existing one.
func (f Files) mayMakeWorker() error {
	all := append(f.Workers(), DefaultWorker)
	if hint := meant(f.Worker, all); hint != "" && !slices.Contains(all, f.Worker) {
		return f.knowWorker()
	}
	return nil
}

// SealingSecret is what hosts without sessions have their state sealed with: one that no host holds, because who
// knows it can make handles. As long as it is the same their state survives a restart; nil, where there is none yet
// or it cannot be read, lets it end with the process.
func (f Files) SealingSecret() []byte {
	held, err := credentials.Open(f.DataDir)
	if err != nil {
		return nil // who needs the credentials says what is wrong with them
	}
	token, err := held.Token(credentials.Worker)
	if err != nil {
		return nil
	}
	return []byte(token)
}

// Exports is where is noted how far the audit trail was sent.
func (f Files) Exports() string { return filepath.Join(f.DataDir, "export") }

// checkExports checks where the audit trail is sent, and makes its paths whole.
func checkExports(list []siem.Config) error {
	names := map[string]bool{}
	for i := range list {
		one := &list[i]
		if err := one.Check(); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
		if names[one.Name] {
			return fmt.Errorf("[%d]: the name %q is taken", i, one.Name)
		}
		names[one.Name] = true
		for _, path := range []*string{&one.CA, &one.Header, &one.Keys} {
			if *path == "" {
				continue
			}
			whole, err := filepath.Abs(ExpandHome(*path))
			if err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
			*path = whole
		}
	}
	return nil
}
