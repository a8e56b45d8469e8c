package suggest

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// brute returns the best value of all sets of at most limit candidates.
func (p *problem) brute(limit int) (best int) {
	for set := range uint(1) << len(p.costs) {
		if bits.OnesCount(set) > limit {
			continue
		}
		met := func(it item) bool {
			for _, need := range it.needs {
				if !slices.ContainsFunc(need, func(c int) bool { return set>>c&1 == 1 }) {
					return false
				}
			}
			return true
		}
		if slices.ContainsFunc(p.forbidden, met) {
			continue
		}
		value := 0
		for c, cost := range p.costs {
			value -= cost * int(set>>c&1)
		}
		for _, it := range p.items {
			if met(it) {
				value += it.weight
			}
		}
		best = max(best, value)
	}
	return best
}

func randomItem(r *rand.Rand, candidates int) item {
	it := item{weight: units * (1 + r.IntN(12))}
	for range 1 + r.IntN(3) {
		var need []int
		for range 1 + r.IntN(3) {
			if c := r.IntN(candidates); !slices.Contains(need, c) {
				need = append(need, c)
			}
		}
		it.needs = append(it.needs, need)
	}
	return it
}

// TestSolveIsExact checks that the solver finds the best set, and the same set each time.
func TestSolveIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 400 {
		p := &problem{costs: make([]int, 1+r.IntN(11))}
		for c := range p.costs {
			p.costs[c] = 200 + 5*r.IntN(80)
		}
		for range r.IntN(14) {
			p.items = append(p.items, randomItem(r, len(p.costs)))
		}
		for range r.IntN(4) {
			p.forbidden = append(p.forbidden, randomItem(r, len(p.costs)))
		}
		limit := 1 + r.IntN(6)
		got := p.solve(limit)
		if want := p.brute(limit); got.value != want || got.gap != 0 {
			t.Fatalf("round %d: %d with gap %d, want %d: %+v", round, got.value, got.gap, want, p)
		}
		if again := p.solve(limit); !slices.Equal(again.chosen, got.chosen) || len(got.chosen) > limit {
			t.Fatalf("round %d: %v and then %v", round, got.chosen, again.chosen)
		}
	}
}

// TestGapBoundsTheBest checks that a search which ends early reports how far off it may be.
func TestGapBoundsTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 200 {
		p := &problem{costs: make([]int, 10)}
		for c := range p.costs {
			p.costs[c] = 100 + 5*r.IntN(60)
		}
		for range 20 {
			p.items = append(p.items, randomItem(r, len(p.costs)))
		}
		group := make([]int, len(p.costs))
		for c := range group {
			group[c] = c
		}
		got := p.search(group, 5, 3)
		if want := p.brute(5); got.value > want || got.value+got.gap < want {
			t.Fatalf("round %d: %d with gap %d, but the best is %d", round, got.value, got.gap, want)
		}
	}
}
