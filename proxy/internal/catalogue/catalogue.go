// Package catalogue merges the lists of servers into what hosts are offered.
//
// It forms names, merges lists, keeps accepted definitions, and finds tools that pose as others. It sends nothing and
// knows no host.
package catalogue

import (
	"bytes"
	"crypto/sha256"
	"log/slog"
	"slices"
	"strings"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/interned"
	"callgate/internal/jsonx"
	"callgate/internal/lazyregexp"
	"callgate/internal/upstream"
)

// Source is the state of one server for one session at one moment.
type Source struct {
	Alias     string
	About     tools.Server
	Choice    *Choice
	Locked    map[string]string // digests of definitions that are accepted for everybody; may be nil
	IsOwn     bool              // callgate's own server
	Guest     any               // identifies a server that a client has brought; nil for the others
	Untouched bool              // hosts see its names without a prefix

	Lists    [len(upstream.Kinds)]upstream.List // a list without an envelope is unknown or does not exist
	Listed   bool                               // its tools are known
	Settling bool                               // its tools are not known yet, but will be
}

// Maker makes the catalogues of all sessions that began with the same configuration.
type Maker struct {
	Pins       *tools.Pins                           // the accepted definitions; nil compares none
	Shows      func(qualified string, own bool) bool // whether a tool appears in the host's list
	Configured []Configured
	Log        *slog.Logger

	described  interned.Map[descriptionKey, tools.Tool] // all tools that hosts are offered
	catalogues interned.Map[key, Catalogue]
}

// Configured is a server of the configuration. A session need not see it.
type Configured struct {
	Alias, Identity string
	Choice          *Choice
}

// Catalogue is what a session is offered. It knows servers by number only, so sessions with the same view of servers
// with the same lists share one catalogue. It is immutable.
type Catalogue struct {
	Tools     map[string]*Offer
	Names     []string // qualified names of the tools, sorted
	Prompts   map[string]*Offer
	Results   [len(upstream.Kinds)][]byte // the raw results of the four list methods
	resources map[string]int              // server numbers by URI; the first server that lists a URI has it
	templates []template
}

// Offer is one tool or prompt.
type Offer struct {
	From int         // the number of its server
	Tool *tools.Tool // for a prompt: the kind prompt_get
	Name string      // the upstream's own name

	Shown       string // for a tool: the name that the host sees
	Definition  []byte // for a tool: the upstream's own
	TaskSupport string // for a tool: "optional" or "required" if its calls can be tasks, else ""

	identity  string             // of its server
	redefined *gate.Redefinition // nil if the definition is the accepted one
	steered   *steering          // nil unless a definition in quarantine mentions the tool
}

type template struct {
	uri  string
	from int
}

// Make returns the catalogue of what the sources list now. view is the alias of the only server that the session sees,
// or "" for all. later runs work that nobody waits for.
func (m *Maker) Make(view string, sources []*Source, later func(func())) *Catalogue {
	seen := snapshot{sources}
	named := seen.named(upstream.Tools)
	unlike := map[*Source]map[string]*gate.Redefinition{}
	for _, s := range sources {
		unlike[s] = m.pin(s, named, sources, later)
	}
	m.shadow(named)
	m.hideDoubles(named)
	for i := range named {
		named[i].unlisted = !m.Shows(named[i].qualified, named[i].source.IsOwn)
		named[i].redefined = unlike[named[i].source][named[i].name]
	}
	steered(named)
	compose := func() *Catalogue { return m.compose(seen, named) }
	if key, alike := seen.key(view, named); alike {
		return m.catalogues.Get(key, compose)
	}
	return compose()
}

// descriptionKey is everything that a tool's description depends on. Tools with equal keys are one tool, from one table
// to the next and for all sessions.
type descriptionKey struct {
	guest     any // for a guest's tools: what is known of the server belongs to its session
	alias     string
	qualified string
	hash      [sha256.Size]byte
}

func (m *Maker) describe(s *Source, name, qualified string, definition []byte) *tools.Tool {
	key := descriptionKey{guest: s.Guest, alias: s.Alias, qualified: qualified, hash: sha256.Sum256(definition)}
	return m.described.Get(key, func() *tools.Tool {
		t := tools.Describe(s.About, name, qualified, definition)
		t.Plain = Origin{s.Alias, s.Choice.Name(name)}.Plain()
		return t
	})
}

// compose makes the catalogue from the snapshot and the named tools.
func (m *Maker) compose(seen snapshot, named []listing) *Catalogue {
	c := &Catalogue{Tools: make(map[string]*Offer, len(named)), Prompts: map[string]*Offer{}, resources: map[string]int{}}
	for _, n := range named {
		if n.hidden {
			continue
		}
		c.Tools[n.shown] = &Offer{
			From: n.from, Name: n.name, identity: n.source.About.Identity, redefined: n.redefined, steered: n.steered,
			Tool:  m.describe(n.source, n.name, n.qualified, n.raw),
			Shown: n.shown, Definition: n.raw, TaskSupport: taskSupport(n.raw),
		}
	}
	for _, o := range c.Tools {
		c.Names = append(c.Names, o.Tool.Qualified)
	}
	slices.Sort(c.Names)
	c.Results[upstream.Tools] = seen.merge(upstream.Tools, named)

	named = seen.named(upstream.Prompts)
	for _, n := range named {
		c.Prompts[n.shown] = &Offer{From: n.from, Name: n.name, Tool: KindTool(tools.KindPrompt, n.source.Alias)}
	}
	c.Results[upstream.Prompts] = seen.merge(upstream.Prompts, named)

	listed := seen.listed(upstream.Resources)
	for i, n := range listed {
		if _, taken := c.resources[n.name]; taken {
			listed[i].hidden = true
			m.Log.Info("a resource of a later server is hidden: an earlier one has the same URI", "server", n.source.Alias)
			continue
		}
		c.resources[n.name] = n.from
	}
	c.Results[upstream.Resources] = seen.merge(upstream.Resources, listed)

	listed = seen.listed(upstream.Templates)
	for _, n := range listed {
		c.templates = append(c.templates, template{n.name, n.from})
	}
	c.Results[upstream.Templates] = seen.merge(upstream.Templates, listed)
	return c
}

