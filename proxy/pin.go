package proxy

import (
	"fmt"

	"callgate/gate"
	"callgate/gate/tools"
)

// pin compares the server's definitions with those that people know it by, and returns what is to be said of
// each that differs, by name. A definition that is seen for the first time is pinned, unless it
// reads like an attack or poses as another. One that there is no room for is hidden: what cannot be remembered could be changed unnoticed.
func (h *host) pin(s *server, items []listing, unlisted []*server) map[string]*gate.Redefinition {
	pins := h.p.o.Pins
	if pins == nil || s.own {
		return nil
	}
	unlike := map[string]*gate.Redefinition{}
	fresh := map[string][]byte{}
	pinned, err := pins.Of(s.about.Identity)
	room, bytes := pinned.Room()
	left := 0
	var others *shadows
	for i := range items {
		item := &items[i]
		if item.server != s {
			continue
		}
		known, changed, old := pinned.Check(item.name, tools.HashOf(item.raw))
		switch {
		case err != nil:
			unlike[item.name] = &gate.Redefinition{New: item.raw, Why: fmt.Sprintf("The definitions that were accepted cannot be read: %v.", err)}
		case changed:
			unlike[item.name] = &gate.Redefinition{Old: old, New: item.raw, Why: "The server changed the tool's definition since it was accepted."}
		case !known:
			if others == nil {
				others = h.newShadows(s, items, unlisted)
			}
			why := others.of(item)
			if why == "" {
				why = tools.Poisoned(item.raw)
			}
			if why != "" {
				unlike[item.name] = &gate.Redefinition{New: item.raw, Why: why}
				continue
			}
			if room, bytes = room-1, bytes-len(item.raw); room < 0 || bytes < 0 {
				item.hidden = true
				left++
				continue
			}
			fresh[item.name] = item.raw
		}
	}
	if left > 0 {
		h.log.Warn("tools of the server are hidden: with those that it had before, they are more than callgate remembers of one server", "server", s.alias, "hidden", left)
	}
	// What could pose as a tool that is not known yet is not accepted before that is.
	if len(fresh) > 0 && len(unlisted) == 0 {
		h.work.Go(func() { // the disk is not waited for: at worst the tool is seen for the first time again
			if err := pins.Accept(s.about.Identity, fresh); err != nil {
				h.log.Error("definitions were not pinned", "server", s.alias, "error", err)
			}
		})
	}
	return unlike
}

// redefined returns what is to be said of the tool's definition now; nil when it is as it was accepted. A
// person may have accepted it since the table was made.
func (h *host) redefined(e *entry) *gate.Redefinition {
	if e.redefined == nil {
		return nil
	}
	known, changed, _, err := h.p.o.Pins.Check(e.server.about.Identity, e.name, tools.HashOf(e.redefined.New))
	if err == nil && known && !changed {
		return nil
	}
	return e.redefined
}
