package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adrg/xdg"

	"callgate/internal/guard"
	"callgate/internal/sandbox"
	"callgate/internal/upstream"
	"callgate/permissions"
)

// onOff takes the words that YAML makes of a bare on and off.
func onOff(word string) string {
	switch word {
	case "true", "1":
		return string(guard.On)
	case "false", "0":
		return string(guard.Off)
	}
	return word
}

// commonWall keeps programs from what is callgate's own. Hooks and checks run behind it, and servers behind a stricter one.
// Files that a project shares with callgate stay readable: hiding them would make them look deleted.
func (c *config) commonWall() *guard.Wall {
	mode, _ := guard.ParseMode(onOff(c.Guard)) // was checked
	own := filepath.Join(xdg.ConfigHome, "callgate")
	_ = os.MkdirAll(own, 0o700) // else a program could make it, with a configuration in it; what cannot be made here, nobody makes
	w := &guard.Wall{Mode: mode, Hidden: []string{c.DataDir, filepath.Join(own, "servers")}, Fixed: append([]string{own}, c.hooks.Files()...)}
	if program, err := os.Executable(); err == nil {
		w.Fixed = append(w.Fixed, program)
	}
	for _, path := range []string{c.LogFile, c.AuditAnchor} {
		if path != "" && path != "syslog" {
			w.Fixed = append(w.Fixed, expandHome(path))
		}
	}
	for _, token := range c.MCPTokens {
		w.Hidden = append(w.Hidden, expandHome(token.File))
	}
	for i := range c.Servers {
		w.Hidden = append(w.Hidden, c.Servers[i].OAuth.files()...)
	}
	if c.TLS.Key != "" {
		w.Hidden = append(w.Hidden, expandHome(c.TLS.Key))
	}
	for _, path := range append([]string{c.file}, c.MCPConfig...) {
		if path != "" {
			w.Fixed = append(w.Fixed, expandHome(path))
		}
	}
	for _, list := range [][]string{w.Hidden, w.Fixed} {
		for i, path := range list {
			if abs, err := filepath.Abs(path); err == nil {
				list[i] = abs
			}
		}
	}
	return w
}

// enclose says what the server runs behind, and what it reaches when it is in a sandbox.
func (c *config) enclose(s *serverConfig, u *upstream.Config) (err error) {
	if u.Wall, err = c.wall(s); err != nil {
		return err
	}
	level, err := sandbox.ParseLevel(onOff(s.Sandbox))
	if err != nil {
		return err
	}
	if level == sandbox.Off {
		if len(s.Read)+len(s.Write) > 0 || s.Network != "" || s.Limits != (sandboxLimits{}) {
			return errors.New("read, write, network and limits are for a server with sandbox: workspace or strict")
		}
		return nil
	}
	o := sandbox.Options{Level: level, Home: xdg.Home, Dir: u.Dir, Args: u.Args, Limits: guard.Limits{
		Memory: s.Limits.MemoryBytes, FileSize: s.Limits.FileBytes, Processes: s.Limits.Processes, OpenFiles: s.Limits.OpenFiles, CPU: s.Limits.CPU,
	}}
	if s.Limits.MemoryBytes < 0 || s.Limits.FileBytes < 0 || s.Limits.Processes < 0 || s.Limits.OpenFiles < 0 || s.Limits.CPU < 0 || s.Limits.CPU%time.Second != 0 {
		return errors.New("limits: use numbers above 0 and whole seconds, or leave them out")
	}
	if o.Net, err = guard.ParseNet(s.Network); err != nil {
		return err
	}
	if s.Network == "" && level == sandbox.Workspace {
		o.Net = guard.ProxyNet
	}
	if s.URL != "" {
		return errors.New("sandbox is for servers with a command")
	}
	if s.Shared && o.Net == guard.ProxyNet {
		return errors.New("a shared server in a sandbox has no session whose people could be asked about its connections: use network: none or open")
	}
	for _, list := range []struct {
		key  string
		from []string
		to   *[]string
	}{{"read", s.Read, &o.Read}, {"write", s.Write, &o.Write}} {
		for _, path := range list.from {
			path = expandHome(path)
			if !filepath.IsAbs(path) {
				path = filepath.Join(u.Dir, path)
			}
			*list.to = append(*list.to, filepath.Clean(path))
		}
	}
	wall := *u.Wall
	u.Sandbox = func(path string) (*guard.Wall, error) {
		policy, err := permissions.OpenStore(c.permissionsFile(), permissions.StoreOptions{Home: xdg.Home}).Policy()
		if err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		now := o
		now.Rules = policy.File
		return sandbox.Wall(wall, path, now), nil
	}
	return nil
}

// wall is what a server runs behind: it does not reach the sockets of its user's session either, unless it is granted.
func (c *config) wall(s *serverConfig) (*guard.Wall, error) {
	w := c.commonWall()
	if s.Guard != "" {
		mode, err := guard.ParseMode(onOff(s.Guard))
		if err != nil {
			return nil, err
		}
		w.Mode = mode
	}
	for _, g := range s.Grants {
		if !slices.Contains(guard.Grants(), g) && len(guard.Grants()) > 0 {
			return nil, fmt.Errorf("grants: %q: use %v", g, guard.Grants())
		}
	}
	w.CloseSockets(s.Grants, s.Command)
	return w, nil
}
