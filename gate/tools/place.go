package tools

import (
	"fmt"
	"slices"

	"callgate/gate/tools/internal/wording"
	"callgate/gate/tools/workspace"
)

// markPlaces marks a write, a deletion or a move that touches a protected place.
func (b *builder) markPlaces(l *workspace.Location) {
	for _, path := range l.Paths {
		if p := workspace.MatchPlace(path, b.place.Home); p != nil {
			b.mark(p.Code, fmt.Sprintf("%s is %s.", wording.Quote(path), p.Why))
			return
		}
	}
	b.markDevice(l, true)
}

// markDevice marks a file that is a device, or a setting of the system.
func (b *builder) markDevice(l *workspace.Location, write bool) {
	if slices.ContainsFunc(l.Paths, workspace.OwnStream) {
		return
	}
	for _, path := range l.Paths {
		if what := workspace.Device(path, write); what != "" {
			b.mark("device", wording.Quote(path)+" is "+what+".")
			return
		}
	}
}
