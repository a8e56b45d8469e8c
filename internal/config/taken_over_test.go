package config

import (
	"path/filepath"
	"slices"
	"testing"

	"callgate/internal/hooks"
	"callgate/internal/siem"
)

// TestTakenOver changes where callgate's files are. Until a restart, the files that it runs with are also kept away
// from tools and servers.
func TestTakenOver(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	started := &Config{DataDir: in("data"), Worker: "w", Guard: "on", LogFile: in("log"), HookRunner: &hooks.Runner{}}
	next := &Config{DataDir: in("other"), Worker: "x", Guard: "off", LogFile: in("new-log"), HookRunner: &hooks.Runner{}}
	c := next.TakenOver(started)
	if c.DataDir != in("data") || c.Worker != "w" || c.Guard != "on" || next.DataDir != in("other") {
		t.Errorf("it runs with data in %s, worker %s, guard %s", c.DataDir, c.Worker, c.Guard)
	}
	wall := c.CommonWall()
	if !slices.Contains(wall.Hidden, in("data")) || !slices.Contains(wall.Fixed, in("log")) || !slices.Contains(wall.Fixed, in("new-log")) {
		t.Errorf("servers are kept from %v, and from writing %v", wall.Hidden, wall.Fixed)
	}
	if own := c.OwnFiles(); !slices.Contains(own, in("data")) || !slices.Contains(own, in("log")) || !slices.Contains(own, in("new-log")) {
		t.Errorf("tools are kept from %v", own)
	}
}

// TestSecretsBehindTheWall checks that servers and tools cannot read callgate's secret files, wherever they are.
func TestSecretsBehindTheWall(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	c := &Config{DataDir: in("data"), Export: []siem.Config{{Name: "web", Header: in("header"), Keys: in("keys")}}}
	c.Cluster.Key, c.Cluster.Creds, c.Cluster.CertKey = in("key"), in("creds"), in("certificate-key")
	hidden, own := c.CommonWall().Hidden, c.OwnFiles()
	for _, name := range []string{"header", "keys", "key", "creds", "certificate-key"} {
		if !slices.Contains(hidden, in(name)) {
			t.Errorf("servers can read the file %s", name)
		}
		if !slices.Contains(own, in(name)) {
			t.Errorf("tools can read the file %s", name)
		}
	}
}
