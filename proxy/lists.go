package proxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
	"callgate/proxy/internal/raw"
)

// offers are what one host is offered: the lists of its servers as one, and the way back from a name to its server.
type offers struct {
	h     *host
	maker *catalogue.Maker // of the settings that the session began with, as are its servers

	building sync.Mutex // held while the table is made
	finder   catalogue.Finder
	now      atomic.Pointer[table]
	served   [len(upstream.Kinds)]atomic.Pointer[[]byte] // what the host was given of each list last

	mu    sync.Mutex
	moved chan struct{} // closed and replaced when a list or a state changes
}

// table is what the host is offered at one moment: every name with where it leads. Lists and look-ups use
// the same table, so nothing is listed that cannot be called, or called that is not listed. It is immutable.
type table struct {
	*catalogue.Catalogue
	servers []*server // of this host, where the catalogue has their numbers
}

// entry is an offer to one host.
type entry struct {
	*catalogue.Offer
	server *server
}

func (t *table) entry(o *catalogue.Offer) *entry {
	if o == nil {
		return nil
	}
	return &entry{o, t.servers[o.From]}
}

func (t *table) tool(shown string) *entry   { return t.entry(t.Tools[shown]) }
func (t *table) prompt(shown string) *entry { return t.entry(t.Prompts[shown]) }

// resource returns the server that lists the resource, or whose template it fits.
func (t *table) resource(uri string) *server {
	if from, ok := t.Resource(uri); ok {
		return t.servers[from]
	}
	return nil
}

// rebuild makes the table from what the servers list now.
func (o *offers) rebuild() {
	o.building.Lock()
	defer o.building.Unlock()
	h := o.h
	t := &table{servers: h.everyone()}
	sources := make([]*catalogue.Source, len(t.servers))
	for i, s := range t.servers {
		sources[i] = s.source() // before the lists are read: what comes in between is listed and counts as settling
	}
	for i, s := range t.servers {
		for _, k := range upstream.Kinds {
			sources[i].Lists[k], _ = s.up.Lists.Known(k)
		}
	}
	t.Catalogue = o.maker.Make(h.view.Server, sources, func(f func()) { h.work.Go(f) })
	o.now.Store(t)
	h.session.SetTools(t.Names)
}

// source is the server as catalogues see it, without its lists.
func (s *server) source() *catalogue.Source {
	c := &catalogue.Source{Alias: s.alias, About: s.about, Choice: &s.choice, Locked: s.locked, Own: s.own, Untouched: s.untouched(), Listed: has(upstream.Tools)(s)}
	if s.guest != nil {
		c.Guest = s
	} else {
		c.Settling = !c.Listed && !s.unavailable()
	}
	return c
}

// await waits until done says so for every server, or until patience or ctx ends. Servers that are down,
// or did not start the last time, are not waited for.
func (o *offers) await(ctx context.Context, limit time.Duration, done func(*server) bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		o.mu.Lock()
		changed := o.moved
		o.mu.Unlock()
		waiting := false
		for _, s := range o.h.everyone() {
			waiting = waiting || !done(s) && !s.unavailable()
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
func (o *offers) awaitLists(ctx context.Context, limit time.Duration, enough func() bool, kinds ...upstream.Kind) {
	for _, s := range o.h.everyone() {
		for _, k := range kinds {
			s.up.Lists.Reread(k)
		}
	}
	o.await(ctx, limit, func(s *server) bool {
		return enough != nil && enough() || !slices.ContainsFunc(kinds, func(k upstream.Kind) bool { return !has(k)(s) && s.up.Lists.Error(k) == nil })
	})
}

// has reports whether the server's list of the kind is known.
func has(k upstream.Kind) func(*server) bool {
	return func(s *server) bool {
		if _, known := s.up.Lists.Known(k); known {
			return true
		}
		info, ok := s.up.Info()
		return ok && !info.Declares(k)
	}
}

// tool looks a tool up by the name the host sees, as the running server defines it: what it was in an earlier run is not
// what the call gets. An unknown name may belong to a server that is still starting. callgate waits for it as long as the
// server may take to start, but only until one server has listed the name. r is the request that names the tool; nil for
// none.
func (o *offers) tool(ctx context.Context, r *inflight, name string) *entry {
	e := o.now.Load().tool(name)
	switch {
	case e == nil:
		r.waits()
		o.awaitLists(ctx, upstream.DefaultStartTimeout, func() bool { return o.now.Load().Tools[name] != nil }, upstream.Tools)
		o.rebuild()
	case e.server.up.Lists.Heard(upstream.Tools):
		return e
	default:
		r.waits()
		o.hear(ctx, e.server)
	}
	return o.now.Load().tool(name)
}

// hear waits until the running server has told its tools. It starts one that is down. A server that does not start runs
// no call either.
func (o *offers) hear(ctx context.Context, s *server) {
	ctx, cancel := context.WithTimeout(ctx, upstream.DefaultStartTimeout)
	defer cancel()
	if _, err := s.up.Lists.Fresh(ctx, upstream.Tools); err != nil {
		o.h.log.Debug("the tools of the server are those of an earlier run", "server", s.alias, "error", err)
	}
}

// prompt is tool for prompts.
func (o *offers) prompt(ctx context.Context, name string) *entry {
	if e := o.now.Load().prompt(name); e != nil {
		return e
	}
	o.awaitLists(ctx, upstream.DefaultStartTimeout, func() bool { return o.now.Load().Prompts[name] != nil }, upstream.Prompts)
	o.rebuild()
	return o.now.Load().prompt(name)
}

// still reports whether the table still has exactly this definition of a tool.
func (o *offers) still(to *entry) bool {
	e := o.now.Load().Tools[to.Shown]
	return e != nil && e.Tool == to.Tool
}

// downNote says which servers are down, or do not list their tools, to a reader who misses a tool; "" if there are
// none.
func (o *offers) downNote() (note string) {
	for _, s := range o.h.everyone() {
		if st := s.up.Status(); st.State == upstream.Down {
			note += fmt.Sprintf("; server %q is down: %s", s.alias, st.Reason)
		} else if err := s.up.Lists.Error(upstream.Tools); err != nil {
			note += fmt.Sprintf("; the tools of server %q cannot be read: %v", s.alias, err)
		}
	}
	return note
}

// patience is how long a host waits for servers that are not in the cache. It is well under a second, after which the
// least patient host goes on without any tools.
const patience = 700 * time.Millisecond

// resource returns the server that a URI belongs to: the one that lists it, or whose template it fits,
// or the only one that has resources at all. Servers that are still starting are waited for, as in tool.
func (o *offers) resource(ctx context.Context, uri string) *server {
	if s := o.now.Load().resource(uri); s != nil {
		return s
	}
	o.awaitLists(ctx, upstream.DefaultStartTimeout, func() bool { return o.now.Load().resource(uri) != nil }, upstream.Resources, upstream.Templates)
	o.rebuild()
	if s := o.now.Load().resource(uri); s != nil {
		return s
	}
	var only *server
	for _, s := range o.h.servers {
		if !s.offers("resources") {
			continue
		}
		if only != nil {
			return nil
		}
		only = s
	}
	return only
}

// touch tells all callers that wait that a list or a state changed.
func (o *offers) touch() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.moved)
	o.moved = make(chan struct{})
}

