package permissions

import (
	"testing"

	"pgregory.net/rapid"
)

// TestACoveredRuleDecidesNothing checks that a rule which a later rule covers can be removed without effect. That does
// not hold for guessed kinds, because by them no rule lifts an earlier one.
func TestACoveredRuleDecidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		file := rapid.SliceOfN(rapid.Custom(drawRule), 2, 6).Draw(t, "file")
		p := compiled(t, nil, file, nil)
		s := drawSubject(t)
		s.KindBound = true
		for i := range p.File {
			winner := CoveredBy(p.File, i)
			if winner == nil {
				continue
			}
			without := append(append([]Rule(nil), file[:i]...), file[i+1:]...)
			a, b := Evaluate(p, Context{}, s), Evaluate(compiled(t, nil, without, nil), Context{}, s)
			if a.Action != b.Action {
				t.Fatalf("%v is covered by %v, but without it %v becomes %v", &p.File[i], winner, a.Action, b.Action)
			}
		}
	})
}
