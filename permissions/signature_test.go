package permissions

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// What is left out because of its signature is what does not match: a list of rules or grants says the same without.
func TestNeedsChangeNoRuling(t *testing.T) {
	words := []string{"git", "push", "origin", "status", "rm", "src/", "app", ".env", "-f", "main", "é", "7", "w12", "w1", "true"}
	shapes := []string{"%s %s *", "*%s*", "%s*%s", "text=%s*", "text=*%s", "a.b=%s", "list=%s", "*.%s", "text={%s,%s}", "!(%s)", "list=!(%s)*", "%s", "%s\\?%s"}
	values := []string{`"%s %s"`, `"%s"`, `["%s","%s"]`, `{"b":"%s"}`, `{"b":["%s",7,true,null]}`, `12`, `[[]]`, `""`, `"\u00e9%s"`}
	random := rand.New(rand.NewPCG(1, 2))
	word := func() any { return words[random.IntN(len(words))] }
	fill := func(shape string) string {
		for strings.Contains(shape, "%s") {
			shape = strings.Replace(shape, "%s", fmt.Sprint(word()), 1)
		}
		return shape
	}
	one := func(list []string) string { return fill(list[random.IntN(len(list))]) }
	filed := 0
	for list := range 300 {
		var rules []Rule
		var grants []Grant
		many := 1 + random.IntN(400)
		if list%10 == 0 {
			many = 4000 // so that some are found by their grams
		}
		for range many {
			rules = append(rules, Rule{Tool: "s_do", Pattern: one(shapes), Action: Action(random.IntN(int(Allow) + 1))})
			grants = append(grants, Grant{Tool: "s_do", Pattern: one(shapes), Risk: Network, Source: fmt.Sprint(len(grants))})
		}
		p, err := NewPolicy(nil, rules, grants)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			s := &Subject{Tool: "s_do", Decides: Form{fill("%s %s %s"), fill("%s")}, Risk: Network}
			switch random.IntN(4) {
			case 0: // no arguments
			case 1:
				s.Arguments = []byte(`{"text":`) // that cannot be read
			default:
				s.Arguments = fmt.Appendf(nil, `{"text":%s,"a":%s,"list":%s}`, one(values), one(values), one(values))
			}
			fast := p.viewOf(s)
			slow := *fast
			slow.patterns, slow.granted = matchable{needs: make([]signature, len(fast.rules))}, matchable{needs: make([]signature, len(fast.grants))}
			if args := (&arguments{raw: s.Arguments}); fast.patterns.grams != nil && many > perByte*fast.patterns.length(s.Decides, args) {
				filed++
			}
			c := Context{Server: "s", Now: time.Unix(0, 0)}
			says := func(v *view) string {
				args := arguments{raw: s.Arguments}
				r := v.lastMatch(len(v.rules), &c, s.Decides, s, true, &args)
				early := v.lastMatch(len(v.rules)/2, &c, s.Decides, s, true, &args)
				f := Finding{}
				v.release(c, s, &args, &f)
				grant := "none"
				if f.Grant != nil {
					grant = f.Grant.Source
				}
				return fmt.Sprint(r.action, ruled(r), early.action, ruled(early), grant)
			}
			if got, want := says(fast), says(&slow); got != want {
				t.Fatalf("%q with %s: %s, want %s", s.Decides, s.Arguments, got, want)
			}
		}
	}
	if filed < 100 {
		t.Errorf("%d forms were looked up by their grams", filed)
	}
}

func ruled(r ruling) string {
	if r.rule == nil {
		return "none"
	}
	return r.rule.Pattern
}

// Of many rules for destinations the last that matches is found, as by looking at each.
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
