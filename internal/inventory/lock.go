package inventory

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"callgate/gate/tools/definitions"
	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/supply"
	"callgate/internal/upstream"
	"callgate/internal/visible"
	"callgate/proxy"
)

// Drift lists how a server differs from callgate.lock.
type Drift struct {
	Server  string   `json:"server"`
	Changes []string `json:"changes"` // none if it is as locked
}

// lockedServer is a configured server with its lock entry.
type lockedServer struct {
	proxy.Server
	it     *supply.Server
	locked *supply.Entry // nil if there is none
}

// lockable returns the enabled servers (only the named ones, if any are named) and the lock. Without a lock file, there
// is false and lock empty.
func lockable(c *config.Config, names []string) (servers []lockedServer, lock *supply.Lock, there bool, err error) {
	configured, err := c.ServerConfigs()
	if err != nil {
		return nil, nil, false, err
	}
	assembled, err := c.ProxyServers()
	if err != nil {
		return nil, nil, false, err
	}
	if lock, err = supply.Load(c.Files().Lock()); err != nil {
		return nil, nil, false, err
	}
	if there = lock != nil; !there {
		lock = &supply.Lock{}
	}
	var known []string
	for i := range configured {
		s := &configured[i]
		at := slices.IndexFunc(assembled, func(p proxy.Server) bool { return p.Upstream.Name == s.Name })
		if s.Enabled != nil && !*s.Enabled || at < 0 {
			continue
		}
		known = append(known, s.Name)
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		it, err := c.Supplied(s, assembled[at].Upstream)
		if err != nil {
			return nil, nil, false, err
		}
		servers = append(servers, lockedServer{assembled[at], it, lock.Of(it.Name, it.From)})
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, nil, false, fmt.Errorf("no server is called %q: use one of %v", name, known)
		}
	}
	return servers, lock, there, nil
}

// Verify compares servers with the lock: the named ones, or all if none is named. It starts those that are as locked,
// to compare their tools.
func Verify(ctx context.Context, c *config.Config, names []string) ([]Drift, error) {
	servers, _, there, err := lockable(c, names)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("there is no %s: make it with callgate servers lock", c.Files().Lock())
	}
	x := c.Examiner()
	found := make([]Drift, 0, len(servers))
	for i := range servers {
		s := &servers[i]
		changes, err := s.drift(ctx, c, x)
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", s.it.Name, err)
		}
		d := Drift{Server: s.it.Name, Changes: []string{}}
		for _, change := range changes {
			d.Changes = append(d.Changes, change.String())
		}
		found = append(found, d)
	}
	return found, nil
}

// drift lists how the server differs from its lock.
func (s *lockedServer) drift(ctx context.Context, c *config.Config, x *supply.Examiner) ([]supply.Change, error) {
	if s.locked == nil {
		return []supply.Change{{What: "not in the lock"}}, nil
	}
	now, err := x.Examine(ctx, s.it)
	if err != nil {
		return nil, err
	}
	changes := supply.Compare(s.locked, now)
	if len(changes) == 0 && s.locked.Tools != nil {
		if now.Tools, _, err = s.definitions(ctx, c); err != nil {
			return nil, err
		}
		return supply.Compare(s.locked, now), nil
	}
	x.Explain(ctx, s.it, changes, time.Now())
	return changes, nil
}

// definitions starts the server and returns the digests of its tools' definitions. It leaves out definitions that read
// like an attack, and returns them in held, with the reason.
func (s *lockedServer) definitions(ctx context.Context, c *config.Config) (digests, held map[string]string, err error) {
	server := s.Server
	terms := upstream.TermsOf(&server.Upstream)
	terms.Check, terms.Checked = nil, nil // the caller has already checked it
	offered, _, err := proxy.Survey(ctx, server, c.Files().Cache(), app.Version)
	if err != nil {
		return nil, nil, errors.New(whyDown(ctx, err))
	}
	digests, held = map[string]string{}, map[string]string{}
	for _, t := range proxy.Name(offered) {
		if why := definitions.Poisoned(t.Definition); why != "" && (s.locked == nil || s.locked.Tools[t.Name] != t.Hash) {
			held[t.Name] = why
			continue
		}
		digests[t.Name] = t.Hash
	}
	return digests, held, nil
}

