package rag

import (
	"fmt"
	"math"
	"slices"

	"callgate/rag/internal/lexical"
)

const (
	// smallRows is the largest number of live rows of a small segment.
	smallRows = 256
	// maxSmall is the number of small segments above which they are merged. A search pays for each segment.
	maxSmall = 8
	// maxSegments is the number of segments above which the smallest are merged, mergedAtOnce at a time.
	maxSegments  = 96
	mergedAtOnce = 8
)

// compact merges segments if there are too many, and rewrites large ones that are more than half dead.
func (w *writer) compact() error {
	var small, worn []int
	for i := range w.parts {
		p := &w.parts[i]
		switch live := p.live(); {
		case live == 0:
		case live <= smallRows:
			small = append(small, i)
		case live < p.rows.len()/2:
			worn = append(worn, i)
		}
	}
	if len(small) > maxSmall {
		worn = append(worn, small...)
	}
	if err := w.mergeAll(worn); err != nil {
		return err
	}
	for before := math.MaxInt; ; {
		smallest := w.living()
		if len(smallest) <= maxSegments || len(smallest) >= before { // few enough, or they cannot be merged
			return nil
		}
		before = len(smallest)
		if err := w.mergeAll(smallest[:mergedAtOnce]); err != nil {
			return err
		}
	}
}

// living returns the parts that have a live row, smallest first.
func (w *writer) living() (parts []int) {
	for i := range w.parts {
		if w.parts[i].live() > 0 {
			parts = append(parts, i)
		}
	}
	slices.SortFunc(parts, func(a, b int) int { return w.parts[a].live() - w.parts[b].live() })
	return parts
}

func (w *writer) mergeAll(parts []int) error {
	for _, group := range w.mergeable(parts) {
		if err := w.merge(group); err != nil {
			return err
		}
	}
	return nil
}

// mergeable groups the parts by embedder, because a segment holds vectors of one kind. In memory it leaves out parts
// with files: only documents have their text at hand.
func (w *writer) mergeable(parts []int) [][]int {
	slices.Sort(parts)
	groups := map[string][]int{}
	var order []string
	for _, i := range parts {
		p := &w.parts[i]
		if w.x.disk == nil && !p.onlyDocuments() {
			continue
		}
		k := fmt.Sprintf("%d %s", p.vectors.Dim, p.embedder)
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	var out [][]int
	for _, k := range order {
		out = append(out, groups[k])
	}
	return out
}

func (p *part) onlyDocuments() bool {
	return !slices.ContainsFunc(p.rows.Sources, func(s source) bool { return !s.Document })
}

// merge replaces the parts by one segment with their live rows.
func (w *writer) merge(group []int) error {
	parts := make([]part, len(group))
	for i, at := range group {
		parts[i] = w.parts[at]
	}
	merged := &segment{embedder: parts[0].embedder, name: w.newName()}
	var moved [][]int
	merged.rows, merged.vectors, moved = mergeRows(parts)
	if merged.rows.len() == 0 {
		return nil
	}
	var err error
	if d := w.x.disk; d == nil {
		merged.words, err = w.rebuild(merged.rows)
	} else {
		from := make([]*lexical.Index, len(parts))
		for i := range parts {
			from[i] = parts[i].words
		}
		err = merged.write(d, func(dir string) error { return lexical.Merge(dir, from, moved) })
	}
	if err != nil {
		return err
	}
	w.add(merged)
	return nil
}

// rebuild indexes the words of documents again from their texts.
func (w *writer) rebuild(r *rows) (*lexical.Index, error) {
	b := newBuilder(w.x.options.Embedder)
	for i := range r.Sources {
		s := r.Sources[i]
		b.add(s, documentChunks(&s))
	}
	return lexical.InMemory(b.docs)
}
