package companion

import (
	"bufio"
	"net"
	"net/http"
	"sync"
	"unsafe"

	"callgate/gate"
)

// batching is a connection that can gather several writes into one. At a thousand events a second, each client then
// costs one system call for all waiting frames instead of one for each.
type batching struct {
	net.Conn

	mu   sync.Mutex
	hold bool
	held []byte
}

// maxHeld bounds the gathered bytes.
const maxHeld = 64 << 10

// Write implements net.Conn. If it holds p back, the error of writing it comes from a later Write or release.
func (g *batching) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hold && len(g.held)+len(p) <= maxHeld {
		g.held = append(g.held, p...)
		return len(p), nil
	}
	if err := g.flush(); err != nil {
		return 0, err
	}
	return g.Conn.Write(p)
}

// gather holds writes back until release, up to maxHeld bytes.
func (g *batching) gather() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold = true
}

func (g *batching) release() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold = false
	return g.flush()
}

// flush writes what is held. The caller holds mu.
func (g *batching) flush() error {
	if len(g.held) == 0 {
		return nil
	}
	_, err := g.Conn.Write(g.held)
	if g.held = g.held[:0]; cap(g.held) > 8<<10 { // most clients are idle most of the time
		g.held = nil
	}
	return err
}

// gathers is a ResponseWriter whose Hijack returns a batching connection.
type gathers struct {
	http.ResponseWriter
	conn *batching // set by Hijack
}

// Hijack implements http.Hijacker.
func (g *gathers) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(g.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	g.conn = &batching{Conn: conn}
	return g.conn, buffered, nil
}

// encodings caches the JSON frames of the newest events of calls, which all clients get alike.
type encodings struct {
	mu    sync.Mutex
	known map[eventKey][][]byte
	keys  [keptEvents]eventKey // keys of known, a ring
	next  int                  // index of the oldest key
}

const (
	keptEvents = 128
	keptBytes  = 16 << 10 // largest frames and data of a cached event: few clients read long results
)

// eventKey identifies an event. It holds a pointer to the data, so that no other data can get the same address.
type eventKey struct {
	kind                     byte
	session, agent, id, tool string
	data                     *byte
	size                     int
	number                   int64
	failed                   bool
}

// keyOf returns the key under which an event's frames are cached, or false for rare events, which are not cached.
func keyOf(event gate.Event) (eventKey, bool) {
	switch e := event.(type) {
	case gate.Started:
		return eventKey{'s', e.SessionID, e.Agent, e.ID, e.Tool, unsafe.SliceData(e.Arguments), len(e.Arguments), int64(e.Risk), false}, true
	case gate.Finished:
		return eventKey{'f', e.SessionID, e.Agent, e.ID, e.Tool, unsafe.SliceData(e.Result), len(e.Result), int64(e.Duration), e.IsError}, true
	case gate.Recorded:
		return eventKey{kind: 'r', id: e.Record.Hash}, e.Record.Hash != ""
	}
	return eventKey{}, false
}

// of returns the frames of an event as JSON, made by encode unless they are cached.
func (x *encodings) of(event gate.Event, encode func([]any) [][]byte) [][]byte {
	key, kept := keyOf(event)
	if !kept {
		return encode(frames(event))
	}
	x.mu.Lock()
	data, ok := x.known[key]
	x.mu.Unlock()
	if ok {
		return data
	}
	data = encode(frames(event))
	size := 0
	for _, frame := range data {
		size += len(frame)
	}
	if size > keptBytes || key.size > keptBytes {
		return data
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if _, ok := x.known[key]; ok {
		return data
	}
	if x.known == nil {
		x.known = map[eventKey][][]byte{}
	}
	delete(x.known, x.keys[x.next])
	x.keys[x.next], x.known[key] = key, data
	x.next = (x.next + 1) % keptEvents
	return data
}
