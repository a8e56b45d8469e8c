package catalogue

import (
	"fmt"
	"slices"
	"sync"

	"callgate/gate"
	"callgate/gate/tools/definitions"
)

// suspect returns why a definition that is seen for the first time is not accepted automatically, or "" if it is.
func (s *shadows) suspect(item *listing) string {
	if why := s.of(item); why != "" {
		return why
	}
	return definitions.Poisoned(item.raw)
}

// pin compares the server's definitions with the accepted ones, and returns a Redefinition, by name, for each that
// needs a person. A definition that is seen for the first time is pinned, unless it reads like an attack or poses as
// another. If there is no room for it, it is hidden: a definition that cannot be remembered could change unnoticed.
func (m *Maker) pin(s *Source, items []listing, all []*Source, later func(func())) map[string]*gate.Redefinition {
	pins := m.Pins
	settling := slices.ContainsFunc(all, func(s *Source) bool { return s.Settling })
	if pins == nil || s.IsOwn {
		return nil
	}
	unlike, hashes := map[string]*gate.Redefinition{}, map[string]string{}
	fresh := map[string][]byte{}
	pinned, err := pins.Of(s.About.Identity)
	room, bytes := pinned.Room()
	left := 0
	others := sync.OnceValue(func() *shadows { return m.newShadows(s, items, all) })
	for i := range items {
		item := &items[i]
		if item.source != s {
			continue
		}
		hash := definitions.HashOf(item.raw)
		known, changed, old := pinned.Check(item.name, hash)
		locked := s.Locked[item.name]
		hashes[item.name] = hash
		switch {
		case err != nil:
			unlike[item.name] = &gate.Redefinition{New: item.raw, Why: fmt.Sprintf("The definitions that were accepted cannot be read: %v.", err)}
		case changed && locked == hash: // accepted for everybody since then
			fresh[item.name] = item.raw
		case changed:
			unlike[item.name] = &gate.Redefinition{Old: old, New: item.raw, Why: "The server changed the tool's definition since it was accepted."}
		case !known:
			if why := s.distrusts(item, hash, others); why != "" {
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
		m.Log.Warn("tools of the server are hidden: with those that it had before, they are more than callgate remembers of one server", "server", s.Alias, "hidden", left)
	}
	if err == nil {
		later(func() {
			if err := pins.Saw(s.About.Identity, hashes); err != nil {
				m.Log.Error("the other replicas were not told which definitions have changed", "server", s.Alias, "error", err)
			}
		})
	}
	// A new definition could pose as a tool that is not known yet. So none is accepted before all tools are known.
	if len(fresh) > 0 && !settling {
		later(func() { // nobody waits for the disk: at worst the tool counts as new again
			if err := pins.Accept(s.About.Identity, fresh); err != nil {
				m.Log.Error("definitions were not pinned", "server", s.Alias, "error", err)
			}
		})
	}
	return unlike
}

// distrusts returns why a definition that is seen for the first time is not accepted automatically, or "" if it is.
func (s *Source) distrusts(item *listing, hash string, others func() *shadows) string {
	locked := s.Locked[item.name]
	switch {
	case locked == hash: // accepted for everybody
		return ""
	case s.Locked != nil:
		return lockedOut(locked)
	}
	return others().suspect(item)
}

// lockedOut returns why a definition is not the one in callgate.lock, whose digest is locked.
func lockedOut(locked string) string {
	if locked == "" {
		return "The tool is not in callgate.lock."
	}
	return "callgate.lock has another definition of the tool."
}

// Redefined returns how the tool's definition differs from the accepted one now, or nil if it does not. A person may
// have accepted it since the catalogue was made.
func (m *Maker) Redefined(o *Offer) *gate.Redefinition {
	if o.redefined == nil {
		return m.moved(o)
	}
	known, changed, _, err := m.Pins.Check(o.identity, o.Name, definitions.HashOf(o.redefined.New))
	if err == nil && known && !changed {
		return nil
	}
	return o.redefined
}

// moved does the work of Redefined for a tool whose definition was the accepted one when the catalogue was made.
func (m *Maker) moved(o *Offer) *gate.Redefinition {
	if m.Pins == nil || o.identity == "" {
		return nil
	}
	switch moved, err := m.Pins.Moved(o.identity, o.Name, o.Tool.Hash); {
	case err != nil:
		return &gate.Redefinition{New: o.Tool.Definition, Why: fmt.Sprintf("The definitions that were accepted cannot be read: %v.", err)}
	case moved:
		return &gate.Redefinition{New: o.Tool.Definition, Why: "Another replica sees another definition of the tool: the server changed it since it was accepted."}
	}
	return nil
}

// Accept pins the definition that a tool has now.
func (m *Maker) Accept(o *Offer) error {
	return m.Pins.Accept(o.identity, map[string][]byte{o.Name: o.Tool.Definition})
}
