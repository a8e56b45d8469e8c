package lexical

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTop(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100 {
		best := NewTop(1 + r.IntN(20))
		var all []Scored
		for row := range r.IntN(100) {
			s := Scored{row, float32(r.IntN(10))}
			all = append(all, s)
			best.Add(s)
		}
		slices.SortFunc(all, func(a, b Scored) int {
			if worse(b, a) {
				return -1
			}
			return 1
		})
		if got, want := best.Sorted(), all[:min(len(all), best.n)]; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
