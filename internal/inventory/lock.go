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

// Drift is what of a server is not as callgate.lock says.
type Drift struct {
	Server  string   `json:"server"`
	Changes []string `json:"changes"` // none when it is as locked
}

// lockedServer is a configured server beside its entry.
type lockedServer struct {
	proxy.Server
	it     *supply.Server
	locked *supply.Entry // nil when there is none
}

// lockable are the enabled servers, those that are named when any is, and the lock: an empty one when there is none.
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

// Verify holds servers against the lock, those that are named or all. It starts the ones that are as locked, for their
// tools.
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

// drift lists what of the server is not as locked.
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

// definitions starts the server and returns the digests of its tools' definitions. held are those that read like an
// attack, with the reason; they are left out.
func (s *lockedServer) definitions(ctx context.Context, c *config.Config) (digests, held map[string]string, err error) {
	server := s.Server
	terms := upstream.TermsOf(&server.Upstream)
	terms.Check, terms.Checked = nil, nil // it was looked at
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

// LockOptions say what Relock may accept.
type LockOptions struct {
	Update   bool          // accept what changed; else only what is not in the lock yet
	Cooldown time.Duration // versions that are younger are not accepted
}

// Relock writes servers into the lock, those that are named or all, and tells w what it accepted. Servers that it does
// not accept are an error in the end; the others are locked all the same.
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

// accept returns the entry that the server is to have, and what is new about it; nil when it stays as it is.
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
	// Starting it has installed what was not there: that has to be what was looked at.
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
		changes = append(changes, whole[len(changes):]...) // those of tools come last
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
