package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/adrg/xdg"

	"callgate/internal/guard"
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
