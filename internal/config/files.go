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

// Files knows where callgate keeps the files of a data directory and of one of its workers.
type Files struct {
	DataDir string
	Worker  string
	Config  string // the configuration file, or "" if there is none
}

// Files returns the files of this configuration's data directory and worker.
func (c *Config) Files() Files { return Files{DataDir: c.DataDir, Worker: c.Worker, Config: c.File} }

// WebhookQueues returns the folder where the worker's webhooks keep what waits to be posted.
func (f Files) WebhookQueues() string {
	return filepath.Join(f.DataDir, "workers", f.Worker, "webhooks")
}

// checkpoints returns the folder with the checkpoints of all workers.
func (f Files) checkpoints() string { return filepath.Join(f.DataDir, "checkpoints") }

// Index returns the folder with the worker's indexes, one for each workspace. Workers share no indexes, because each
// has its own rules about reading.
func (f Files) Index() string { return filepath.Join(f.DataDir, "workers", f.Worker, "index") }

// Permissions returns the file with the worker's rules.
func (f Files) Permissions() string {
	return filepath.Join(f.DataDir, "workers", f.Worker, "permissions.jsonc")
}

// Cache returns the folder where upstreams are remembered between runs.
func (f Files) Cache() string { return filepath.Join(f.DataDir, "cache") }

// Logins returns the folder of callgate's logins at servers.
func (f Files) Logins() string { return signin.Dir(f.DataDir) }

// Pins returns the file with the tool definitions that people have accepted.
func (f Files) Pins() string { return filepath.Join(f.DataDir, "pins.json") }

// Lock returns the file beside the configuration that says what each server may be. Without it, all commands may run.
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

// Workers returns the names of the workers that have a folder.
func (f Files) Workers() (names []string) {
	entries, err := os.ReadDir(filepath.Join(f.DataDir, "workers"))
	if err != nil {
		return nil // not even the default worker has one yet
	}
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

const DefaultWorker = "default"

// knowWorker returns an error if the worker does not exist, so that looking at a worker does not create it.
func (f Files) knowWorker() error {
	all := f.Workers()
	if f.Worker == DefaultWorker || slices.Contains(all, f.Worker) {
		return nil
	}
	return fmt.Errorf("there is no worker %q%s: callgate run --worker %s makes it", f.Worker, didYouMean(f.Worker, append(all, DefaultWorker)), f.Worker)
}

// mayMakeWorker returns an error if the name of a new worker looks like a misspelling of an existing one.
func (f Files) mayMakeWorker() error {
	all := append(f.Workers(), DefaultWorker)
	if hint := didYouMean(f.Worker, all); hint != "" && !slices.Contains(all, f.Worker) {
		return f.knowWorker()
	}
	return nil
}

// SealingSecret returns the secret that seals the state of hosts without sessions. No host may have it, because with it
// anybody can make handles. While it stays the same, the state survives a restart. It returns nil if there is no
// readable secret; the state then ends with the process.
func (f Files) SealingSecret() []byte {
	held, err := credentials.Open(f.DataDir)
	if err != nil {
		return nil // code that needs the credentials reports what is wrong with them
	}
	token, err := held.Token(credentials.Worker)
	if err != nil {
		return nil
	}
	return []byte(token)
}

// Exports returns the folder that records how far the audit trail was sent.
func (f Files) Exports() string { return filepath.Join(f.DataDir, "export") }

// checkExports checks where the audit trail is sent, and makes its paths absolute.
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
