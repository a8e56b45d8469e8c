package rag

import (
	"context"
	"math"
	"slices"
	"sync"
)

// BM25's usual parameters.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// unseen is how many more chunks are taken to be there, with none of the query's terms. It keeps the terms of a
// handful of documents from weighing next to nothing beside terms that none of them has.
const unseen = 10

// queryTerm is a term that is looked for.
type queryTerm struct {
	stem   string
	count  int
	weight float64 // its inverse document frequency, as often as the query has it
}

// scored is a row with a score.
type scored struct {
	row   int
	score float32
}

// byWords scores every row by BM25 and returns the best.
func (s *search) byWords(ctx context.Context, text string) ([]scored, error) {
	s.readTerms(text)
	snap := s.snapshot
	s.scores = zeroed(s.scores, snap.rows)
	s.lists = grown(s.lists, len(snap.parts))
	err := s.eachPart(func(i int, p *part) error {
		s.lists[i] = grown(s.lists[i], len(s.terms))
		for t := range s.terms {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var err error
			if s.lists[i][t], err = p.postings.find(s.terms[t].stem, p.dead, s.lists[i][t][:0]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for t := range s.terms {
		n := 0
		for i := range snap.parts {
			n += len(s.lists[i][t])
		}
		idf := math.Log(1 + (float64(snap.live+unseen)-float64(n)+0.5)/(float64(n)+0.5))
		s.terms[t].weight = float64(s.terms[t].count) * idf
	}
	err = s.eachPart(func(i int, p *part) error {
		scores := s.scores[snap.first[i]:][:p.rows.len()]
		for t := range s.terms {
			weight := float32(s.terms[t].weight * (bm25K + 1))
			perTerm := float32(bm25K * bm25B / snap.length)
			for _, e := range s.lists[i][t] {
				n := float32(e.count)
				scores[e.row] += weight * n / (n + bm25K*(1-bm25B) + perTerm*float32(p.rows.Length[e.row]))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	best := newTop(depth)
	for i := range snap.parts {
		first := snap.first[i]
		for row, score := range s.scores[first:][:snap.parts[i].rows.len()] {
			if score > best.least && s.filter.allows(i, row) {
				best.add(scored{first + row, score})
			}
		}
	}
	return best.sorted(), nil
}

// readTerms splits the query. Stop words count only when there is nothing else.
func (s *search) readTerms(text string) {
	s.terms = s.terms[:0]
	counts := map[string]int{}
	add := func(token []byte) { counts[string(token)]++ }
	tokenize(text, add, add)
	meaningful := map[string]int{}
	for token, n := range counts {
		if !stopWords[token] {
			meaningful[token] = n
		}
	}
	if len(meaningful) == 0 {
		meaningful = counts
	}
	stems := map[string]int{}
	for token, n := range meaningful {
		stems[stem(token)] += n
	}
	for stem, n := range stems {
		s.terms = append(s.terms, queryTerm{stem: stem, count: n})
	}
	slices.SortFunc(s.terms, func(a, b queryTerm) int { // scores are sums: always in the same order
		if a.stem < b.stem {
			return -1
		}
		return 1
	})
	s.terms = s.terms[:min(len(s.terms), maxQueryTerms)]
}

// maxQueryTerms bounds the work for a query.
const maxQueryTerms = 256

// eachPart runs do for all parts, side by side.
func (s *search) eachPart(do func(i int, p *part) error) error {
	parts := s.snapshot.parts
	if len(parts) == 1 || s.snapshot.rows < 4096 {
		for i := range parts {
			if err := do(i, &parts[i]); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(parts))
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() { errs[i] = do(i, &parts[i]) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// grown returns s with length n, keeping what it has for use again.
func grown[T any](s []T, n int) []T {
	s = s[:cap(s)]
	for len(s) < n {
		var zero T
		s = append(s, zero)
	}
	return s[:n]
}

func zeroed[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// top keeps the n best of what is added: a heap with the least of them on top.
type top struct {
	heap  []scored
	n     int
	least float32 // what does not beat it need not be added
}

func newTop(n int) *top { return &top{heap: make([]scored, 0, n), n: n} }

func (t *top) add(s scored) {
	h := t.heap
	if len(h) < t.n {
		h = append(h, s)
		for i := len(h) - 1; i > 0; {
			parent := (i - 1) / 2
			if !worse(h[i], h[parent]) {
				break
			}
			h[i], h[parent] = h[parent], h[i]
			i = parent
		}
		t.heap = h
	} else if worse(h[0], s) {
		h[0] = s
		for i := 0; ; {
			child := 2*i + 1
			if child >= len(h) {
				break
			}
			if child+1 < len(h) && worse(h[child+1], h[child]) {
				child++
			}
			if !worse(h[child], h[i]) {
				break
			}
			h[i], h[child] = h[child], h[i]
			i = child
		}
	}
	if len(t.heap) == t.n {
		t.least = t.heap[0].score
	}
}

// worse orders by score, and rows of equal scores by their place.
func worse(a, b scored) bool {
	return a.score < b.score || a.score == b.score && a.row > b.row
}

// sorted returns what was kept, best first.
func (t *top) sorted() []scored {
	slices.SortFunc(t.heap, func(a, b scored) int {
		if worse(b, a) {
			return -1
		}
		return 1
	})
	return t.heap
}
