package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
)

// Standing is a tool that a host is offered, and the state of its definition.
type Standing struct {
	Tool      *tools.Tool
	Redefined *gate.Redefinition // nil if the definition is the accepted one
}

// Errors of Accept.
var (
	ErrNoTool     = errors.New("no server of the session offers a tool of this name")
	ErrDefinition = errors.New("the tool's definition has changed meanwhile")
)

// Standings returns the session's id, and the tools that the session is offered, by qualified name. A sessionID of ""
// means the oldest session. The returned id is "" if no host is connected.
func (p *Proxy) Standings(sessionID string) (string, []Standing, error) {
	h, err := p.hostOf(sessionID)
	if h == nil || err != nil {
		return "", nil, err
	}
	var standings []Standing
	t := h.offers.now.Load()
	for _, o := range t.Tools {
		e := t.entry(o)
		standings = append(standings, Standing{e.Tool, h.offers.maker.Redefined(e.Offer)})
	}
	slices.SortFunc(standings, func(a, b Standing) int { return cmp.Compare(a.Tool.Qualified, b.Tool.Qualified) })
	return h.session.ID(), standings, nil
}

// Accept pins the current definition of a tool, if hash matches it, and ends the quarantine. Hosts notice with their
// next call.
func (p *Proxy) Accept(sessionID, qualified, hash string) error {
	h, err := p.hostOf(sessionID)
	switch {
	case err != nil:
		return err
	case h == nil:
		return ErrNoTool
	case p.o.Pins == nil:
		return errors.New("definitions are not remembered here")
	}
	t := h.offers.now.Load()
	for _, o := range t.Tools {
		e := t.entry(o)
		if e.Tool.Qualified != qualified {
			continue
		}
		if e.Tool.Hash != hash {
			return ErrDefinition
		}
		return h.offers.maker.Accept(e.Offer)
	}
	return ErrNoTool
}

// Offered is one tool of a surveyed server.
type Offered struct {
	server     Server
	name       string
	definition []byte
}

// Identity returns the name under which the tool's definition is pinned.
func (o Offered) Identity() string { return o.server.Tools.Identity }

// Survey starts the server as a host without capabilities would, lists its tools, and caches the list for hosts. wall
// names the guard that kept the server's process away from callgate; it is "" if there was no guard.
func Survey(ctx context.Context, s Server, cacheDir, version string) (offered []Offered, wall string, err error) {
	u := upstream.New(s.Upstream, upstream.Options{CacheDir: cacheDir})
	defer u.Close()
	u.Start(upstream.Hello{
		ProtocolVersion: latestVersion, Capabilities: []byte("{}"),
		ClientInfo: append(append([]byte(`{"name":"callgate","version":`), jsonx.Quote(version)...), '}'),
	})
	info, err := u.Ready(ctx)
	if err != nil {
		return nil, "", err
	}
	wall = u.Status().Wall
	if !info.Declares(upstream.Tools) {
		return nil, wall, nil
	}
	list, err := u.Lists.Fresh(ctx, upstream.Tools)
	if err != nil {
		return nil, wall, fmt.Errorf("its tools could not be listed: %w", err)
	}
	return offersOf(s, list.Items), wall, nil
}

// Remembered returns the tools that the server listed last; ok is false if none are cached. It asks no server.
func Remembered(s Server, cacheDir string) (offered []Offered, ok bool) {
	items, ok := upstream.Remembered(s.Upstream, upstream.Tools, cacheDir)
	return offersOf(s, items), ok
}

// Accepted returns the server's tools with the definitions that were accepted last. It asks no server.
func Accepted(s Server, pins *tools.Pins) ([]Offered, error) {
	pinned, err := pins.Of(s.Tools.Identity)
	if err != nil {
		return nil, err
	}
	var items []upstream.Item
	for _, name := range slices.Sorted(pinned.Tools()) {
		items = append(items, upstream.Item{Key: name, Raw: pinned.Definition(name)})
	}
	return offersOf(s, items), nil
}

// offersOf turns items into offers. It leaves out the tools that the server's choice leaves out.
func offersOf(s Server, all []upstream.Item) []Offered {
	items := catalogue.Chosen(&s.Choice, upstream.Tools, all)
	offered := make([]Offered, len(items))
	for i, item := range items {
		offered[i] = Offered{server: s, name: item.Key, definition: item.Raw}
	}
	return offered
}

// Name returns the tools of all surveyed servers under the names that hosts and rules use.
func Name(all []Offered) []*tools.Tool {
	origins := make([]catalogue.Origin, len(all))
	for i, o := range all {
		origins[i] = catalogue.Origin{Alias: o.server.Tools.Name, Name: o.server.Choice.Name(o.name)}
	}
	described := make([]*tools.Tool, len(all))
	for i, name := range catalogue.Qualify(origins) {
		described[i] = tools.Describe(all[i].server.Tools, all[i].name, name, all[i].definition)
		described[i].Plain = origins[i].Plain()
	}
	return described
}
