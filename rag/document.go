package rag

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"callgate/rag/chunks"
	"callgate/rag/internal/extract"
)

// Document is a text that is not a file of the workspace, such as a note or a tool's definition. The index stores its
// text.
type Document struct {
	ID       string
	Kind     Kind   // default: KindNote
	Language string // how to split it; default: markdown
	Title    string // can be found like a symbol
	Text     string
	Metadata map[string]string
}

// maxDocument bounds a document's text, in bytes.
const maxDocument = extract.MaxText

// Add adds documents, and replaces those with the same IDs. When it returns nil, every process can find them. If they
// do not fit into MaxMemory, it adds none.
func (x *Index) Add(ctx context.Context, docs ...Document) error {
	sources, err := sourcesOf(docs)
	if err != nil {
		return err
	}
	return x.change(ctx, func(w *writer) error {
		if err := w.room(sources); err != nil {
			return err
		}
		return w.addDocuments(ctx, sources)
	})
}

// sourcesOf returns the documents in the form that the index stores.
func sourcesOf(docs []Document) ([]source, error) {
	for i := range docs {
		d := &docs[i]
		if d.ID == "" {
			return nil, errors.New("rag: a document needs an ID")
		}
		if len(d.Text) > maxDocument {
			return nil, fmt.Errorf("rag: document %q has %d bytes, more than %d", d.ID, len(d.Text), maxDocument)
		}
	}
	sources := make([]source, len(docs))
	for i := range docs {
		d := &docs[i]
		text := strings.ToValidUTF8(d.Text, "\uFFFD")
		sources[i] = source{Path: d.ID, Document: true, Kind: cmp.Or(d.Kind, KindNote), Language: cmp.Or(d.Language, "markdown"),
			Title: d.Title, Text: text, Metadata: maps.Clone(d.Metadata), Size: int64(len(text)), Hash: hashOf([]byte(text)), Read: time.Now()}
	}
	return sources, nil
}

// addDocuments adds docs without checking for room.
func (w *writer) addDocuments(ctx context.Context, docs []source) error {
	b := newBuilder(w.x.options.Embedder)
	for i, s := range docs {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.add(s, documentChunks(&s))
		if b.size < segmentSize && i < len(docs)-1 {
			continue
		}
		made, embedding, err := b.build(ctx, w)
		if err != nil {
			return err
		}
		w.add(made)
		if embedding != nil {
			w.x.options.Logger.Warn("documents can be found by words only", "error", embedding)
		}
	}
	return nil
}

// documentChunks splits a document. A tool's definition is one chunk. A text with nothing to search for is one chunk
// too, found by its title.
func documentChunks(s *source) []chunks.Chunk {
	var passages []chunks.Chunk
	if s.Kind != KindTool {
		passages = chunks.Of(chunks.Language{Name: s.Language, Kind: s.Kind}, s.Text)
	}
	if len(passages) == 0 {
		passages = []chunks.Chunk{{Start: 1, End: strings.Count(strings.TrimSuffix(s.Text, "\n"), "\n") + 1, Text: s.Text}}
	}
	if s.Title != "" {
		passages[0].Defines = append([]string{s.Title}, passages[0].Defines...)
		for i := range passages {
			passages[i].Symbol = cmp.Or(passages[i].Symbol, s.Title)
		}
	}
	return passages
}

// Remove removes documents and returns how many there were.
func (x *Index) Remove(ctx context.Context, ids ...string) (int, error) {
	n := 0
	err := x.change(ctx, func(w *writer) error {
		for _, id := range ids {
			if w.remove(key{id, true}) {
				n++
			}
		}
		return nil
	})
	return n, err
}

// Documents returns all documents of the kind, oldest first.
func (x *Index) Documents(kind Kind) ([]Document, error) {
	return x.documents(func(s *source) bool { return s.Kind == kind })
}

// documents returns the documents for which want reports true, oldest first.
func (x *Index) documents(want func(*source) bool) ([]Document, error) {
	snap, err := x.acquire()
	if err != nil {
		return nil, err
	}
	var sources []*source
	for i := range snap.parts {
		p := &snap.parts[i]
		for j := range p.rows.Sources {
			if s := &p.rows.Sources[j]; s.Document && want(s) && p.liveSource(s) {
				sources = append(sources, s)
			}
		}
	}
	slices.SortStableFunc(sources, func(a, b *source) int {
		return cmp.Or(a.Read.Compare(b.Read), cmp.Compare(a.Path, b.Path))
	})
	docs := make([]Document, len(sources))
	for i, s := range sources {
		docs[i] = Document{ID: s.Path, Kind: s.Kind, Language: s.Language, Title: s.Title, Text: s.Text, Metadata: maps.Clone(s.Metadata)}
	}
	return docs, snap.release()
}

// Kind is the rough type of a text.
type Kind = chunks.Kind

const (
	KindCode   = chunks.KindCode
	KindDoc    = chunks.KindDoc    // prose: Markdown, reStructuredText, plain text
	KindConfig = chunks.KindConfig // JSON, YAML, TOML, build files
	KindNote   = chunks.KindNote   // a document of a knowledge base
	KindTool   = chunks.KindTool   // a tool's definition
)
