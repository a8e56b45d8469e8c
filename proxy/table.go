package proxy

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"time"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/upstream"
)

// table is what the host is offered at one moment: every name with where it leads. Lists and look-ups use
// the same table, so nothing is listed that cannot be called, or called that is not listed. It is immutable.
type table struct {
	*catalogue
	servers []*server // of this host, where the catalogue has their numbers
}

// catalogue is what a table says of no host in particular. Sessions with the same view of servers that say the same
// share one.
type catalogue struct {
	tools     map[string]*offer
	names     []string // of the tools, qualified
	prompts   map[string]*offer
	resources map[string]int // by URI; the first server that offers one has it
	templates []template
	results   [len(upstream.Kinds)][]byte // the raw results of the four list methods
}

// offer is one tool or prompt.
type offer struct {
	from int         // the number of its server
	tool *tools.Tool // of a prompt: the prompt_get kind
	name string      // the upstream's own

	shown      string // of a tool: the name that the host sees
	definition []byte // of a tool: the upstream's own

	taskSupport string // of a tool: "optional" or "required" where its calls can be tasks, else ""

	redefined *gate.Redefinition // the definition is not the one that was accepted; else nil
	steered   *steering          // a definition in quarantine speaks of the tool; else nil
}

type template struct {
	uri  string
	from int
}

// entry is an offer to one host.
type entry struct {
	*offer
	server *server
}

func (t *table) entry(o *offer) *entry {
	if o == nil {
		return nil
	}
	return &entry{o, t.servers[o.from]}
}

func (t *table) tool(shown string) *entry   { return t.entry(t.tools[shown]) }
func (t *table) prompt(shown string) *entry { return t.entry(t.prompts[shown]) }

// descriptionKey is all that a description of a tool depends on: two definitions that are the same are one tool, from
// one table to the next and for all sessions.
type descriptionKey struct {
	guest     *server // of tools that a client brought: what is known of the server is its session's
	alias     string
	qualified string
	hash      [sha256.Size]byte
}

func (h *host) describe(s *server, name, qualified string, definition []byte) *tools.Tool {
	key := descriptionKey{alias: s.alias, qualified: qualified, hash: sha256.Sum256(definition)}
	if s.guest {
		key.guest = s
	}
	return h.p.described.Get(key, func() *tools.Tool {
		t := tools.Describe(s.about, name, qualified, definition)
		t.Plain = origin{s.alias, s.choice.name(name)}.plain()
		return t
	})
}

// rebuild makes the table from what the servers list now.
func (h *host) rebuild() {
	h.building.Lock()
	defer h.building.Unlock()
	unlisted := h.unlisted() // before the lists are read: what comes in between is listed and counts as unlisted
	seen := h.look()
	named := seen.named(upstream.Tools)
	unlike := map[*server]map[string]*gate.Redefinition{}
	for _, s := range seen.servers {
		unlike[s] = h.pin(s, named, unlisted)
	}
	h.shadow(named)
	h.hideDoubles(named)
	for i := range named {
		named[i].unlisted = !h.p.o.Expose.shows(named[i].qualified, named[i].server.own)
		named[i].redefined = unlike[named[i].server][named[i].name]
	}
	steered(named)
	compose := func() *catalogue { return h.catalogue(seen, named) }
	t := &table{servers: seen.servers}
	if key, alike := seen.key(h.view, named); alike {
		t.catalogue = h.p.catalogues.Get(key, compose)
	} else {
		t.catalogue = compose()
	}
	h.table.Store(t)
	h.session.SetTools(t.names)
}

// catalogue makes the catalogue of what was seen, with the tools as they are named.
func (h *host) catalogue(seen lookout, named []listing) *catalogue {
	c := &catalogue{tools: make(map[string]*offer, len(named)), prompts: map[string]*offer{}, resources: map[string]int{}}
	for _, n := range named {
		if n.hidden {
			continue
		}
		c.tools[n.shown] = &offer{
			from: n.from, name: n.name, redefined: n.redefined, steered: n.steered,
			tool:  h.describe(n.server, n.name, n.qualified, n.raw),
			shown: n.shown, definition: n.raw, taskSupport: taskSupport(n.raw),
		}
	}
	for _, o := range c.tools {
		c.names = append(c.names, o.tool.Qualified)
	}
	slices.Sort(c.names)
	c.results[upstream.Tools] = seen.merge(upstream.Tools, named)

	named = seen.named(upstream.Prompts)
	for _, n := range named {
		c.prompts[n.shown] = &offer{from: n.from, name: n.name, tool: kindTool(tools.KindPrompt, n.server)}
	}
	c.results[upstream.Prompts] = seen.merge(upstream.Prompts, named)

	listed := seen.listed(upstream.Resources)
	for i, n := range listed {
		if _, taken := c.resources[n.name]; taken {
			listed[i].hidden = true
			h.log.Info("a resource of a later server is hidden: an earlier one has the same URI", "server", n.server.alias)
			continue
		}
		c.resources[n.name] = n.from
	}
	c.results[upstream.Resources] = seen.merge(upstream.Resources, listed)

	listed = seen.listed(upstream.Templates)
	for _, n := range listed {
		c.templates = append(c.templates, template{n.name, n.from})
	}
	c.results[upstream.Templates] = seen.merge(upstream.Templates, listed)
	return c
}

