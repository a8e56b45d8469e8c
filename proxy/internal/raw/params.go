// Package raw reads and changes MCP messages as spelled. It keeps every byte that it does not have to change.
package raw

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

func WithParams(m rpc.Message, params []byte) rpc.Message {
	if len(params) == len(m.Params) && bytes.Equal(params, m.Params) {
		return m
	}
	changed, err := rpc.Parse(rpc.Request(m.ID, m.Method, params))
	if err != nil {
		return m
	}
	changed.Label = m.Label
	return changed
}

func WithResult(m rpc.Message, result []byte) rpc.Message {
	if len(result) == len(m.Result) && bytes.Equal(result, m.Result) {
		return m
	}
	changed, err := rpc.Parse(rpc.Result(m.ID, result))
	if err != nil {
		return m
	}
	return changed
}

// HasCursor reports whether a request for a list wants another page than the first.
func HasCursor(m rpc.Message) bool {
	cursor := jsonx.At(m.Params, "cursor")
	return cursor != nil && string(cursor) != "null"
}

// SaysMore reports whether an object has members besides known, which jsonx.Members found in it.
func SaysMore(object []byte, known []jsonx.Member) bool {
	var order [8]jsonx.Member
	found := order[:0]
	for _, m := range known {
		if m.Value != nil {
			found = append(found, m)
		}
	}
	slices.SortFunc(found, func(a, b jsonx.Member) int { return a.Start - b.Start })
	at := 0
	for _, m := range found {
		if hasMember(object[at:max(at, jsonx.Delete(object, m).Start)]) {
			return true
		}
		at = m.End()
	}
	return hasMember(object[at:])
}

// hasMember reports whether the text between two members holds another one.
func hasMember(gap []byte) bool { return bytes.IndexByte(gap, '"') >= 0 }

// SameToken reports whether two progress tokens are equal, as spelled by the host and by the server. A server decodes
// its token and encodes it again, so "\u0041" comes back as "A", and 1.0 as 1.
func SameToken(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if x, ok := jsonx.String(a); ok {
		y, ok := jsonx.String(b)
		return ok && x == y
	}
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	return errX == nil && errY == nil && x == y
}

// ProgressToken returns the token of a request as spelled, or nil if it has none.
func ProgressToken(params []byte) []byte {
	if !jsonx.MayHold(params, "progressToken") {
		return nil
	}
	return jsonx.At(params, "_meta", "progressToken")
}

// String returns a required string of the params. It checks the whole message strictly first.
func String(m rpc.Message, name string) (string, error) {
	if err := m.Check(); err != nil {
		return "", err
	}
	var member [1]jsonx.Member
	if m.Params == nil {
		return "", fmt.Errorf("%s needs params", m.Method)
	}
	if err := jsonx.Members(m.Params, []string{name}, member[:]); err != nil {
		return "", err
	}
	value, ok := jsonx.String(member[0].Value)
	if !ok {
		return "", fmt.Errorf("%s needs a %q", m.Method, name)
	}
	return value, nil
}

// Rename replaces the value of one string in the params, which MUST exist.
func Rename(params []byte, name, value string) ([]byte, error) {
	var m [1]jsonx.Member
	if err := jsonx.Members(params, []string{name}, m[:]); err != nil {
		return nil, err
	}
	return jsonx.Splice(params, jsonx.Edit{Start: m[0].Start, End: m[0].End(), With: jsonx.Quote(value)}), nil
}

// WithToken returns params with another progress token. They MUST have one.
func WithToken(params, token []byte) ([]byte, error) {
	var meta, old [1]jsonx.Member
	if err := jsonx.Members(params, []string{"_meta"}, meta[:]); err != nil {
		return nil, err
	}
	if err := jsonx.Members(meta[0].Value, []string{"progressToken"}, old[:]); err != nil {
		return nil, err
	}
	at := meta[0].Start + old[0].Start
	return jsonx.Splice(params, jsonx.Edit{Start: at, End: at + len(old[0].Value), With: token}), nil
}

// Named returns an object with one string.
func Named(name, value string) []byte {
	return append(append(append(append([]byte{'{'}, jsonx.Quote(name)...), ':'), jsonx.Quote(value)...), '}')
}
