package rag

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"callgate/rag/chunks"
	"callgate/rag/internal/lexical"
	"callgate/rag/internal/terms"
)

// Query is what to search for.
type Query struct {
	Text  string
	Limit int // of hits; default 10, at most 200
	// Path, Language and Kind restrict the search. Path is a glob over a file's path in the workspace, its absolute
	// path, or a document's ID. * does not cross slashes, ** does; a pattern without a slash matches names at any
	// depth. Language is a name or a file extension.
	Path     string
	Language string
	Kind     Kind
	// Within is a folder of the workspace, with slashes. Only its files are found. Path and the paths of hits are
	// relative to it.
	Within string
	// Denied leaves out files like Options.Denied, for this query only; nil denies none.
	Denied func(path string) bool
	// Threshold leaves out hits with a lower Parts.Similarity.
	Threshold float64
	// WithText sets the Text of hits.
	WithText bool
}

// Hit is a chunk that was found.
type Hit struct {
	Path     string            `json:"path"` // in the workspace, or in Query.Within, with slashes; of a document: its ID
	Start    int               `json:"start,omitzero"`
	End      int               `json:"end,omitzero"` // lines, from 1, both included
	Symbol   string            `json:"symbol,omitzero"`
	Language string            `json:"language,omitzero"`
	Kind     Kind              `json:"kind"`
	Document bool              `json:"document,omitzero"`
	Title    string            `json:"title,omitzero"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Score    float64           `json:"score"` // orders the hits of one query; not comparable across queries
	Parts    Parts             `json:"parts"`
	// Text is the chunk's text, if the query asked for it. If the file has changed since it was indexed, Stale is set,
	// and Text, Start and End are empty. Gone means that the file no longer exists.
	Text  string `json:"text,omitzero"`
	Stale bool   `json:"stale,omitzero"`
	Gone  bool   `json:"gone,omitzero"`
}

// Parts holds the parts of a score: (Fusion + Match + Definition + Path + File) × Factor.
type Parts struct {
	Fusion     float64 `json:"fusion"`     // the ranks by words and by meaning, fused
	Match      float64 `json:"match"`      // BM25 and Cosine, relative to the best of all candidates
	Definition float64 `json:"definition"` // the chunk defines a name in the query, or a name that shares words with it
	Path       float64 `json:"path"`       // its path shares words with the query
	File       float64 `json:"file"`       // its file has other hits
	Factor     float64 `json:"factor"`     // below 1 for tests and examples, and for the second and later hits of a file

	// The values behind Fusion and Match.
	BM25     float64 `json:"bm25"`
	Coverage float64 `json:"coverage"` // BM25 as a share of the most that a text could get, from 0 to 1
	Cosine   float64 `json:"cosine"`
}

// Similarity returns a value from 0 to 1 that is comparable across queries: half words, half meaning.
func (p *Parts) Similarity() float64 { return (p.Coverage + max(0, p.Cosine)) / 2 }

const (
	// maxQuery is the length in bytes at which a query is cut off.
	maxQuery = 8 << 10
	// maxHits bounds Query.Limit.
	maxHits = 200
	// depth is the number of candidates by words, and again by meaning.
	depth = 200
)

// Search returns the best hits, best first. It sees every change that any process finished before Search began. If the
// embedder fails, it searches by words.
func (x *Index) Search(ctx context.Context, q Query) ([]Hit, error) {
	if len(q.Text) > maxQuery {
		q.Text = strings.ToValidUTF8(q.Text[:maxQuery], "")
	}
	q.Limit = min(cmp.Or(max(0, q.Limit), 10), maxHits)
	if err := q.Check(); err != nil {
		return nil, err
	}
	x.purgeDenied(ctx)
	snap, err := x.acquire()
	if err != nil {
		return nil, err
	}
	s := searches.Get().(*search)
	defer searches.Put(s)
	s.index, s.snapshot = x, snap
	hits, err := s.run(ctx, &q)
	s.index, s.snapshot, s.filter.snapshot, s.filter.query = nil, nil, nil, nil // the pool must not hold on to them
	return hits, errors.Join(err, s.matches.End(), snap.release())
}

// search is one Search in progress, with memory that the next one reuses.
type search struct {
	index    *Index
	snapshot *snapshot

	words   *terms.Analyzer
	matches lexical.Search
	most    float64            // the highest BM25 that a text could have
	rarity  map[string]float64 // of the query's stems: their inverse document frequencies
	vector  []float32          // of the query; nil if there is none

	filter    filter
	distances []uint16
}

var searches = sync.Pool{New: func() any { return &search{words: terms.New(nil)} }}

func (s *search) run(ctx context.Context, q *Query) ([]Hit, error) {
	if s.snapshot.live == 0 {
		return nil, ctx.Err()
	}
	if err := s.filter.prepare(s.snapshot, q); err != nil {
		return nil, err
	}
	if err := s.embed(ctx, q.Text); err != nil {
		return nil, err
	}
	byWords, err := s.byWords(ctx, q.Text)
	if err != nil {
		return nil, err
	}
	byMeaning := s.byMeaning()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.hits(q, s.rank(q.Text, fuse(byWords, byMeaning))), nil
}

// embed sets the query's vector. A failing embedder is no error: the search by words remains.
func (s *search) embed(ctx context.Context, text string) error {
	s.vector = nil
	e := s.index.options.Embedder
	if t, ok := e.(*static); ok {
		if !s.words.Embeds() {
			s.words = terms.New(t.table)
		}
		s.words.Begin()
		s.words.Add(text)
		s.vector = s.words.Vector()
		return nil
	}
	got, err := embedAll(ctx, e, ForQuery, []string{text})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		s.index.options.Logger.Warn("searching by words only", "error", err)
	default:
		s.vector = got[0]
	}
	return nil
}

// hits describes the best candidates that the caller may see.
func (s *search) hits(q *Query, ranked []candidate) []Hit {
	files := fileReader{dir: s.snapshot.manifest.Root}
	defer files.close()
	hits := []Hit{}
	for i := range ranked {
		if len(hits) == q.Limit {
			break
		}
		c := &ranked[i]
		p, row := s.snapshot.at(c.row)
		from := &p.rows.Sources[p.rows.Source[row]]
		if !from.Document && s.denied(q, from.Path) {
			continue
		}
		if c.parts.Similarity() < q.Threshold {
			continue
		}
		h := Hit{
			Path: strings.TrimPrefix(from.Path, s.filter.within), Start: int(p.rows.Start[row]), End: int(p.rows.End[row]), Symbol: p.rows.Symbol[row],
			Language: from.Language, Kind: from.Kind, Document: from.Document, Title: from.Title, Metadata: from.Metadata,
			Score: c.score, Parts: c.parts,
		}
		if q.WithText {
			h.show(files.text(from))
		}
		hits = append(hits, h)
	}
	return hits
}

// measure sets the scores that Fusion and Match are computed from.
func (s *search) measure(c *candidate) {
	p, row := s.snapshot.at(c.row)
	c.parts.BM25 = float64(s.matches.Score(c.row))
	if s.most > 0 {
		c.parts.Coverage = c.parts.BM25 / s.most
	}
	if s.vector != nil && p.vectorsOf(s.index.options.Embedder) {
		c.parts.Cosine = float64(p.vectors.cosine(row, s.vector))
	}
}

// denied checks again: the rules may be stricter than when the file was indexed.
func (s *search) denied(q *Query, path string) bool {
	path = filepath.Join(s.snapshot.manifest.Root, filepath.FromSlash(path))
	denied := s.index.options.Denied
	return denied != nil && denied(path) || q.Denied != nil && q.Denied(path)
}

// show sets the hit's text to its lines of the source's text. If err says why there is no text, it marks the hit stale.
func (h *Hit) show(text string, err error) {
	if err == nil {
		h.Text = chunks.Lines(text, h.Start, h.End)
		return
	}
	h.Start, h.End = 0, 0
	h.Stale, h.Gone = true, errors.Is(err, fs.ErrNotExist)
}

// fileReader reads the files of hits, each once.
type fileReader struct {
	dir   string
	root  *os.Root
	texts map[string]fileText
}

type fileText struct {
	text string
	err  error
}

func (r *fileReader) close() {
	if r.root != nil {
		r.root.Close()
	}
}

// text returns the text that was indexed, or an error if the file has changed, fs.ErrNotExist if it is gone.
func (r *fileReader) text(s *source) (string, error) {
	if s.Document {
		return s.Text, nil
	}
	t, ok := r.texts[s.Path]
	if !ok {
		if r.texts == nil {
			r.texts = map[string]fileText{}
		}
		t.text, t.err = r.read(s)
		r.texts[s.Path] = t
	}
	return t.text, t.err
}

func (r *fileReader) read(s *source) (string, error) {
	if r.root == nil {
		root, err := os.OpenRoot(r.dir)
		if err != nil {
			return "", err
		}
		r.root = root
	}
	ws := workspace{dir: r.dir, root: r.root, maxSize: s.Size}
	text, now, err := ws.read(&found{name: s.Path})
	if err == nil && now.Hash != s.Hash {
		err = errSkip("changed since it was indexed")
	}
	return text, err
}
