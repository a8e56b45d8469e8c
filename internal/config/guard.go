package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adrg/xdg"

	"callgate/internal/guard"
	"callgate/internal/sandbox"
	"callgate/internal/supply"
	"callgate/internal/upstream"
	"callgate/internal/vault"
	"callgate/permissions/store"
)

// onOff undoes what YAML makes of a bare on and off.
func onOff(word string) string {
	switch word {
	case "true", "1":
		return string(guard.On)
	case "false", "0":
		return string(guard.Off)
	}
	return word
}

// CommonWall returns the wall that keeps programs away from callgate's own files. Hooks and checks run behind it, and
// servers behind a stricter one. Files shared with a project stay readable, because hidden files would look deleted.
func (c *Config) CommonWall() *guard.Wall {
	mode, _ := guard.ParseMode(onOff(c.Guard)) // was checked before
	own := filepath.Join(xdg.ConfigHome, "callgate")
	_ = os.MkdirAll(own, 0o700) // otherwise a program could create it, with a configuration in it; if callgate cannot create it, nobody can
	w := &guard.Wall{Mode: mode, Hidden: []string{c.DataDir, filepath.Join(own, "servers")}, Fixed: append([]string{own}, c.HookRunner.Files()...)}
	if c.base != "" {
		w.Hidden = append(w.Hidden, c.base)
	}
	if program, err := os.Executable(); err == nil {
		w.Fixed = append(w.Fixed, program)
	}
	secret, plain := filesElsewhere(c)
	w.Hidden, w.Fixed = append(w.Hidden, secret...), append(w.Fixed, plain...)
	if c.started != nil {
		started := c.started.CommonWall()
		w.Hidden, w.Fixed = append(w.Hidden, started.Hidden...), append(w.Fixed, started.Fixed...)
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

// Enclose sets what the server runs behind, and what it can reach if it is in a sandbox.
func (c *Config) Enclose(s *ServerConfig, u *upstream.Config) (err error) {
	terms := upstream.TermsOf(u)
	if terms.Wall, err = c.wall(s); err != nil {
		return err
	}
	level, err := sandbox.ParseLevel(onOff(s.Sandbox))
	if err != nil {
		return err
	}
	terms.Secret, terms.Intercept = vault.At(c.DataDir).Get, s.Intercept
	proxied := level != sandbox.Off && (s.Network == string(guard.ProxyNet) || s.Network == "" && level == sandbox.Workspace)
	if err := s.checkSecrets(proxied); err != nil {
		return err
	}
	if level == sandbox.Off {
		if len(s.Read)+len(s.Write) > 0 || s.Network != "" || s.Limits != (sandboxLimits{}) {
			return errors.New("read, write, network and limits are for a server with sandbox: workspace or strict")
		}
		return nil
	}
	o, err := s.sandbox(level, u)
	if err != nil {
		return err
	}
	wall := *terms.Wall
	terms.Sandbox = func(path string) (*guard.Wall, error) {
		policy, err := store.Open(c.Files().Permissions(), store.Options{Home: xdg.Home}).Policy()
		if err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
		now := o
		now.Rules, now.Grants = policy.File, policy.Grants
		return sandbox.Wall(wall, path, now), nil
	}
	terms.Narrowed = func(ctx context.Context) error { return narrowed(ctx, c.Files().Permissions(), terms.Sandbox) }
	return nil
}

// checkSecrets checks the secrets in a server's environment. proxied tells whether a proxy can add them to requests.
func (s *ServerConfig) checkSecrets(proxied bool) error {
	held := false
	for _, entry := range s.Env {
		secret, ok := upstream.SecretOf(entry)
		if !ok {
			continue
		}
		if err := vault.CheckName(secret.Name); err != nil {
			return err
		}
		if secret.Held && secret.Host == "" {
			return fmt.Errorf("env %q: name the host of the secret behind the @, or leave the @ out", entry)
		}
		if secret.Held && !proxied {
			return fmt.Errorf("env %q: a secret for a host needs a sandbox with network: proxy", entry)
		}
		held = held || secret.Held
	}
	if s.Intercept && !held {
		return errors.New("intercept is only for secrets of one host: write NAME=secret:NAME@HOST in env")
	}
	return nil
}

// narrowed returns nil as soon as the rules in a file make a sandbox smaller than it was at the call.
func narrowed(ctx context.Context, file string, wall func(program string) (*guard.Wall, error)) error {
	was, err := wall("")
	for {
		if err != nil { // the rules cannot be read, and nothing may run meanwhile
			was, err = wall("")
		}
		if err := supply.Changed(ctx, file); err != nil {
			return err
		}
		if is, now := wall(""); err == nil && now == nil && (is.Box.Narrower(was.Box) || closes(is.Hidden, was.Hidden) || closes(is.Fixed, was.Fixed)) {
			return nil
		}
	}
}

// closes reports whether a list of closed paths has one that the earlier list had not.
func closes(is, was []string) bool {
	return slices.ContainsFunc(is, func(path string) bool { return !slices.Contains(was, path) })
}

// sandbox returns the options of the server's sandbox, except the rules.
func (s *ServerConfig) sandbox(level sandbox.Level, u *upstream.Config) (o sandbox.Options, err error) {
	l := &s.Limits
	o = sandbox.Options{Level: level, Server: s.Name, Home: xdg.Home, Dir: u.Dir, Args: u.Args, Limits: guard.Limits{
		Memory: l.MemoryBytes, FileSize: l.FileBytes, Processes: l.Processes, OpenFiles: l.OpenFiles, CPU: l.CPU,
	}}
	if min(l.MemoryBytes, l.FileBytes, int64(l.Processes), int64(l.OpenFiles), int64(l.CPU)) < 0 || l.CPU%time.Second != 0 {
		return o, errors.New("limits: use numbers above 0 and whole seconds, or leave them out")
	}
	if o.Net, err = guard.ParseNet(s.Network); err != nil {
		return o, err
	}
	if s.Network == "" && level == sandbox.Workspace {
		o.Net = guard.ProxyNet
	}
	if s.URL != "" {
		return o, errors.New("sandbox is for servers with a command")
	}
	if s.Shared && o.Net == guard.ProxyNet {
		return o, errors.New("a shared server in a sandbox has no session whose people could be asked about its connections: use network: none or open")
	}
	beside := func(paths []string) (list []string) {
		for _, path := range paths {
			if path = ExpandHome(path); !filepath.IsAbs(path) {
				path = filepath.Join(u.Dir, path)
			}
			list = append(list, filepath.Clean(path))
		}
		return list
	}
	o.Read, o.Write = beside(s.Read), beside(s.Write)
	return o, nil
}

// wall returns what a server runs behind. It also blocks the sockets of the user's session, unless they are granted.
func (c *Config) wall(s *ServerConfig) (*guard.Wall, error) {
	w := c.CommonWall()
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
