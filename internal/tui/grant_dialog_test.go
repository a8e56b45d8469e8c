package tui

import (
	"testing"

	"callgate/internal/companion/wire"
)

func TestReach(t *testing.T) {
	some := &wire.Widening{Count: 1, Examples: []string{"git push --tags"}}
	for want, o := range map[string]wire.Offer{
		"": {},
		"you approved 14 of these in this project":                                                    {Approved: 14},
		"would newly allow 1 known command: git push --tags":                                          {NewlyAllows: some},
		"you approved 2 of these in this project; would newly allow 1 known command: git push --tags": {NewlyAllows: some, Approved: 2},
	} {
		if got := reach(o); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
