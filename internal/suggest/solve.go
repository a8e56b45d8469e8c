package suggest

import (
	"cmp"
	"slices"
)

// units is the worth of one question. Costs are whole numbers of units, so that every machine finds the same result.
const units = 100

// maxNodes limits the search for one number of patterns in one group. The gap accounts for what the search skips.
const maxNodes = 100_000

// problem is the choice to make. Candidates have costs. An item pays its weight if a chosen candidate meets each of its
// needs. A forbidden item MUST keep a need that no chosen candidate meets.
type problem struct {
	costs     []int
	items     []item
	forbidden []item
}

type item struct {
	weight int
	needs  [][]int // candidates that meet each need
}

// choice is a set of candidates and what it pays after costs. The best set pays at most gap more; 0 means that this is
// the best one.
type choice struct {
	chosen []int
	value  int
	gap    int
}

// solve returns the choice of at most limit candidates that pays most.
func (p *problem) solve(limit int) choice {
	// Groups that share no item are solved separately, for every number of candidates, and then combined.
	best := make([]choice, limit+1)
	for _, group := range p.groups() {
		part := make([]choice, min(limit, len(group))+1)
		for k := len(part) - 1; k > 0; {
			found := p.search(group, k, maxNodes)
			// The same choice is the best for every smaller limit that it fits.
			for least := max(1, len(found.chosen)); k >= least; k-- {
				part[k] = found
			}
		}
		next := make([]choice, limit+1)
		for total := range next {
			for k := 0; k < min(len(part), total+1); k++ {
				c := choice{slices.Concat(best[total-k].chosen, part[k].chosen), best[total-k].value + part[k].value, best[total-k].gap + part[k].gap}
				if k == 0 || c.value > next[total].value {
					c.gap = max(c.gap, next[total].gap)
					next[total] = c
				} else {
					next[total].gap = max(next[total].gap, c.value+c.gap-next[total].value)
				}
			}
		}
		best = next
	}
	slices.Sort(best[limit].chosen)
	return best[limit]
}

// groups returns the groups of candidates that share items, directly or through others.
func (p *problem) groups() [][]int {
	parent := make([]int, len(p.costs))
	for i := range parent {
		parent[i] = i
	}
	var root func(int) int
	root = func(i int) int {
		if parent[i] != i {
			parent[i] = root(parent[i])
		}
		return parent[i]
	}
	for _, it := range slices.Concat(p.items, p.forbidden) {
		first := -1
		for _, c := range slices.Concat(it.needs...) {
			if first < 0 {
				first = root(c)
			}
			parent[root(c)] = first
		}
	}
	byRoot, groups := map[int]int{}, [][]int{}
	for c := range p.costs {
		g, ok := byRoot[root(c)]
		if !ok {
			g = len(groups)
			byRoot[root(c)], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], c)
	}
	return groups
}

// search is one branch and bound over a group.
type search struct {
	p                *problem
	order            []int
	limit            int
	items, forbidden []int
	reach            []int // the weight of all items of each candidate
	state            []int8
	count, cost      int
	best             choice
	nodes            int // how many nodes the search may still visit
	missed           int // the best bound of the nodes that it skipped
}

const (
	open int8 = iota
	in
	out
)

func (p *problem) search(group []int, limit, nodes int) choice {
	s := &search{p: p, limit: limit, nodes: nodes, reach: make([]int, len(p.costs)), state: make([]int8, len(p.costs))}
	ours := func(it item) bool { return slices.Contains(group, it.needs[0][0]) }
	for i, it := range p.items {
		if ours(it) {
			s.items = append(s.items, i)
			for _, c := range it.candidates() {
				s.reach[c] += it.weight
			}
		}
	}
	for i, it := range p.forbidden {
		if ours(it) {
			s.forbidden = append(s.forbidden, i)
		}
	}
	s.order = slices.Clone(group)
	slices.SortStableFunc(s.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(s.reach[b]-p.costs[b], s.reach[a]-p.costs[a]), cmp.Compare(a, b))
	})
	s.walk(0)
	s.best.gap = max(0, s.missed-s.best.value)
	return s.best
}

// candidates returns the candidates of all needs, without repeats.
func (it *item) candidates() []int {
	all := slices.Concat(it.needs...)
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *search) walk(at int) {
	value, bound := s.bound()
	if value > s.best.value && s.permitted() {
		s.best.value, s.best.chosen = value, nil
		for c, state := range s.state {
			if state == in {
				s.best.chosen = append(s.best.chosen, c)
			}
		}
	}
	if at == len(s.order) || s.count == s.limit || bound <= s.best.value || !s.permitted() {
		return
	}
	if s.nodes--; s.nodes < 0 {
		s.missed = max(s.missed, bound)
		return
	}
	c := s.order[at]
	s.state[c], s.count, s.cost = in, s.count+1, s.cost+s.p.costs[c]
	s.walk(at + 1)
	s.state[c], s.count, s.cost = out, s.count-1, s.cost-s.p.costs[c]
	s.walk(at + 1)
	s.state[c] = open
}

// permitted reports whether no forbidden item has all its needs met.
func (s *search) permitted() bool {
	for _, i := range s.forbidden {
		if met, _ := s.needs(&s.p.forbidden[i]); met {
			return false
		}
	}
	return true
}

// needs reports whether all needs of an item are met, and whether they still can be.
func (s *search) needs(it *item) (met, possible bool) {
	met = true
	for _, need := range it.needs {
		state := out
		for _, c := range need {
			if s.state[c] == in {
				state = in
				break
			}
			if s.state[c] == open {
				state = open
			}
		}
		switch state {
		case out:
			return false, false
		case open:
			met = false
		}
	}
	return met, true
}

// bound returns what the choice so far pays, and an upper limit for what it can pay with more candidates. Each item
// that can still be won bears its share of the cheapest candidate for its dearest need. Each further candidate wins at
// most all of its items.
func (s *search) bound() (value, bound int) {
	value = -s.cost
	won, gains := 0, make([]int, len(s.state))
	for _, i := range s.items {
		it := &s.p.items[i]
		met, possible := s.needs(it)
		if met {
			value += it.weight
			continue
		}
		if !possible {
			continue
		}
		won += max(0, it.weight-s.share(it))
		for _, c := range it.candidates() {
			if s.state[c] == open {
				gains[c] += it.weight
			}
		}
	}
	for c := range gains {
		gains[c] -= s.p.costs[c]
	}
	slices.SortFunc(gains, func(a, b int) int { return cmp.Compare(b, a) })
	most := 0
	for _, g := range gains[:min(len(gains), s.limit-s.count)] {
		most += max(0, g)
	}
	return value, value + min(won, most)
}

// share returns the least cost of an item's most expensive unmet need, reduced to the item's share.
func (s *search) share(it *item) (share int) {
	for _, need := range it.needs {
		least := -1
		for _, c := range need {
			switch s.state[c] {
			case in:
				least = 0
			case open:
				if part := s.p.costs[c] * it.weight / s.reach[c]; least < 0 || part < least {
					least = part
				}
			}
		}
		share = max(share, least)
	}
	return share
}
