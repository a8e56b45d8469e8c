package tools

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"callgate/gate/tools/definitions"
	"callgate/permissions/store"
)

// sharedPin is a pin that replicas share, with a change that any of them has seen since.
type sharedPin struct {
	pin
	Before  []string `json:"before,omitempty"` // hashes that were accepted before; a replica that still sees one is behind
	Changed *change  `json:"changed,omitempty"`
}

// change is a definition that a replica has seen in place of the accepted one. It holds back the tool at all replicas.
type change struct {
	Hash string `json:"hash"`
	By   string `json:"by"` // the replica
}

// maxBefore bounds how many earlier hashes are kept.
const maxBefore = 8

// sharing holds the pins that replicas share, as one text for each server. They begin with the pins of the file.
type sharing struct {
	of   func(server string) store.Shared
	by   string                // this replica
	read map[string]sharedRead // by server; guarded by Pins.mu
}

type sharedRead struct {
	revision uint64
	pins     map[string]sharedPin
}

// Share makes several replicas share the pins, and returns p. by names this replica. Call it before the pins are used.
func (p *Pins) Share(of func(server string) store.Shared, by string) *Pins {
	p.shared = &sharing{of: of, by: by, read: map[string]sharedRead{}}
	return p
}

// sharedOf is Of for shared pins. The caller holds p.mu and MUST NOT change the map.
func (p *Pins) sharedOf(server string) (map[string]sharedPin, uint64, error) {
	text, revision, err := p.shared.of(server).Text()
	if err != nil {
		return nil, 0, err
	}
	if known, ok := p.shared.read[server]; ok && known.revision == revision && revision > 0 {
		return known.pins, revision, nil
	}
	pins := map[string]sharedPin{}
	if revision == 0 {
		if err := p.reload(); err != nil {
			return nil, 0, err
		}
		for tool, own := range p.known[server] {
			pins[tool] = sharedPin{pin: own}
		}
		return pins, 0, nil
	}
	if err := json.Unmarshal(text, &pins); err != nil {
		return nil, 0, fmt.Errorf("the tool definitions that replicas share are damaged: %w", err)
	}
	for tool, one := range pins {
		if definitions.HashOf([]byte(one.Definition)) != one.Hash {
			return nil, 0, fmt.Errorf("the tool definitions that replicas share are damaged: the hash of %s %s does not match its definition", server, tool)
		}
	}
	p.shared.read[server] = sharedRead{revision, pins}
	return pins, revision, nil
}

// changeShared changes the pins of a server at all replicas. change returns false if there is nothing to change.
func (p *Pins) changeShared(server string, change func(pins map[string]sharedPin) (bool, error)) error {
	return store.WhileStale(func() error {
		p.mu.Lock()
		pins, revision, err := p.sharedOf(server)
		p.mu.Unlock()
		if err != nil {
			return err
		}
		next := maps.Clone(pins)
		news, err := change(next)
		if first := revision == 0 && len(pins) > 0; err != nil || !news && !first {
			return err
		}
		text, err := json.Marshal(next, json.Deterministic(true))
		if err != nil {
			return err
		}
		return p.shared.of(server).Replace(revision, text)
	})
}

// acceptShared is Accept for shared pins.
func (p *Pins) acceptShared(server string, all map[string]pin) error {
	return p.changeShared(server, func(pins map[string]sharedPin) (bool, error) {
		size := 0
		for tool, now := range all {
			next := sharedPin{pin: now}
			if was, known := pins[tool]; known {
				next.Before = was.Before
				if was.Hash != now.Hash {
					next.Before = append(slices.Clone(was.Before), was.Hash)
				}
			}
			next.Before = slices.DeleteFunc(slices.Clone(next.Before), func(hash string) bool { return hash == now.Hash })
			next.Before = next.Before[max(len(next.Before)-maxBefore, 0):]
			pins[tool] = next
		}
		for _, one := range pins {
			size += len(one.Definition)
		}
		return true, checkSize(len(pins), size)
	})
}

// Saw tells the other replicas which of a server's tools differ from the accepted definitions. hashes holds what this
// replica sees, by tool. It does nothing if the pins are not shared.
func (p *Pins) Saw(server string, hashes map[string]string) error {
	if p.shared == nil {
		return nil
	}
	return p.changeShared(server, func(pins map[string]sharedPin) (news bool, err error) {
		for tool, hash := range hashes {
			one, known := pins[tool]
			switch {
			case !known:
				continue
			case one.Hash == hash && one.Changed != nil && one.Changed.By == p.shared.by: // the server has taken it back
				one.Changed = nil
			case one.Hash == hash || slices.Contains(one.Before, hash) || one.Changed != nil && one.Changed.Hash == hash:
				continue
			default:
				one.Changed = &change{hash, p.shared.by}
			}
			pins[tool], news = one, true
		}
		return news, nil
	})
}

// Moved reports whether a tool with an accepted definition must be held back now, because another replica has seen a
// different definition or a person has accepted one. It is false if the pins are not shared.
func (p *Pins) Moved(server, tool, hash string) (bool, error) {
	if p.shared == nil {
		return false, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	pins, _, err := p.sharedOf(server)
	if err != nil {
		return true, err
	}
	one, known := pins[tool]
	return known && (one.Hash != hash || one.Changed != nil), nil
}
