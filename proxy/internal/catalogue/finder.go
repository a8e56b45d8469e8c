package catalogue

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/rag"
)

// Finder is an index of the tools that one host can call. Each search brings it up to date.
type Finder struct {
	mu    sync.Mutex
	index *rag.Index
	has   map[string]*tools.Tool // what is in the index, by the name that the host sees
}

// Find brings the index up to date with the tools, searches it and returns the best offers first.
func (f *Finder) Find(ctx context.Context, c *Catalogue, query string, limit int) (best []*Offer, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		index, err := rag.Open("", rag.Options{})
		if err != nil {
			return nil, err
		}
		f.index, f.has = index, map[string]*tools.Tool{}
	}
	if err := f.update(ctx, c); err != nil {
		return nil, err
	}
	hits, err := f.index.Search(ctx, rag.Query{Text: query, Kind: rag.KindTool, Limit: limit})
	for _, hit := range hits {
		if o := c.Tools[hit.Path]; o != nil {
			best = append(best, o)
		}
	}
	return best, err
}

// FindableCount returns how many tools Find chooses from.
func (c *Catalogue) FindableCount() int {
	n := len(c.Tools)
	for _, name := range []string{FindTool, CallTool} {
		if c.Tools[name] != nil {
			n--
		}
	}
	return n
}

func (f *Finder) update(ctx context.Context, c *Catalogue) error {
	var gone []string
	for name := range f.has {
		if c.Tools[name] == nil {
			gone = append(gone, name)
		}
	}
	var docs []rag.Document
	for name, o := range c.Tools {
		if name == FindTool || name == CallTool {
			continue
		}
		if f.has[name] != o.Tool {
			docs = append(docs, toolDocument(name, o))
			f.has[name] = o.Tool
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
		clear(f.has) // nobody knows which of them were added
		return err
	}
	return nil
}

func toolDocument(name string, o *Offer) rag.Document {
	var m [3]jsonx.Member
	// A member that cannot be read adds nothing: the tool is still found by its name.
	_ = jsonx.Members(o.Definition, []string{"title", "description", "inputSchema"}, m[:])
	title, _ := jsonx.String(m[0].Value)
	description, _ := jsonx.String(m[1].Value)
	return rag.ToolDocument(name, o.Tool.Server, o.Name, title+"\n"+description, m[2].Value)
}

// Close closes the index.
func (f *Finder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index == nil {
		return nil
	}
	return f.index.Close()
}

// FindTool and CallTool take the place of the tools that are not shown. They belong to callgate's own server. callgate
// resolves CallTool before anything else sees the call, so the server never hears of it.
const (
	FindTool = "callgate_find_tools"
	CallTool = "callgate_call_tool"
)
