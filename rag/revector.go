package rag

import (
	"context"
	"fmt"

	"callgate/rag/chunks"
	"callgate/rag/internal/terms"
)

// reembed makes new vectors for the parts whose vectors come from another embedder or are missing because the embedder
// failed. Words and rows stay as they are.
func (u *update) reembed(ctx context.Context) error {
	e := u.w.x.options.Embedder
	for i := range u.w.parts {
		p := &u.w.parts[i]
		if p.vectorsOf(e) || p.live() == 0 {
			continue
		}
		made, err := u.newVectors(ctx, p)
		if err != nil {
			return fmt.Errorf("indexed, but without vectors: %w", err)
		}
		if err := u.w.replaceVectors(i, made); err != nil {
			return err
		}
	}
	return nil
}

// newVectors embeds the live rows of the part. A file that has changed since it was indexed will be read again anyway,
// so its rows get no vectors.
func (u *update) newVectors(ctx context.Context, p *part) (*vectors, error) {
	e := u.w.x.options.Embedder
	made := &vectors{Dim: e.Dim()}
	var texts []string
	var rowsOf []int // the row of each text
	found := make([][]float32, p.rows.len())
	flush := func() error {
		got, err := embedAll(ctx, e, ForDocument, texts)
		if err != nil {
			return err
		}
		for i, row := range rowsOf {
			found[row] = got[i]
		}
		texts, rowsOf = texts[:0], rowsOf[:0]
		return nil
	}
	for j := range p.rows.Sources {
		s := &p.rows.Sources[j]
		if !p.liveSource(s) {
			continue
		}
		text, ok := u.textOf(s)
		for row := s.First; ok && row < s.First+s.Rows; row++ {
			c := chunks.Chunk{Symbol: p.rows.Symbol[row], Text: chunks.Lines(text, int(p.rows.Start[row]), int(p.rows.End[row]))}
			texts, rowsOf = append(texts, passage(s, &c)), append(rowsOf, row)
		}
		if len(texts) >= 512 {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	for _, v := range found {
		made.append(v)
	}
	return made, nil
}

func (u *update) textOf(s *source) (string, bool) {
	if s.Document {
		return s.Text, true
	}
	text, now, err := u.ws.read(&found{name: s.Path})
	return text, err == nil && now.Hash == s.Hash
}

// embedAll embeds the texts and checks that the embedder keeps its contract. It normalizes the vectors.
func embedAll(ctx context.Context, e Embedder, purpose Purpose, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	got, err := e.Embed(ctx, purpose, texts)
	if err != nil {
		return nil, err
	}
	if len(got) != len(texts) {
		return nil, fmt.Errorf("embedder %s returned %d vectors for %d texts", e.ID(), len(got), len(texts))
	}
	for _, v := range got {
		if len(v) != e.Dim() {
			return nil, fmt.Errorf("embedder %s returned a vector of %d numbers, not %d", e.ID(), len(v), e.Dim())
		}
		terms.Normalize(v)
	}
	return got, nil
}

// replaceVectors replaces part i by a segment with the same words and rows and new vectors.
func (w *writer) replaceVectors(i int, made *vectors) error {
	p := &w.parts[i]
	s := &segment{name: w.newName(), embedder: w.x.options.Embedder.ID(), words: p.words, rows: p.rows, vectors: made}
	if d := w.x.disk; d != nil {
		sum, err := d.write(s.name+vectorsSuffix, s.vectors.encode)
		if err != nil {
			return err
		}
		s.files = append([]fileSum{p.files[0], sum}, p.files[2:]...)
	}
	s.words.Retain()
	err := p.release()
	p.segment = s.retain()
	w.dirty = true
	return err
}
