package config

import (
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
)

// ExpandHome replaces a leading ~.
func ExpandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		return filepath.Join(xdg.Home, rest)
	}
	return path
}

// Ports are those of the side server as far as the configuration names them.
func (c *Config) Ports() []string {
	if _, port, err := net.SplitHostPort(c.Listen); err == nil && port != "0" {
		return []string{port}
	}
	return nil
}

// OwnFiles are the files that no tool may touch.
func (c *Config) OwnFiles() []string {
	files := append([]string{c.DataDir, filepath.Join(xdg.ConfigHome, "callgate"), c.Files().Lock()}, c.HookRunner.Files()...)
	if c.base != "" {
		files = append(files, c.base)
	}
	if c.File != "" {
		files = append(files, c.File)
	}
	for _, path := range c.MCPConfig {
		files = append(files, ExpandHome(path))
	}
	files = append(files, c.Cluster.files()...)
	for _, token := range c.MCPTokens {
		files = append(files, ExpandHome(token.File))
	}
	for _, one := range c.Export {
		if one.Header != "" {
			files = append(files, one.Header)
		}
	}
	for i := range c.Servers {
		files = append(files, c.Servers[i].OAuth.files()...)
	}
	for _, path := range []string{c.LogFile, c.TLS.Key, c.Approvers.OIDC.ClientSecret} {
		if path != "" {
			files = append(files, ExpandHome(path))
		}
	}
	if c.AuditAnchor != "" && c.AuditAnchor != "syslog" {
		files = append(files, ExpandHome(c.AuditAnchor))
	}
	if c.started != nil {
		files = append(files, c.started.OwnFiles()...)
	}
	return files
}

// TakenOver is the configuration as a callgate has it that was started with another: where its data is, and how it
// keeps servers from its files, stays as it was until a restart. The files of both are its own.
func (c *Config) TakenOver(started *Config) *Config {
	taken := *c
	taken.DataDir, taken.base, taken.Worker, taken.Guard, taken.started = started.DataDir, started.base, started.Worker, started.Guard, started
	return &taken
}