// lookout is what the host's servers list at one moment.
type lookout struct {
	servers []*server
	lists   [][len(upstream.Kinds)]upstream.List // of each server; one without an envelope is not known, or there is none
}

func (h *host) look() lookout {
	l := lookout{servers: h.everyone()}
	l.lists = make([][len(upstream.Kinds)]upstream.List, len(l.servers))
	for i, s := range l.servers {
		for _, k := range upstream.Kinds {
			l.lists[i][k], _ = s.up.List(k)
		}
	}
	return l
}

// catalogueKey is a digest of all that a catalogue depends on beside the configuration.
type catalogueKey [sha256.Size]byte

// key returns the catalogue's key; alike is false when it is this session's alone: where clients have brought tools,
// or the definitions differ from those that people know.
func (l lookout) key(v View, named []listing) (key catalogueKey, alike bool) {
	text := append([]byte(v.Server), 0)
	for i, s := range l.servers {
		if s.guest {
			return key, false
		}
		for _, k := range upstream.Kinds {
			text = append(text, l.lists[i][k].Digest[:]...)
		}
	}
	for _, n := range named {
		switch {
		case n.redefined != nil:
			return key, false
		case n.hidden:
			text = append(text, 1)
		default:
			text = append(text, 0)
		}
	}
	return sha256.Sum256(text), true
}

// listing is one item of a server's list and the name that the host sees.
type listing struct {
	server    *server
	from      int    // the number of the server
	name      string // the upstream's own name, or URI
	qualified string // what rules see
	shown     string // what the host sees
	raw       []byte
	hidden    bool // it does not exist for the host
	unlisted  bool // it is found and called, and not listed
	redefined *gate.Redefinition
	steered   *steering
}

// listed collects the items of a kind from all servers, in the order of the configuration.
func (l lookout) listed(k upstream.Kind) (items []listing) {
	for i, s := range l.servers {
		for _, item := range s.choice.items(k, l.lists[i][k].Items) {
			items = append(items, listing{server: s, from: i, name: item.Key, shown: item.Key, raw: item.Raw})
		}
	}
	return items
}

// named is listed for items that have names, which are qualified.
func (l lookout) named(k upstream.Kind) []listing {
	items := l.listed(k)
	origins := make([]origin, len(items))
	for i, item := range items {
		if k == upstream.Tools {
			items[i].shown = item.server.choice.name(item.name)
		}
		origins[i] = origin{item.server.alias, items[i].shown}
	}
	for i, name := range qualify(origins) {
		items[i].qualified = name
		if !items[i].server.untouched() {
			items[i].shown = name
		}
	}
	return items
}

// merge makes the result of a list method. One server's list keeps its own envelope, and is passed on byte
// for byte when there is nothing to change; members beside the items cannot be merged from several. callgate's own
// list, and those of guests, have envelopes that say nothing.
func (l lookout) merge(k upstream.Kind, items []listing) []byte {
	var lists []upstream.List
	for i, s := range l.servers {
		if list := l.lists[i][k]; list.Envelope != nil && !s.own && !s.guest {
			lists = append(lists, list)
		}
	}
	array := []byte{'['}
	changed := false
	for _, item := range items {
		if item.hidden || item.unlisted {
			changed = true
			continue
		}
		if len(array) > 1 {
			array = append(array, ',')
		}
		raw := item.raw
		if item.shown != item.name {
			raw, changed = renamed(raw, item.shown), true
		}
		array = append(array, raw...)
	}
	array = append(array, ']')
	if len(lists) == 1 {
		list := lists[0]
		if !changed && list.Pages == 1 && list.Truncated == "" && len(items) == listLength(k, list.Envelope) {
			return list.Envelope
		}
		var m [2]jsonx.Member
		if jsonx.Members(list.Envelope, []string{k.Member(), "nextCursor"}, m[:]) == nil && m[0].Value != nil {
			edits := []jsonx.Edit{{Start: m[0].Start, End: m[0].End(), With: array}}
			if m[1].Value != nil {
				edits = append(edits, jsonx.Delete(list.Envelope, m[1]))
			}
			return jsonx.Splice(list.Envelope, edits...)
		}
	}
	result := append([]byte{'{'}, jsonx.Quote(k.Member())...)
	return append(append(append(result, ':'), array...), '}')
}