// list answers with what is known. callgate never cuts lists into pages, so a host has no cursor of ours.
func (o *offers) list(ctx context.Context, m rpc.Message, k upstream.Kind) []byte {
	if raw.HasCursor(m) {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown cursor: the list has one page")
	}
	o.awaitLists(ctx, patience, nil, k)
	o.rebuild() // a list may be known a moment before its change is told
	result := o.now.Load().Results[k]
	o.served[k].Store(&result)
	return rpc.Result(m.ID, result)
}

// changed takes over a new list, and tells the host if it was given a different one.
func (o *offers) changed(k upstream.Kind) {
	o.rebuild()
	o.touch()
	if served := o.served[k].Load(); served == nil || bytes.Equal(*served, o.now.Load().Results[k]) || !o.h.initialized.Load() {
		return
	}
	switch k {
	case upstream.Tools:
		o.h.notify(nil, rpc.Request(nil, "notifications/tools/list_changed", nil))
	case upstream.Prompts:
		o.h.notify(nil, rpc.Request(nil, "notifications/prompts/list_changed", nil))
	case upstream.Resources, upstream.Templates:
		o.h.notify(nil, rpc.Request(nil, "notifications/resources/list_changed", nil))
	}
}

// Found holds the tools that answer a host's query.
type Found struct {
	Tools []json.RawMessage `json:"tools"` // definitions, as tools/list has them, best first
	Of    int               `json:"of"`    // how many there are to find, without the two tools that find and call them
	Note  string            `json:"note,omitempty"`
}

const (
	defaultFound = 5
	maxFound     = 20
	// maxFoundBytes bounds the definitions in one answer, because models pay for each word.
	maxFoundBytes = 64 << 10
)

// FindTools returns the tools of a session that answer the query best, by the words and the meaning of their names,
// descriptions and schemas. A limit of 0 means 5; the most is 20. It waits for starting servers as tools/list does.
func (p *Proxy) FindTools(ctx context.Context, sessionID, query string, limit int) (Found, error) {
	h, err := p.hostOf(sessionID)
	if err != nil {
		return Found{}, err
	}
	if h == nil {
		return Found{}, fmt.Errorf("session %q has ended", sessionID)
	}
	h.offers.awaitLists(ctx, patience, nil, upstream.Tools)
	h.offers.rebuild()
	table := h.offers.now.Load()
	best, err := h.offers.finder.Find(ctx, table.Catalogue, query, min(cmp.Or(max(0, limit), defaultFound), maxFound))
	if err != nil {
		return Found{}, err
	}
	found := Found{Tools: []json.RawMessage{}, Of: table.Findable(), Note: h.offers.downNote()}
	size := 0
	for _, o := range best {
		definition := catalogue.Renamed(o.Definition, o.Shown)
		if size += len(definition); size > maxFoundBytes && len(found.Tools) > 0 {
			break
		}
		found.Tools = append(found.Tools, definition)
	}
	return found, nil
}
