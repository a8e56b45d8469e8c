package lexical

import "slices"

// Scored is a row with a score.
type Scored struct {
	Row   int
	Score float32
}

// Top keeps the n best of what is added. It is a heap with the worst on top.
type Top struct {
	heap  []Scored
	n     int
	Least float32 // scores up to this need not be added
}

func NewTop(n int) *Top { return &Top{heap: make([]Scored, 0, n), n: n} }

func (t *Top) Add(s Scored) {
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
		t.Least = t.heap[0].Score
	}
}

// worse orders by score. Of equal scores, the later row is worse.
func worse(a, b Scored) bool {
	return a.Score < b.Score || a.Score == b.Score && a.Row > b.Row
}

// Sorted returns the entries kept, best first.
func (t *Top) Sorted() []Scored {
	slices.SortFunc(t.heap, func(a, b Scored) int {
		if worse(b, a) {
			return -1
		}
		return 1
	})
	return t.heap
}