// snapshot is what the servers list at one moment.
type snapshot struct{ sources []*Source }

// key is a digest of all that a catalogue depends on apart from the configuration.
type key [sha256.Size]byte

// key returns the catalogue's key. alike is false if only this session can use the catalogue, because clients have
// brought tools or definitions differ from the accepted ones.
func (l snapshot) key(view string, named []listing) (of key, alike bool) {
	text := append([]byte(view), 0)
	for _, s := range l.sources {
		if s.Guest != nil {
			return of, false
		}
		for _, k := range upstream.Kinds {
			text = append(text, s.Lists[k].Digest[:]...)
		}
	}
	for _, n := range named {
		switch {
		case n.redefined != nil:
			return of, false
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
	source    *Source
	from      int    // the number of the server
	name      string // the upstream's own name, or URI
	qualified string // the name that rules see
	shown     string // the name that the host sees
	raw       []byte
	hidden    bool // it does not exist for the host
	unlisted  bool // hosts can find and call it, but do not see it in the list
	redefined *gate.Redefinition
	steered   *steering
}

// listed collects the items of a kind from all servers, in the order of the configuration.
func (l snapshot) listed(k upstream.Kind) (items []listing) {
	for i, s := range l.sources {
		for _, item := range Chosen(s.Choice, k, s.Lists[k].Items) {
			items = append(items, listing{source: s, from: i, name: item.Key, shown: item.Key, raw: item.Raw})
		}
	}
	return items
}

// named returns the items of a kind from all servers, with qualified names.
func (l snapshot) named(k upstream.Kind) []listing {
	items := l.listed(k)
	origins := make([]Origin, len(items))
	for i, item := range items {
		if k == upstream.Tools {
			items[i].shown = item.source.Choice.Name(item.name)
		}
		origins[i] = Origin{item.source.Alias, items[i].shown}
	}
	for i, name := range Qualify(origins) {
		items[i].qualified = name
		if !items[i].source.Untouched {
			items[i].shown = name
		}
	}
	return items
}

// merge makes the result of a list method. The list of a single server keeps its envelope, and passes byte for byte if
// nothing changes. Members beside the items cannot be merged from several servers. The envelopes of callgate's own list
// and of guests' lists say nothing.
func (l snapshot) merge(k upstream.Kind, items []listing) []byte {
	var lists []upstream.List
	for _, s := range l.sources {
		if list := s.Lists[k]; list.Envelope != nil && !s.IsOwn && s.Guest == nil {
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
			raw, changed = Renamed(raw, item.shown), true
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

// listLength counts all entries of a raw list result, including those that were left out. It returns -1 if the result
// is unreadable.
func listLength(k upstream.Kind, envelope []byte) int {
	var m [1]jsonx.Member
	if jsonx.Members(envelope, []string{k.Member()}, m[:]) != nil {
		return -1
	}
	return jsonx.Length(m[0].Value)
}

// Renamed returns a definition with another name, everything else byte for byte.
func Renamed(definition []byte, name string) []byte {
	var m [1]jsonx.Member
	if jsonx.Members(definition, []string{"name"}, m[:]) != nil || m[0].Value == nil {
		return definition // cannot happen: the list has checked it
	}
	return jsonx.Splice(definition, jsonx.Edit{Start: m[0].Start, End: m[0].End(), With: jsonx.Quote(name)})
}

// taskSupport returns "optional" or "required" if the definition says that calls can be tasks, else "".
func taskSupport(definition []byte) string {
	if !bytes.Contains(definition, []byte("taskSupport")) {
		return ""
	}
	if text, _ := jsonx.String(jsonx.At(definition, "execution", "taskSupport")); text == "optional" || text == "required" {
		return text
	}
	return ""
}

var expression = lazyregexp.New(`\{[^{}]*\}`)

// fits reports whether the URI may come from the template. Every expression stands for any text.
func (t template) fits(uri string) bool {
	literals := expression.Split(t.uri, -1)
	if len(literals) == 1 {
		return uri == t.uri
	}
	rest, ok := strings.CutPrefix(uri, literals[0])
	if !ok {
		return false
	}
	last := literals[len(literals)-1]
	for _, literal := range literals[1 : len(literals)-1] {
		i := strings.Index(rest, literal)
		if i < 0 {
			return false
		}
		rest = rest[i+len(literal):]
	}
	return strings.HasSuffix(rest, last)
}

// Resource returns the number of the server that lists the resource, or whose template it fits.
func (c *Catalogue) Resource(uri string) (from int, ok bool) {
	if from, ok := c.resources[uri]; ok {
		return from, true
	}
	for _, t := range c.templates {
		if t.fits(uri) {
			return t.from, true
		}
	}
	return 0, false
}

// Template returns the number of the server that lists the template.
func (c *Catalogue) Template(uri string) (from int, ok bool) {
	for _, t := range c.templates {
		if t.uri == uri {
			return t.from, true
		}
	}
	return 0, false
}

// KindTool returns a kind as a tool of the server. Rules see it for prompts, resources and sampling.
func KindTool(kind, alias string) *tools.Tool {
	t := *tools.KindTool(kind)
	t.Server, t.Qualified = alias, alias+"_"+kind
	return &t
}
