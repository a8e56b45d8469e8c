package config

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adrg/xdg"

	"callgate/internal/supply"
	"callgate/internal/upstream"
	"callgate/internal/upstream/environment"
	"callgate/proxy"
)

// enforceLock lets the server start only as the lock allows. Each start checks the lock file again.
func (c *Config) enforceLock(s *ServerConfig, server *proxy.Server, lock *supply.Lock) error {
	it, err := c.Supplied(s, server.Upstream)
	if err != nil {
		return err
	}
	if lock != nil {
		if e := lock.Of(it.Name, it.From); e != nil {
			server.Locked = e.Tools
		}
	}
	terms := upstream.TermsOf(&server.Upstream)
	terms.Check = func(ctx context.Context) (upstream.Launch, error) {
		return c.Examiner().Check(ctx, c.Files().Lock(), it)
	}
	terms.Checked = func(ctx context.Context) error { return supply.Changed(ctx, c.Files().Lock()) }
	return nil
}

// Examiner returns what examines the programs that servers would run.
func (c *Config) Examiner() *supply.Examiner { return &supply.Examiner{Wall: c.CommonWall()} }

// Supplied returns the server as callgate.lock sees it. u is what Assemble made from it.
func (c *Config) Supplied(s *ServerConfig, u upstream.Config) (*supply.Server, error) {
	env, err := environment.Of(os.Environ(), u.Env, u.InheritEnv)
	if err != nil {
		return nil, err
	}
	it := &supply.Server{
		Name: s.Name, From: s.File, URL: s.URL, Command: u.Command, Args: u.Args, Dir: u.Dir, Env: env, Home: xdg.Home,
	}
	if abs, err := filepath.Abs(ExpandHome(s.File)); err == nil {
		it.From = abs
	}
	if rel, err := filepath.Rel(filepath.Dir(c.Files().Lock()), it.From); err == nil && filepath.IsLocal(rel) {
		it.From = filepath.ToSlash(rel)
	}
	if s.Command != "" {
		it.Words = append([]string{s.Command}, s.Args...)
	}
	for _, list := range []struct {
		entries   []string
		separator string
	}{{s.Env, "="}, {s.Headers, ":"}} {
		for _, entry := range list.entries {
			name, _, _ := strings.Cut(entry, list.separator)
			it.Variables = append(it.Variables, strings.TrimSpace(name))
		}
	}
	if s.InheritEnv {
		it.Variables = append(it.Variables, "*")
	}
	slices.Sort(it.Variables)
	it.Variables = slices.Compact(it.Variables)
	return it, nil
}