// listLength counts the entries of a raw list result, those left out included.
func listLength(k upstream.Kind, envelope []byte) int {
	var m [1]jsonx.Member
	if jsonx.Members(envelope, []string{k.Member()}, m[:]) != nil {
		return -1
	}
	return jsonx.Length(m[0].Value)
}

// renamed returns a definition with another name, everything else byte for byte.
func renamed(definition []byte, name string) []byte {
	var m [1]jsonx.Member
	if jsonx.Members(definition, []string{"name"}, m[:]) != nil || m[0].Value == nil {
		return definition // cannot be: the list has checked it
	}
	return jsonx.Splice(definition, jsonx.Edit{Start: m[0].Start, End: m[0].End(), With: jsonx.Quote(name)})
}

// kindTool is a kind as if it were a tool of the server: what rules see of prompts, resources and sampling.
func kindTool(kind string, s *server) *tools.Tool {
	t := *tools.KindTool(kind)
	t.Server, t.Qualified = s.alias, s.alias+"_"+kind
	return &t
}

// patience is how long a host waits for servers that no cache knows: well under the second after which
// the least patient host goes on without any tools.
const patience = 700 * time.Millisecond

// await waits until done says so for every server, or until patience or ctx ends. Servers that are down,
// or did not start the last time, are not waited for.
func (h *host) await(ctx context.Context, limit time.Duration, done func(*server) bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		h.mu.Lock()
		changed := h.changed
		h.mu.Unlock()
		waiting := false
		for _, s := range h.everyone() {
			waiting = waiting || !done(s) && !s.hopeless()
		}
		if !waiting {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// awaitLists is await for the lists of the kinds, and ends as soon as enough says so, which may be nil. A list that
// could not be read is read again, if that was a while ago, and not waited for after that.
func (h *host) awaitLists(ctx context.Context, limit time.Duration, enough func() bool, kinds ...upstream.Kind) {
	for _, s := range h.everyone() {
		for _, k := range kinds {
			s.up.Reread(k)
		}
	}
	h.await(ctx, limit, func(s *server) bool {
		return enough != nil && enough() || !slices.ContainsFunc(kinds, func(k upstream.Kind) bool { return !has(k)(s) && s.up.ListError(k) == nil })
	})
}

// has reports whether the server's list of the kind is known.
func has(k upstream.Kind) func(*server) bool {
	return func(s *server) bool {
		if _, known := s.up.List(k); known {
			return true
		}
		info, ok := s.up.Info()
		return ok && !info.Declares(k)
	}
}

// findTool looks a tool up by the name the host sees. A name that nobody knows yet may belong to a server
// that is still starting: that is waited for as long as the server may take, and no longer than until one has listed
// it, whatever the others do.
func (h *host) findTool(ctx context.Context, name string) *entry {
	if e := h.table.Load().tool(name); e != nil {
		return e
	}
	h.awaitLists(ctx, upstream.DefaultStartTimeout, func() bool { return h.table.Load().tools[name] != nil }, upstream.Tools)
	h.rebuild()
	return h.table.Load().tool(name)
}

// findPrompt is findTool for prompts.
func (h *host) findPrompt(ctx context.Context, name string) *entry {
	if e := h.table.Load().prompt(name); e != nil {
		return e
	}
	h.awaitLists(ctx, upstream.DefaultStartTimeout, func() bool { return h.table.Load().prompts[name] != nil }, upstream.Prompts)
	h.rebuild()
	return h.table.Load().prompt(name)
}

// offers reports whether the table still has exactly this definition of a tool.
func (h *host) offers(to *entry) bool {
	e := h.table.Load().tools[to.shown]
	return e != nil && e.tool == to.tool
}

// downNote says which servers are down, or do not tell their tools, for somebody who misses one; "" when none is.
func (h *host) downNote() (note string) {
	for _, s := range h.everyone() {
		if st := s.up.Status(); st.State == upstream.Down {
			note += fmt.Sprintf("; server %q is down: %s", s.alias, st.Reason)
		} else if err := s.up.ListError(upstream.Tools); err != nil {
			note += fmt.Sprintf("; the tools of server %q cannot be read: %v", s.alias, err)
		}
	}
	return note
}
