package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/gate/tools/definitions"
	"callgate/internal/durable"
)

// Pins remembers the accepted definition of every tool, in one file that all callgate processes of a data directory
// share. It notices when a server changes a definition later, because an approval under the old definition does not
// cover the new one. It is safe for concurrent use.
type Pins struct {
	path   string
	shared *sharing // nil if there is only the file

	mu    sync.Mutex
	known map[string]map[string]pin // by server identity, then by tool
	bytes map[string]int            // of all definitions of a server
	last  fs.FileInfo               // of the file that known was read from, nil if there was none
}

// pin is one accepted definition. It is kept as text, byte for byte, so that its hash can be checked.
type pin struct {
	Hash       string    `json:"hash"`
	Definition string    `json:"definition"`
	At         time.Time `json:"at"`
}

// Bounds of the pins of one server. Pins are never dropped to make room, because a server could then make callgate
// forget a pin, and change an accepted definition.
const (
	maxPins     = 2000
	maxPinBytes = 8 << 20
)

// maxPinsFile bounds the file of tool definitions, in bytes.
const maxPinsFile = 64 << 20

// OpenPins reads the pins in the file at path, which need not exist yet. A file that cannot be read is an
// error: without it every tool would look new.
func OpenPins(path string) (*Pins, error) {
	p := &Pins{path: path}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.reload(); err != nil {
		return nil, err
	}
	return p, nil
}

// Check compares a tool's definition with its pin. server is the server's identity, which outlives its alias. known
// says that there is a pin, changed that the definition differs from it. old is the pinned definition in that case. On
// an error the caller MUST treat the tool as changed.
func (p *Pins) Check(server, tool, hash string) (known, changed bool, old []byte, err error) {
	pinned, err := p.Of(server)
	if err != nil {
		return false, false, nil, err
	}
	known, changed, old = pinned.Check(tool, hash)
	return known, changed, old, nil
}

// Of returns the pins of a server as they are at one moment. On an error the caller MUST treat every tool of it as
// changed.
func (p *Pins) Of(server string) (Pinned, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shared != nil {
		pins, _, err := p.sharedOf(server)
		if err != nil {
			return Pinned{}, err
		}
		pinned := Pinned{known: map[string]pin{}, elsewhere: map[string]bool{}}
		for tool, one := range pins {
			pinned.known[tool], pinned.elsewhere[tool] = one.pin, one.Changed != nil
			pinned.bytes += len(one.Definition)
		}
		return pinned, nil
	}
	if err := p.reload(); err != nil {
		return Pinned{}, err
	}
	return Pinned{known: p.known[server], bytes: p.bytes[server]}, nil
}

// Pinned holds the pins of one server at one moment.
type Pinned struct {
	known     map[string]pin
	elsewhere map[string]bool // tools of which another replica has seen another definition
	bytes     int
}

// Check is Pins.Check for this server.
func (p Pinned) Check(tool, hash string) (known, changed bool, old []byte) {
	was, known := p.known[tool]
	if !known || was.Hash == hash && !p.elsewhere[tool] {
		return known, false, nil
	}
	return true, true, []byte(was.Definition)
}

// Tools yields the names of the tools that have pins.
func (p Pinned) Tools() iter.Seq[string] { return maps.Keys(p.known) }

// Definition returns the pinned definition of a tool, nil if it has none.
func (p Pinned) Definition(tool string) []byte {
	if was, known := p.known[tool]; known {
		return []byte(was.Definition)
	}
	return nil
}

// Room returns how many further tools may be pinned, and how many bytes their definitions may have.
func (p Pinned) Room() (tools, bytes int) {
	return max(maxPins-len(p.known), 0), max(maxPinBytes-p.bytes, 0)
}

// Accept pins the definitions of a server's tools, by tool name, in place of what was pinned before: the first time
// that they are seen, or because a person said so. It returns once they are on the disk. If a server's pins would
// exceed the bounds, it returns an error and pins nothing.
func (p *Pins) Accept(server string, all map[string][]byte) error {
	pins := make(map[string]pin, len(all))
	for tool, definition := range all {
		pins[tool] = pin{definitions.HashOf(definition), string(definition), time.Now().UTC().Truncate(time.Second)}
	}
	if p.shared != nil {
		return p.acceptShared(server, pins)
	}
	return durable.Locked(p.path+".lock", func() error { return p.accept(server, pins) })
}

// accept is Accept while the lock between processes is held.
func (p *Pins) accept(server string, all map[string]pin) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.reload(); err != nil {
		return err
	}
	next := make(map[string]map[string]pin, len(p.known)+1)
	maps.Copy(next, p.known)
	next[server] = make(map[string]pin, len(all))
	maps.Copy(next[server], p.known[server])
	maps.Copy(next[server], all)
	if err := checkSize(len(next[server]), sizeOf(next[server])); err != nil {
		return err
	}
	data, err := json.Marshal(next, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if err := durable.Replace(p.path, data, 0o600); err != nil {
		return err
	}
	return p.reload()
}

// checkSize returns an error if a server has too many definitions, or too many bytes of them.
func checkSize(tools, bytes int) error {
	if tools > maxPins || bytes > maxPinBytes {
		return fmt.Errorf("the server has more tools than callgate can remember: %d of at most %d, with %d bytes of at most %d", tools, maxPins, bytes, maxPinBytes)
	}
	return nil
}

// reload reads the file when it is not the one that was read last. The caller holds p.mu.
func (p *Pins) reload() error {
	info, err := os.Stat(p.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && p.last == nil:
		return nil
	case err != nil:
		return unreadable(err) // gone after it was there counts, too
	case p.last != nil && os.SameFile(p.last, info) && p.last.Size() == info.Size() && p.last.ModTime().Equal(info.ModTime()):
		return nil
	}
	data, err := durable.ReadFile(p.path, maxPinsFile)
	if err != nil {
		return unreadable(err)
	}
	var known map[string]map[string]pin
	if err := json.Unmarshal(data, &known, json.RejectUnknownMembers(true)); err != nil {
		return p.damaged(err)
	}
	for server, pins := range known {
		for tool, pin := range pins {
			if definitions.HashOf([]byte(pin.Definition)) != pin.Hash {
				return p.damaged(fmt.Errorf("the hash of %s %s does not match its definition", server, tool))
			}
		}
	}
	p.known, p.last, p.bytes = known, info, make(map[string]int, len(known))
	for server, pins := range known {
		p.bytes[server] = sizeOf(pins)
	}
	return nil
}

func unreadable(err error) error {
	return fmt.Errorf("the accepted tool definitions cannot be read: %w", err)
}

// damaged formats the error for a file with damaged content, and names the cure.
func (p *Pins) damaged(err error) error {
	return fmt.Errorf("the accepted tool definitions in %s are damaged: %w; put the file back from a backup, "+
		"or remove it and review every tool with callgate tools", p.path, err)
}

// sizeOf returns how many bytes the definitions have.
func sizeOf(pins map[string]pin) (n int) {
	for _, pin := range pins {
		n += len(pin.Definition)
	}
	return n
}
