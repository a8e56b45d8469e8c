package permissions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestDestinationIsTheLastThatMatches checks that Destination finds the last of many matching rules.
func TestDestinationIsTheLastThatMatches(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	keys := append([]string{"*", "out*"}, EffectKeys...)
	for range 6 {
		var lists [2][]Rule
		var grants []Grant
		for i := range lists {
			for k := range random.IntN(1500) {
				pattern := fmt.Sprintf([]string{"*@host%d.example", "https://h%d.example/*", "to=%d", "{a%d,b%[1]d}.example"}[random.IntN(4)], random.IntN(200))
				lists[i] = append(lists[i], Rule{Tool: keys[random.IntN(len(keys))], Pattern: pattern, Action: Action(random.IntN(4)), Source: fmt.Sprint(i, k)})
				grants = append(grants, Grant{Tool: keys[random.IntN(3)], Pattern: pattern, Risk: Network, Source: fmt.Sprint(k)})
			}
		}
		p, err := NewPolicy(lists[0], lists[1], grants)
		if err != nil {
			t.Fatal(err)
		}
		last := func(rules []Rule, effect, to string) string {
			for _, r := range slices.Backward(rules) {
				if g, err := CompileGlob(r.Pattern); r.Tool == effect && err == nil && (g.Match(to) || g.Match(strings.ToLower(to))) {
					return r.Source
				}
			}
			return ""
		}
		source := func(r *Rule) string {
			if r == nil {
				return ""
			}
			return r.Source
		}
		for range 20 {
			effect := EffectKeys[random.IntN(len(EffectKeys))]
			to := fmt.Sprintf([]string{"Bob@Host%d.example", "https://h%d.example/x", "to=%d", "b%d.example"}[random.IntN(4)], random.IntN(220))
			agent, file := p.Destination(effect, to)
			if got, want := [2]string{source(agent), source(file)}, [2]string{last(lists[0], effect, to), last(lists[1], effect, to)}; got != want {
				t.Fatalf("%s to %s: %q, want %q", effect, to, got, want)
			}
			var got, want []string
			for g := range p.GrantsOf("out*", to) {
				got = append(got, g.Source)
			}
			for i := range grants {
				if g, err := CompileGlob(grants[i].Pattern); grants[i].Tool == "out*" && err == nil && g.Match(to) {
					want = append(want, grants[i].Source)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("grants to %s: %q, want %q", to, got, want)
			}
		}
	}
	if agent, file := (*Policy)(nil).Destination("outside", "x"); agent != nil || file != nil {
		t.Error("no policy has a rule")
	}
}
