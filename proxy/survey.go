package proxy

import (
	"context"
	"fmt"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
)

// Offered is one tool of a surveyed server.
type Offered struct {
	server     Server
	name       string
	definition []byte
}

// Identity is what the tool's definition is pinned under.
func (o Offered) Identity() string { return o.server.Tools.Identity }

// Survey starts the server as a host without capabilities would, and lists its tools. What it learns is
// cached for hosts.
func Survey(ctx context.Context, s Server, cacheDir, version string) ([]Offered, error) {
	u := upstream.New(s.Upstream, upstream.Options{CacheDir: cacheDir})
	defer u.Close()
	u.Start(upstream.Hello{
		ProtocolVersion: latestVersion, Capabilities: []byte("{}"),
		ClientInfo: append(append([]byte(`{"name":"callgate","version":`), jsonx.Quote(version)...), '}'),
	})
	info, err := u.Ready(ctx)
	if err != nil {
		return nil, err
	}
	if !info.Declares(upstream.Tools) {
		return nil, nil
	}
	list, err := u.Fresh(ctx, upstream.Tools)
	if err != nil {
		return nil, fmt.Errorf("its tools could not be listed: %w", err)
	}
	items := s.Choice.Items(upstream.Tools, list.Items)
	offered := make([]Offered, len(items))
	for i, item := range items {
		offered[i] = Offered{server: s, name: item.Key, definition: item.Raw}
	}
	return offered, nil
}

// Name gives the tools of all surveyed servers the names that hosts and rules know them by.
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