// LockOptions limits what Relock may accept.
type LockOptions struct {
	Update   bool          // accept changes too, not only servers that the lock does not have yet
	Cooldown time.Duration // do not accept versions younger than this
}

// Relock writes servers into the lock (the named ones, or all if none is named), and tells w what it accepted. It
// returns an error for the servers that it does not accept, but locks the others all the same.
func Relock(ctx context.Context, w io.Writer, c *config.Config, names []string, o LockOptions) error {
	servers, lock, _, err := lockable(c, names)
	if err != nil {
		return err
	}
	x := c.Examiner()
	var failed error
	for i := range servers {
		s := &servers[i]
		e, changes, err := s.accept(ctx, w, c, x, o)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("server %s: %w", s.it.Name, err))
			continue
		}
		if e == nil {
			fmt.Fprintf(w, "%s: as locked\n", s.it.Name)
			continue
		}
		lock.Put(*e)
		fmt.Fprintf(w, "%s: locked, %s\n", s.it.Name, describe(e))
		for _, change := range changes {
			fmt.Fprintf(w, "  %s\n", visible.Text(change.String()))
		}
	}
	if len(names) == 0 {
		lock.Servers = slices.DeleteFunc(lock.Servers, func(e supply.Entry) bool {
			gone := !slices.ContainsFunc(servers, func(s lockedServer) bool { return s.it.Name == e.Name && s.it.From == e.From })
			if gone = gone && slices.ContainsFunc(servers, func(s lockedServer) bool { return s.it.From == e.From }); gone {
				fmt.Fprintf(w, "%s: no longer configured, taken out\n", e.Name)
			}
			return gone
		})
	}
	return errors.Join(failed, lock.Save(c.Files().Lock()))
}

// accept returns the server's new entry, and what is new in it; nil if the old one stays.
func (s *lockedServer) accept(ctx context.Context, w io.Writer, c *config.Config, x *supply.Examiner, o LockOptions) (*supply.Entry, []supply.Change, error) {
	now, err := x.Examine(ctx, s.it)
	if err != nil {
		return nil, nil, err
	}
	was := s.locked
	if was == nil {
		was = &supply.Entry{Command: now.Command, URL: now.URL, Variables: now.Variables, Files: now.Files, Packages: now.Packages}
	}
	changes := supply.Compare(was, now)
	if s.locked != nil && len(changes) > 0 && !o.Update {
		return nil, nil, fmt.Errorf("%s; accept it with callgate servers update %s", visible.Count(len(changes), "change"), s.it.Name)
	}
	if s.locked == nil {
		was = &supply.Entry{Package: now.Package}
	}
	young, err := x.Young(ctx, s.it, was, now, o.Cooldown)
	if err != nil {
		return nil, nil, err
	}
	if len(young) > 0 {
		return nil, nil, fmt.Errorf("published less than %s ago: %v; wait, or give --cooldown 0s", o.Cooldown, young)
	}
	x.Explain(ctx, s.it, changes, time.Now())
	digests, held, err := s.definitions(ctx, c)
	if err != nil {
		return nil, nil, fmt.Errorf("it does not start, so its tools cannot be looked at: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(held)) {
		fmt.Fprintf(w, "%s: tool %s waits for callgate tools accept: %s\n", s.it.Name, visible.Text(name), held[name])
	}
	// Starting the server has installed missing packages. They must be the ones that were examined.
	installed, err := x.Examine(ctx, s.it)
	if err != nil {
		return nil, nil, err
	}
	if other := supply.Compare(now, installed); len(other) > 0 {
		return nil, nil, fmt.Errorf("it changed while it was looked at: %s", other[0])
	}
	installed.Merge(now)
	installed.Tools, installed.At = digests, time.Now().UTC().Truncate(time.Second)
	if s.locked != nil {
		whole := supply.Compare(s.locked, installed)
		if len(whole) == 0 {
			return nil, nil, nil
		}
		changes = append(changes, whole[len(changes):]...) // changes of tools come last
	}
	return installed, changes, nil
}

func describe(e *supply.Entry) string {
	text := visible.Count(len(e.Tools), "tool")
	if len(e.Packages) > 0 {
		text = visible.Count(len(e.Packages), "package") + ", " + text
	}
	if len(e.Files) > 0 {
		text = visible.Count(len(e.Files), "file") + ", " + text
	}
	if e.Version != "" {
		text = e.Package + " " + e.Version + ", " + text
	}
	return text
}
