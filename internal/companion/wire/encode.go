package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// NewHead returns the head of a frame.
func NewHead(kind, session string) Head { return Head{V: Version, Type: kind, SessionID: session} }

// NoTeam returns the frame that means that a session has ended.
func NoTeam(session string) TeamUpdate {
	return TeamUpdate{Head: NewHead(TypeTeamUpdate, session), Agents: []TeamAgent{}, Strategy: "single"}
}

// Object returns the arguments as they were received, or {} for a call without any.
func Object(arguments json.RawMessage) json.RawMessage {
	if len(arguments) == 0 {
		return json.RawMessage("{}")
	}
	return arguments
}

// List makes nil an empty list, so that JSON gets [] instead of null.
func List[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// Encode encodes one frame or REST answer as JSON. Raw JSON keeps its spelling of numbers, and text stays readable: &&
// does not become \u0026\u0026. Bytes that are not UTF-8 become U+FFFD: an upstream's result may hold them, but a
// WebSocket text frame may not.
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

// Encoded, if not nil, gets every text that Encode makes. Tests use it to check each frame against the schema.
var Encoded func(text []byte)
