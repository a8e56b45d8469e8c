package rag

import (
	"slices"

	"callgate/rag/internal/lexical"
)

// exactRows is roughly how many rows are compared exactly: those whose sketches are nearest to the query's.
const exactRows = 2000

// byMeaning returns the rows with the vectors nearest to the query's.
func (s *search) byMeaning() []lexical.Scored {
	best := lexical.NewTop(depth)
	best.Least = 0 // vectors that point away are no hits
	if s.vector == nil || isZero(s.vector) {
		return nil
	}
	snap := s.snapshot
	e := s.index.options.Embedder
	sketch := appendSketch(nil, s.vector)
	s.distances = zeroed(s.distances, snap.rows)
	counts := make([]int, sketchBits(len(s.vector))+1)
	for i := range snap.parts {
		p := &snap.parts[i]
		if !p.vectorsOf(e) {
			continue
		}
		distances := s.distances[snap.first[i]:][:p.rows.len()]
		p.vectors.distances(sketch, distances)
		for row, d := range distances {
			if s.filter.open || s.filter.allows(i, row) {
				counts[d]++
			}
		}
	}
	limit, n := 0, 0
	for limit < len(counts)-1 && n+counts[limit] <= exactRows {
		n += counts[limit]
		limit++
	}
	for i := range snap.parts {
		p := &snap.parts[i]
		if !p.vectorsOf(e) {
			continue
		}
		first := snap.first[i]
		for row, d := range s.distances[first:][:p.rows.len()] {
			if int(d) > limit || p.vectors.Scales[row] == 0 || !s.filter.allows(i, row) {
				continue
			}
			if score := p.vectors.cosine(row, s.vector); score > best.Least {
				best.Add(lexical.Scored{Row: first + row, Score: score})
			}
		}
	}
	return best.Sorted()
}

func isZero(v []float32) bool {
	return !slices.ContainsFunc(v, func(x float32) bool { return x != 0 })
}
