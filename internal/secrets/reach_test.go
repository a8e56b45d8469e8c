package secrets

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// matching returns a text that usually matches an expression.
func matching(r *rand.Rand, tree *syntax.Regexp) string {
	var b strings.Builder
	repeat := func(least, most int) {
		for range least + r.IntN(most-least+1) {
			b.WriteString(matching(r, tree.Sub[0]))
		}
	}
	switch tree.Op {
	case syntax.OpLiteral:
		return string(tree.Rune)
	case syntax.OpCharClass:
		i := 2 * r.IntN(len(tree.Rune)/2)
		if tree.Rune[i] >= utf8.RuneSelf { // a long s, which occurs in no credential
			i = 0
		}
		return string(tree.Rune[i] + r.Int32N(min(26, tree.Rune[i+1]-tree.Rune[i]+1)))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string('!' + r.Int32N(90))
	case syntax.OpStar, syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpPlus:
		repeat(1, 3)
	case syntax.OpRepeat:
		most := tree.Max
		if most < 0 {
			most = tree.Min + 3
		}
		repeat(tree.Min, most)
	case syntax.OpAlternate:
		return matching(r, tree.Sub[r.IntN(len(tree.Sub))])
	default:
		for _, sub := range tree.Sub {
			b.WriteString(matching(r, sub))
		}
	}
	return b.String()
}

// TestReach checks that the parts around keywords of a format contain the credential of the whole text.
func TestReach(t *testing.T) {
	r := rand.New(rand.NewChaCha8([32]byte{7}))
	all := formatsByID()
	near, held := 0, 0
	for _, f := range all {
		tree, err := syntax.Parse(f.Regex, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if f.reach().around > 0 {
			near++
		}
		var b strings.Builder
		for range 5 {
			other := all[r.IntN(len(all))]
			b.WriteString(strings.Repeat(string(" .x0-é\n"[r.IntN(5)]), r.IntN(500)))
			switch r.IntN(4) {
			case 0:
				b.WriteString(f.Keywords[r.IntN(len(f.Keywords))])
			case 1:
				b.WriteString(other.Keywords[0])
			case 2:
				one := matching(r, tree)
				b.WriteString(one[:r.IntN(len(one)+1)])
			case 3:
				b.WriteString(" " + matching(r, tree) + " ")
			}
		}
		text := b.String()
		list, where := suspects(text)
		if !slices.Contains(list, f) {
			continue
		}
		want := ""
		for _, m := range f.compiled().FindAllStringSubmatch(text, -1) {
			if value := f.credential(m); want == "" && entropy(value) >= f.Entropy {
				want = value
			}
		}
		if want != "" {
			held++
		}
		if got, _ := f.in(text, where[f], nil); got != want {
			t.Errorf("%s: %q and not %q in %q", f.ID, got, want, text)
		}
	}
	if near < 180 || held < 100 {
		t.Errorf("%d formats are looked for around keywords, and %d texts held one", near, held)
	}
}

func formatsByID() (all []*format) {
	for _, list := range formats() {
		for _, k := range list {
			if !slices.Contains(all, k.format) {
				all = append(all, k.format)
			}
		}
	}
	slices.SortFunc(all, func(a, b *format) int { return strings.Compare(a.ID, b.ID) })
	return all
}
