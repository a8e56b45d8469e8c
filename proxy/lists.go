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

// offers holds what one host is offered: the merged lists of its servers, and a lookup from each name to its server.
type offers struct {
	h     *host
	maker *catalogue.Maker // of the settings that the session and its servers began with

	building sync.Mutex // held while the table is made
	finder   catalogue.Finder
	now      atomic.Pointer[table]
	served   [len(upstream.Kinds)]atomic.Pointer[[]byte] // the last result of each list that the host was given

	mu    sync.Mutex
	moved chan struct{} // closed and replaced when a list or a state changes
}

// table is what the host is offered at one moment, with the server of each name. Lists and look-ups use the same table,
// so callgate lists exactly what can be called. It is immutable.
type table struct {
	*catalogue.Catalogue
	servers []*server // of this host, by the catalogue's numbers
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
		sources[i] = s.source() // read before the lists: a list from in between is shown, and counts as settling
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

// source returns the server as catalogues see it, without its lists.
func (s *server) source() *catalogue.Source {
	c := &catalogue.Source{Alias: s.alias, About: s.about, Choice: &s.choice, Locked: s.locked, IsOwn: s.own, Untouched: s.untouched(), Listed: has(upstream.Tools)(s)}
	if s.guest != nil {
		c.Guest = s
	} else {
		c.Settling = !c.Listed && !s.unavailable()
	}
	return c
}

// await waits until done returns true for every server, or until limit or ctx ends. It does not wait for servers that
// are down or did not start the last time.
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

// awaitLists does what await does for lists of the kinds, and ends early if enough returns true; enough may be nil. It
// asks again for a list that could not be read a while ago, and does not wait for one that still cannot be read.
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

// has returns a function that reports whether a server's list of the kind is known.
func has(k upstream.Kind) func(*server) bool {
	return func(s *server) bool {
		if _, known := s.up.Lists.Known(k); known {
			return true
		}
		info, ok := s.up.Info()
		return ok && !info.Declares(k)
	}
}

// tool looks up a tool by the name that the host sees, as the running server defines it; a definition from an earlier
// run is not what the call gets. An unknown name may belong to a server that is still starting. callgate waits for it
// as long as a server may take to start, but only until one server has listed the name. r is the request that names the
// tool, or nil.
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
		o.awaitTools(ctx, e.server)
	}
	return o.now.Load().tool(name)
}

// awaitTools waits until the running server has listed its tools. It starts the server if that is down. A server that
// does not start runs no call either.
func (o *offers) awaitTools(ctx context.Context, s *server) {
	ctx, cancel := context.WithTimeout(ctx, upstream.DefaultStartTimeout)
	defer cancel()
	if _, err := s.up.Lists.Fresh(ctx, upstream.Tools); err != nil {
		o.h.log.Debug("the tools of the server are those of an earlier run", "server", s.alias, "error", err)
	}
}

// prompt does what tool does for prompts.
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

// downNote returns which servers are down or do not list their tools, for a reader who misses a tool, or "".
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

// patience is how long a host waits for servers that are not in the cache. It is well under a second, because the least
// patient host then goes on without any tools.
const patience = 700 * time.Millisecond

// resource returns the server that a URI belongs to: the one that lists it, or whose template it fits, or the only one
// that has resources at all. It waits for servers that are still starting, as tool does.
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

// touch wakes all callers that wait for a change of a list or state.
func (o *offers) touch() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.moved)
	o.moved = make(chan struct{})
}

// list answers with what is known after at most patience. callgate never cuts lists into pages, so no cursor is valid.
func (o *offers) list(ctx context.Context, m rpc.Message, k upstream.Kind) []byte {
	if raw.HasCursor(m) {
		return rpc.Error(m.ID, rpc.CodeInvalidParams, "unknown cursor: the list has one page")
	}
	o.awaitLists(ctx, patience, nil, k)
	o.rebuild() // a list may be known a moment before its change is announced
	result := o.now.Load().Results[k]
	o.served[k].Store(&result)
	return rpc.Result(m.ID, result)
}

// changed takes over a new list. It notifies the host if the host was given a different one.
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

// Found holds the tools that match a host's query.
type Found struct {
	Tools []json.RawMessage `json:"tools"` // definitions as in tools/list, best first
	Of    int               `json:"of"`    // how many tools can be found, without the two that find and call them
	Note  string            `json:"note,omitempty"`
}

const (
	defaultFound = 5
	maxFound     = 20
	// maxFoundBytes bounds the definitions in one answer, because models pay for each word.
	maxFoundBytes = 64 << 10
)

// FindTools returns the tools of a session that match the query best, by the words and the meaning of their names,
// descriptions and schemas. A limit of 0 means 5; the maximum is 20. It waits for starting servers as tools/list does.
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
	found := Found{Tools: []json.RawMessage{}, Of: table.FindableCount(), Note: h.offers.downNote()}
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
