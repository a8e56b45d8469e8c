package proxy

import (
	"errors"
	"testing"
)

// vouching is the line of a host that is let in until it is not.
type vouching struct {
	Line
	why error
}

func (v *vouching) Admitted() error { return v.why }

// What may not run any more because the tool changed, may not run either when its host is no longer let in.
func TestACallOfAHostThatIsNotLetIn(t *testing.T) {
	line := &vouching{}
	moved := errors.New("moved")
	h := &host{line: line}
	alone, both := h.letIn(nil), h.letIn(func() error { return moved })
	if err := alone(); err != nil {
		t.Error(err)
	}
	if err := both(); !errors.Is(err, moved) {
		t.Error(err)
	}
	line.why = errors.New("replaced")
	for _, changed := range []func() error{alone, both} {
		if err := changed(); !errors.Is(err, line.why) {
			t.Error(err)
		}
	}
	if (&host{line: struct{ Line }{}}).letIn(nil) != nil {
		t.Error("a host that needs no credential is asked for one")
	}
}
