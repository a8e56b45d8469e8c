package proxy

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"callgate/gate"
	"callgate/internal/jsonx"
	"callgate/internal/tools"
	"callgate/internal/upstream"
)

// table is what the host is offered at one moment: every name with where it leads. Lists and look-ups use
// the same table, so nothing is listed that cannot be called, or called that is not listed. It is immutable.
type table struct {
	tools     map[string]*entry
	prompts   map[string]*entry
	resources map[string]*server // by URI; the first server that offers one has it
	templates []template
	results   [len(upstream.Kinds)][]byte // the raw results of the four list methods
}

// entry is one tool or prompt.
type entry struct {
	server *server
	tool   *tools.Tool // of a prompt: the prompt_get kind
	name   string      // the upstream's own

	shown      string // of a tool: the name that the host sees
	definition []byte // of a tool: the upstream's own

	taskSupport string // of a tool: "optional" or "required" where its calls can be tasks, else ""

	redefined *gate.Redefinition // the definition is not the one that was accepted; else nil
}

type template struct {
	uri    string
	server *server
}

// descriptions keeps what is known of a tool as long as its definition stays the same, from one table to the
// next. It is used while a table is made.
type descriptions struct {
	of   map[descriptionKey]*tools.Tool // of the table before
	next map[descriptionKey]*tools.Tool
}

type descriptionKey struct {
	server    *server
	qualified string
	hash      [sha256.Size]byte
}

func (d *descriptions) describe(s *server, name, qualified string, definition []byte) *tools.Tool {
	key := descriptionKey{s, qualified, sha256.Sum256(definition)}
	t, ok := d.of[key]
	if !ok {
		t = tools.Describe(s.about, name, qualified, definition)
	}
	d.next[key] = t
	return t
}

// rebuild makes the table from what the servers list now.
func (h *host) rebuild() {
	h.building.Lock()
	defer h.building.Unlock()
	t := &table{tools: map[string]*entry{}, prompts: map[string]*entry{}, resources: map[string]*server{}}

	unlisted := h.unlisted() // before the lists are read: what comes in between is listed and counts as unlisted
	names, lists := h.named(upstream.Tools)
	unlike := map[*server]map[string]*gate.Redefinition{}
	for _, s := range h.everyone() {
		unlike[s] = h.pin(s, names, unlisted)
	}
	h.shadow(names)
	h.hideDoubles(names)
	for i := range names {
		names[i].unlisted = !h.p.o.Expose.shows(names[i].qualified, names[i].server.own)
	}
	h.descriptions.next = make(map[descriptionKey]*tools.Tool, len(names))
	for _, n := range names {
		if n.hidden {
			continue
		}
		t.tools[n.shown] = &entry{
			server: n.server, name: n.name, redefined: unlike[n.server][n.name],
			tool:  h.descriptions.describe(n.server, n.name, n.qualified, n.raw),
			shown: n.shown, definition: n.raw, taskSupport: taskSupport(n.raw),
		}
	}
	h.descriptions.of, h.descriptions.next = h.descriptions.next, nil
	t.results[upstream.Tools] = h.merge(upstream.Tools, names, lists)

	names, lists = h.named(upstream.Prompts)
	for _, n := range names {
		t.prompts[n.shown] = &entry{server: n.server, name: n.name, tool: kindTool(tools.KindPrompt, n.server)}
	}
	t.results[upstream.Prompts] = h.merge(upstream.Prompts, names, lists)

	names, lists = h.listed(upstream.Resources)
	for i, n := range names {
		if _, taken := t.resources[n.name]; taken {
			names[i].hidden = true
			h.log.Info("a resource of a later server is hidden: an earlier one has the same URI", "server", n.server.alias)
			continue
		}
		t.resources[n.name] = n.server
	}
	t.results[upstream.Resources] = h.merge(upstream.Resources, names, lists)

	names, lists = h.listed(upstream.Templates)
	for _, n := range names {
		t.templates = append(t.templates, template{n.name, n.server})
	}
	t.results[upstream.Templates] = h.merge(upstream.Templates, names, lists)

	h.table.Store(t)
}

// listing is one item of a server's list and the name that the host sees.
type listing struct {
	server    *server
	name      string // the upstream's own name, or URI
	qualified string // what rules see
	shown     string // what the host sees
	raw       []byte
	hidden    bool // it does not exist for the host
	unlisted  bool // it is found and called, and not listed
}

// listed collects the items of a kind from all servers, in the order of the configuration.
func (h *host) listed(k upstream.Kind) (items []listing, lists []upstream.List) {
	for _, s := range h.everyone() {
		list, known := s.up.List(k)
		if !known || list.Envelope == nil {
			continue
		}
		if !s.own && !s.guest {
			lists = append(lists, list)
		}
		for _, item := range s.choice.items(k, list.Items) {
			items = append(items, listing{server: s, name: item.Key, shown: item.Key, raw: item.Raw})
		}
	}
	return items, lists
}

// named is listed for items that have names, which are qualified.
func (h *host) named(k upstream.Kind) ([]listing, []upstream.List) {
	items, lists := h.listed(k)
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
	return items, lists
}

// merge makes the result of a list method. One server's list keeps its own envelope, and is passed on byte
// for byte when there is nothing to change; members beside the items cannot be merged from several. lists are
// those of the configured servers: callgate's own has an envelope that says nothing.
func (h *host) merge(k upstream.Kind, items []listing, lists []upstream.List) []byte {
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
// that is still starting: that is waited for as long as the server may take.
func (h *host) findTool(ctx context.Context, name string) *entry {
	if e := h.table.Load().tools[name]; e != nil {
		return e
	}
	h.await(ctx, upstream.DefaultStartTimeout, has(upstream.Tools))
	h.rebuild()
	return h.table.Load().tools[name]
}

// findPrompt is findTool for prompts.
func (h *host) findPrompt(ctx context.Context, name string) *entry {
	if e := h.table.Load().prompts[name]; e != nil {
		return e
	}
	h.await(ctx, upstream.DefaultStartTimeout, has(upstream.Prompts))
	h.rebuild()
	return h.table.Load().prompts[name]
}

// offers reports whether the table still has exactly this definition of a tool.
func (h *host) offers(to *entry) bool {
	e := h.table.Load().tools[to.shown]
	return e != nil && e.tool == to.tool
}

// downNote says which servers are down, for somebody who misses a tool; "" when none is.
func (h *host) downNote() (note string) {
	for _, s := range h.everyone() {
		if st := s.up.Status(); st.State == upstream.Down {
			note += fmt.Sprintf("; server %q is down: %s", s.alias, st.Reason)
		}
	}
	return note
}
