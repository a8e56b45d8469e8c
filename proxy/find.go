package proxy

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"callgate/internal/upstream"
	"callgate/rag"
)

// Found are tools that a host asked for by what they do.
type Found struct {
	Tools []json.RawMessage `json:"tools"` // definitions, as tools/list has them, best first
	Of    int               `json:"of"`    // how many there are to find
	Note  string            `json:"note,omitempty"`
}

const (
	defaultFound = 5
	maxFound     = 20
	// maxFoundBytes bounds the definitions of one answer: models pay for each word of it.
	maxFoundBytes = 64 << 10
)

// FindTools returns the tools of a session that answer the query best, by the words of their names, descriptions
// and schemas, and by their meaning. A limit of 0 means 5; it is 20 at most. Servers that are still starting are
// waited for as tools/list waits for them.
func (p *Proxy) FindTools(ctx context.Context, sessionID, query string, limit int) (Found, error) {
	h, err := p.hostOf(sessionID)
	if err != nil {
		return Found{}, err
	}
	if h == nil {
		return Found{}, fmt.Errorf("session %q has ended", sessionID)
	}
	h.awaitLists(ctx, patience, nil, upstream.Tools)
	h.rebuild()
	table := h.table.Load()
	hits, err := h.finder.find(ctx, table, query, min(cmp.Or(max(0, limit), defaultFound), maxFound))
	if err != nil {
		return Found{}, err
	}
	found := Found{Tools: []json.RawMessage{}, Of: len(table.tools), Note: h.downNote()}
	size := 0
	for _, hit := range hits {
		o := table.tools[hit.Path]
		if o == nil {
			continue
		}
		definition := renamed(o.definition, o.shown)
		if size += len(definition); size > maxFoundBytes && len(found.Tools) > 0 {
			break
		}
		found.Tools = append(found.Tools, definition)
	}
	return found, nil
}

// finder is an index of the tools that one host can call. It is brought up to date by whoever searches it.
type finder struct {
	mu    sync.Mutex
	index *rag.Index
	has   map[string][sha256.Size]byte // definitions by the name that the host sees
}

// find brings the index up to date with the tools and searches it.
func (f *finder) find(ctx context.Context, t *table, query string, limit int) ([]rag.Hit, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		index, err := rag.Open("", rag.Options{})
		if err != nil {
			return nil, err
		}
		f.index, f.has = index, map[string][sha256.Size]byte{}
	}
	if err := f.update(ctx, t.catalogue); err != nil {
		return nil, err
	}
	return f.index.Search(ctx, rag.Query{Text: query, Kind: rag.KindTool, Limit: limit})
}

func (f *finder) update(ctx context.Context, c *catalogue) error {
	var gone []string
	for name := range f.has {
		if c.tools[name] == nil {
			gone = append(gone, name)
		}
	}
	var docs []rag.Document
	for name, o := range c.tools {
		if name == FindTool || name == CallTool {
			continue
		}
		if sum := sha256.Sum256(o.definition); f.has[name] != sum {
			docs = append(docs, toolDocument(name, o))
			f.has[name] = sum
		}
	}
	if len(gone) > 0 {
		if _, err := f.index.Remove(ctx, gone...); err != nil {
			return err
		}
		for _, name := range gone {
			delete(f.has, name)
		}
	}
	if len(docs) == 0 {
		return nil
	}
	slices.SortFunc(docs, func(a, b rag.Document) int { return cmp.Compare(a.ID, b.ID) })
	if err := f.index.Add(ctx, docs...); err != nil {
		clear(f.has) // nobody knows which of them are in
		return err
	}
	return nil
}

func toolDocument(name string, o *offer) rag.Document {
	var d struct {
		Title       string          `json:"title"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	// What cannot be read adds nothing: the tool is found by its name.
	_ = json.Unmarshal(o.definition, &d)
	return rag.ToolDocument(name, o.tool.Server, o.name, d.Title+"\n"+d.Description, d.InputSchema)
}

// close gives the index up.
func (f *finder) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		return nil
	}
	return f.index.Close()
}
