package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
)

// permissionsFile is where the worker's rules are.
func (c *config) permissionsFile() string {
	return filepath.Join(c.DataDir, "workers", c.Worker, "permissions.jsonc")
}

// expandHome replaces a leading ~.
func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(xdg.Home, rest)
	}
	return path
}

// cacheDir is where upstreams are remembered between runs.
func (c *config) cacheDir() string { return filepath.Join(c.DataDir, "cache") }

// ports are those of the side server as far as the configuration names them.
func (c *config) ports() []string {
	if _, port, err := net.SplitHostPort(c.Listen); err == nil && port != "0" {
		return []string{port}
	}
	return nil
}

// pinsFile is where tool definitions are remembered as people have accepted them.
func (c *config) pinsFile() string { return filepath.Join(c.DataDir, "pins.json") }

// ownFiles are the files that no tool may touch.
func (c *config) ownFiles() []string {
	files := append([]string{c.DataDir, filepath.Join(xdg.ConfigHome, "callgate")}, c.hooks.Files()...)
	if c.file != "" {
		files = append(files, c.file)
	}
	for _, path := range c.MCPConfig {
		files = append(files, expandHome(path))
	}
	for _, token := range c.MCPTokens {
		files = append(files, expandHome(token.File))
	}
	for i := range c.Servers {
		files = append(files, c.Servers[i].OAuth.files()...)
	}
	for _, path := range []string{c.LogFile, c.TLS.Key} {
		if path != "" {
			files = append(files, expandHome(path))
		}
	}
	if c.AuditAnchor != "" && c.AuditAnchor != "syslog" {
		files = append(files, expandHome(c.AuditAnchor))
	}
	return files
}
