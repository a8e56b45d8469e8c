package rag

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// KB is a knowledge base: texts that people or programs add by hand. It is safe for concurrent use.
type KB struct{ index *Index }

// KBHit is a document that was found.
type KBHit struct {
	DocumentID string            `json:"documentId"`
	Content    string            `json:"content"`
	Score      float64           `json:"score"` // from 0 to 1, comparable across queries
	Metadata   map[string]string `json:"metadata,omitempty"`
}

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

// Close closes it. One in memory is gone.
func (kb *KB) Close() error { return kb.index.Close() }

// Add adds a document and returns its ID.
func (kb *KB) Add(ctx context.Context, content string, metadata map[string]string) (string, error) {
	if strings.TrimSpace(content) == "" {
		return "", errors.New("a document needs content")
	}
	var random [8]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	id := "doc-" + hex.EncodeToString(random[:])
	return id, kb.index.Add(ctx, Document{ID: id, Kind: KindNote, Text: content, Metadata: metadata})
}

// Search returns the documents most like the query, best first, none with a score below threshold. A limit of 0
// means 5.
func (kb *KB) Search(ctx context.Context, query string, limit int, threshold float64) ([]KBHit, error) {
	limit = min(cmp.Or(max(0, limit), 5), maxHits)
	// A document may have several chunks among the hits.
	hits, err := kb.index.Search(ctx, Query{Text: query, Kind: KindNote, Limit: 4 * limit, Threshold: threshold})
	if err != nil {
		return nil, err
	}
	best := map[string]float64{}
	for i := range hits {
		best[hits[i].Path] = max(best[hits[i].Path], hits[i].Parts.Similarity())
	}
	docs, err := kb.index.documents(func(s *source) bool { _, ok := best[s.Path]; return ok && s.Kind == KindNote })
	if err != nil {
		return nil, err
	}
	found := []KBHit{}
	for _, d := range docs {
		found = append(found, KBHit{d.ID, d.Text, best[d.ID], d.Metadata})
	}
	slices.SortStableFunc(found, func(a, b KBHit) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(len(found), limit)], nil
}

// List returns all documents, oldest first.
func (kb *KB) List() ([]KBDocument, error) {
	docs, err := kb.index.Documents(KindNote)
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
