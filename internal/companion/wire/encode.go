package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// NewHead begins a frame.
func NewHead(kind, session string) Head { return Head{V: Version, Type: kind, SessionID: session} }

// NoTeam says that a session has ended.
func NoTeam(session string) TeamUpdate {
	return TeamUpdate{Head: NewHead(TypeTeamUpdate, session), Agents: []TeamAgent{}, Strategy: "single"}
}

// Object returns the arguments as they were received, and {} for a call that has none.
func Object(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return json.RawMessage("{}")
	}
	return arguments
}

// List makes JSON of no items [] and not null.
func List[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// Encode writes one frame or one REST answer as JSON text. Raw JSON keeps its spelling of numbers, and text
// stays as people read it: && is not \u0026\u0026. Bytes that are not UTF-8, which an upstream's result may
// hold and a WebSocket text frame may not, become U+FFFD.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	}
	if Encoded != nil {
		Encoded(data)
	}
	return data, nil
}

// encoded sees every text that encode makes. Tests hold each frame against the schema with it; else it is nil.
var Encoded func(text []byte)
