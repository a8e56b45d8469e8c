package pattern

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestAnIndexLeavesOutOnlyWhatDoesNotMatch checks that a pattern which an index leaves out does not match, and that the
// others come in order, the last first.
func TestAnIndexLeavesOutOnlyWhatDoesNotMatch(t *testing.T) {
	words := []string{"git", "push", "origin", "status", "rm", "src/", "app", ".env", "-f", "main", "é", "7", "w12", "w1", "true"}
	shapes := []string{"%s %s *", "*%s*", "%s*%s", "text=%s*", "text=*%s", "a.b=%s", "list=%s", "*.%s", "text={%s,%s}", "!(%s)", "list=!(%s)*", "%s", "%s\\?%s"}
	values := []string{`"%s %s"`, `"%s"`, `["%s","%s"]`, `{"b":"%s"}`, `{"b":["%s",7,true,null]}`, `12`, `[[]]`, `""`, `"\u00e9%s"`}
	random := rand.New(rand.NewPCG(1, 2))
	fill := func(shape string) string {
		for strings.Contains(shape, "%s") {
			shape = strings.Replace(shape, "%s", words[random.IntN(len(words))], 1)
		}
		return shape
	}
	one := func(list []string) string { return fill(list[random.IntN(len(list))]) }
	filed := 0
	for list := range 30 {
		many := 1 + random.IntN(400)
		if list%10 == 0 {
			many = 4000 // so that some are found by their grams
		}
		var index Index
		all, bare := make([]*Value, many), make([]bool, many)
		for i := range all {
			p, err := CompileValue(one(shapes))
			if err != nil {
				t.Fatal(err)
			}
			if all[i], bare[i] = p, p.Bare != "" && !p.HasArgument() && random.IntN(2) == 0; bare[i] {
				index.AddBare(p)
			} else {
				index.Add(p)
			}
		}
		index.Build()
		for range 10 {
			form := []string{fill("%s %s %s"), fill("%s")}
			var raw []byte
			switch random.IntN(4) {
			case 0: // no arguments
			case 1:
				raw = []byte(`{"text":`) // unreadable
			default:
				raw = fmt.Appendf(nil, `{"text":%s,"a":%s,"list":%s}`, one(values), one(values), one(values))
			}
			for _, n := range []int{many, many / 2} {
				args := Arguments{Raw: raw}
				matches := func(i int) bool {
					return all[i].Matches(form, &args, true) || all[i].Matches(form, &args, false) || bare[i] && all[i].Begins(form, 1)
				}
				var got, want []int
				left := index.Backward(nil, n, form, &args)
				if left.filed {
					filed++
				}
				for i := left.Next(); i >= 0; i = left.Next() {
					if matches(i) {
						got = append(got, i)
					}
				}
				for i := range n {
					if matches(n - 1 - i) {
						want = append(want, n-1-i)
					}
				}
				if !slices.Equal(got, want) {
					t.Fatalf("of the first %d, %q with %s finds %d patterns, or in another order, want %d", n, form, raw, len(got), len(want))
				}
			}
		}
	}
	if filed < 10 {
		t.Errorf("%d forms were looked up by their grams", filed)
	}
}
