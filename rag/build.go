package rag

import (
	"context"
	"path"
	"strings"
	"sync"

	"callgate/rag/chunks"
	"callgate/rag/internal/lexical"
	"callgate/rag/internal/terms"
)

// builder collects chunks for a segment. It is not safe for concurrent use.
type builder struct {
	embedder Embedder
	words    *terms.Analyzer
	inPlace  bool // the embedder is the built-in table: vectors are made from the terms

	rows    rows
	table   symbols
	vectors vectors
	docs    []lexical.Document
	texts   []string // for other embedders
	size    int      // bytes of text
}

// segmentSize is the size of text in bytes at which a builder makes a segment. Larger segments take more memory to
// build (see workerMemory), but a search has fewer to look into.
const segmentSize = 3 << 20

// building is held while bleve builds a segment. That takes as much memory again as the terms of its texts.
var building sync.Mutex

func newBuilder(e Embedder) *builder {
	b := &builder{embedder: e}
	if s, ok := e.(*static); ok {
		b.inPlace = true
		b.words = terms.New(s.table)
	} else {
		b.words = terms.New(nil)
	}
	b.reset()
	return b
}

func (b *builder) reset() {
	b.rows, b.table, b.vectors = rows{}, symbols{}, vectors{Dim: b.embedder.Dim()}
	b.docs, b.texts, b.size = nil, nil, 0
}

// add adds a source with its chunks. It ignores a source without chunks.
func (b *builder) add(s source, passages []chunks.Chunk) {
	if len(passages) == 0 {
		return
	}
	s.First, s.Rows = b.rows.len(), 0
	b.rows.Sources = append(b.rows.Sources, s)
	for i := range passages {
		c := &passages[i]
		b.words.Begin()
		b.words.Add(c.Text)
		b.words.Add(surroundings(&s, c))
		for _, name := range c.Defines {
			b.table.add(name, b.rows.len())
		}
		b.rows.add(c, b.words.Length())
		b.docs = append(b.docs, lexical.Document{Terms: b.words.Frequencies(), Length: b.words.Length()})
		if b.inPlace {
			b.vectors.append(b.words.Vector())
		} else {
			b.texts = append(b.texts, passage(&s, c))
		}
		b.size += len(c.Text)
	}
}

// surroundings returns the text that counts besides a chunk's own: where it is, what it is part of and, a second time,
// what it defines. The file's name appears twice too, because both kinds of names say what is inside.
func surroundings(s *source, c *chunks.Chunk) string {
	names := strings.Join(c.Defines[:min(len(c.Defines), maxNamed)], " ")
	if s.Document {
		return s.Title + " " + c.Outer + " " + names
	}
	dir, base := path.Split(s.Path)
	base = strings.TrimSuffix(base, path.Ext(base))
	dir = path.Clean(dir)
	return strings.Join([]string{base, base, path.Base(dir), path.Base(path.Dir(dir)), c.Outer, names}, " ")
}

// maxNamed bounds how many of a chunk's definitions count a second time.
const maxNamed = 8

// passage returns a chunk as an embedding model sees it.
func passage(s *source, c *chunks.Chunk) string {
	head := s.Path
	if s.Document {
		head = s.Title
	}
	if c.Symbol != "" {
		head += " " + c.Symbol
	}
	return strings.TrimSpace(head + "\n" + c.Text)
}

// build makes and stores a segment of what was added, and starts over. If the embedder fails, build returns its error
// as embedding, with a segment whose rows have no vectors but can be found by their words.
func (b *builder) build(ctx context.Context, w *writer) (s *segment, embedding error, err error) {
	if !b.inPlace {
		var found [][]float32
		found, embedding = embedAll(ctx, b.embedder, ForDocument, b.texts)
		for i := range b.texts {
			if embedding == nil {
				b.vectors.append(found[i])
			} else {
				b.vectors.append(nil)
			}
		}
	}
	b.table.writeTo(&b.rows)
	r, v, docs := b.rows, b.vectors, b.docs
	v.fit()
	s = &segment{name: w.newName(), rows: &r, vectors: &v}
	if embedding == nil {
		s.embedder = b.embedder.ID()
	}
	b.reset()
	if d := w.x.disk; d != nil {
		err = s.write(d, func(dir string) error {
			building.Lock()
			defer building.Unlock()
			return lexical.Build(dir, docs)
		})
	} else {
		s.words, err = lexical.InMemory(docs)
	}
	return s, embedding, err
}
