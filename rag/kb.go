package rag

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"unicode/utf8"

	"callgate/internal/durable"
	"callgate/rag/internal/extract"
)

// KB is a knowledge base: texts that people or programs add by hand. It is safe for concurrent use.
type KB struct{ index *Index }

// KBHit is a document that a search found.
type KBHit struct {
	DocumentID string            `json:"documentId"`
	Content    string            `json:"content"`
	Passages   []KBPassage       `json:"passages"` // matching passages, best first
	Score      float64           `json:"score"`    // from 0 to 1, comparable across queries
	Metadata   map[string]string `json:"metadata,omitempty"`
}

// KBPassage is a part of a document.
type KBPassage struct {
	Start int    `json:"start"`
	End   int    `json:"end"` // lines of the content, from 1, both included
	Text  string `json:"text"`
}

// mostPassages is how many passages per document a search returns at most.
const mostPassages = 3

// KBDocument is a document in a list.
type KBDocument struct {
	DocumentID string            `json:"documentId"`
	Preview    string            `json:"preview"` // the first 100 characters
	Length     int               `json:"length"`  // of the content, in characters
	Metadata   map[string]string `json:"metadata,omitempty"`
}

// previewLength is the number of characters in a preview.
const previewLength = 100

// OpenKB opens the knowledge base in the directory dir, or one in memory if dir is "".
func OpenKB(dir string, o Options) (*KB, error) {
	index, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	return &KB{index}, nil
}

// Close closes the knowledge base. Documents in memory are lost.
func (kb *KB) Close() error { return kb.index.Close() }

// PathKey is the metadata key for the path of the file that a document comes from.
const PathKey = "path"

// Add adds a document, read with extract.Text, and returns its ID. There is one document per path, and one per text
// without a path. Adding it again updates its metadata. replaced reports whether the path had another text before.
func (kb *KB) Add(ctx context.Context, content string, metadata map[string]string) (id string, replaced bool, err error) {
	text, err := extract.Text([]byte(content))
	if err != nil {
		return "", false, fmt.Errorf("the document was not added: %w", err)
	}
	d := Document{ID: idOf(metadata[PathKey], text), Kind: KindNote, Text: text, Metadata: metadata}
	sources, err := sourcesOf([]Document{d})
	if err != nil {
		return "", false, err
	}
	err = kb.index.change(ctx, func(w *writer) (err error) {
		replaced, err = w.addNote(ctx, sources[0])
		return err
	})
	return d.ID, replaced, err
}

// idOf returns the ID of a document, made from its path or else from its text. The byte before a path occurs in no
// text.
func idOf(path, text string) string {
	of := text
	if path != "" {
		of = "\xff" + path
	}
	sum := sha256.Sum256([]byte(of))
	return "doc-" + hex.EncodeToString(sum[:8])
}

// addNote adds a document of a knowledge base as Add describes. Earlier versions gave documents with a path the ID of
// their text. addNote removes those of the same path. If a text without a path needs the ID of one, that one moves.
func (w *writer) addNote(ctx context.Context, s source) (replaced bool, err error) {
	if err := w.room([]source{s}); err != nil {
		return false, fmt.Errorf("the document was not added: %w", err)
	}
	path := s.Metadata[PathKey]
	var moved []source
	var old []key
	for k, at := range w.where {
		was := w.source(at)
		if !k.document || was.Kind != KindNote {
			continue
		}
		switch of := was.Metadata[PathKey]; {
		case path != "" && of == path:
			replaced = replaced || was.Text != s.Text
			old = append(old, k)
		case k == s.key() && of != path:
			one := *was
			one.Path = idOf(of, was.Text)
			if _, newer := w.where[one.key()]; !newer {
				moved = append(moved, one)
			}
		}
	}
	if err := w.addDocuments(ctx, append(moved, s)); err != nil { // nothing is removed before its successor is there
		return false, err
	}
	for _, k := range old {
		if k != s.key() {
			w.remove(k)
		}
	}
	return replaced, nil
}

// Put adds a document with its ID and text unchanged, or replaces the one with that ID.
func (kb *KB) Put(ctx context.Context, d Document) error {
	d.Kind = KindNote
	return kb.index.Add(ctx, d)
}

// Documents returns all documents with their texts, oldest first.
func (kb *KB) Documents() ([]Document, error) { return kb.index.Documents(KindNote) }

// Version returns a name for the documents on disk. It changes whenever a document does, also by another process. It is
// "" in memory and before anything was written.
func (kb *KB) Version() (string, error) {
	if kb.index.disk == nil {
		return "", nil
	}
	text, err := durable.ReadFile(kb.index.disk.path(manifestName), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// Search returns the documents most like the query, best first, that score at least threshold. A limit of 0 means 5.
func (kb *KB) Search(ctx context.Context, query string, limit int, threshold float64) ([]KBHit, error) {
	limit = min(cmp.Or(max(0, limit), 5), maxHits)
	// A document may have several chunks among the hits.
	hits, err := kb.index.Search(ctx, Query{Text: query, Kind: KindNote, Limit: 4 * limit, Threshold: threshold, WithText: true})
	if err != nil {
		return nil, err
	}
	best, passages := map[string]float64{}, map[string][]KBPassage{}
	for i := range hits {
		h := &hits[i]
		best[h.Path] = max(best[h.Path], h.Parts.Similarity())
		if len(passages[h.Path]) < mostPassages {
			passages[h.Path] = append(passages[h.Path], KBPassage{h.Start, h.End, h.Text})
		}
	}
	docs, err := kb.index.documents(func(s *source) bool { _, ok := best[s.Path]; return ok && s.Kind == KindNote })
	if err != nil {
		return nil, err
	}
	found := []KBHit{}
	for _, d := range docs {
		found = append(found, KBHit{d.ID, d.Text, passages[d.ID], best[d.ID], d.Metadata})
	}
	slices.SortStableFunc(found, func(a, b KBHit) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(len(found), limit)], nil
}

// List returns all documents, oldest first.
func (kb *KB) List() ([]KBDocument, error) {
	docs, err := kb.Documents()
	if err != nil {
		return nil, err
	}
	list := make([]KBDocument, len(docs))
	for i, d := range docs {
		list[i] = KBDocument{d.ID, preview(d.Text), utf8.RuneCountInString(d.Text), maps.Clone(d.Metadata)}
	}
	return list, nil
}

func preview(text string) string {
	n := 0
	for i := range text {
		if n == previewLength {
			return text[:i]
		}
		n++
	}
	return text
}

// Remove removes a document and reports whether there was one.
func (kb *KB) Remove(ctx context.Context, id string) (found bool, err error) {
	n, err := kb.index.Remove(ctx, id)
	return n > 0, err
}
