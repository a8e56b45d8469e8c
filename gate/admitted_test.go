package gate

import (
	"errors"
	"strings"
	"testing"

	"callgate/permissions"
)

// An approved call does not run if its tool has changed, or if its host is no longer admitted.
func TestApprovedForAHostThatIsNotLetIn(t *testing.T) {
	fine := func() error { return nil }
	gone := func() error { return errors.New("it is another one") }
	for name, c := range map[string]struct {
		admitted, changed func() error
		runs              bool
	}{
		"neither asked":     {nil, nil, true},
		"let in, unchanged": {fine, fine, true},
		"not let in":        {gone, fine, false},
		"changed":           {fine, gone, false},
		"not let in alone":  {gone, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, asking, nil)
			call := b.shell("1", "make")
			call.Admitted, call.Changed = c.admitted, c.changed
			end := b.decide(t.Context(), call)
			_ = b.answer(b.waiting(1)[0], "approve", nil) // the answer says why if it does not hold
			d := <-end
			if runs := d.verdict.Action == permissions.Allow; runs != c.runs || !runs && !strings.Contains(d.verdict.Reason, "it is another one") {
				t.Errorf("%v: %s", d.verdict.Action, d.verdict.Reason)
			}
		})
	}
}
