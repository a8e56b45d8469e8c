// Package rpc speaks MCP's JSON-RPC over a pair of byte streams.
//
// It knows no tools. Messages keep their bytes. A relay changes an id or a member and forwards the rest untouched.
package rpc

import (
	"errors"
	"fmt"
	"strconv"

	"callgate/internal/jsonx"
)

// Error codes that callgate itself uses.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Message is one JSON-RPC message. The slices are parts of Raw; nobody may change them.
type Message struct {
	Raw    []byte
	ID     []byte // as spelled, `7` or `"a"`; nil for a notification
	Method string // "" for a response
	Params []byte // nil when absent
	Result []byte // of a response; nil if it is an error
	Error  []byte

	// Label is the asker's name for this question, where questions have names. It is not part of the message on the
	// wire.
	Label string

	idStart, paramsStart int
	bodyStart            int         // of Result or Error
	known                jsonx.Known // about Raw
}

var (
	envelope = []string{"jsonrpc", "id", "method", "params", "result", "error"}

	errNotObject = errors.New("not a JSON-RPC message")
)

// Parse reads one message. It refuses an envelope that decoders may read differently: a repeated member, a case variant
// of a known one, a request that is also a response. It checks nothing below the envelope.
func Parse(line []byte) (Message, error) { return parse(line, false) }

// ParseRequest reads a message that will also be checked. It looks below the envelope in the same pass, so that Check
// need not.
func ParseRequest(line []byte) (Message, error) { return parse(line, true) }

// Composed reads a request that callgate has composed. It returns the id and the method, but no params if those stand
// last.
func Composed(request []byte) (Message, error) {
	var m [2]jsonx.Member
	if jsonx.MembersBefore(request, "params", envelope[1:3], m[:]) && m[0].Value != nil {
		if method, ok := jsonx.String(m[1].Value); ok && method != "" {
			return Message{Raw: request, ID: m[0].Value, Method: method, idStart: m[0].Start}, nil
		}
	}
	return Parse(request)
}

// Check runs jsonx.Check on the whole message, unless ParseRequest has done so.
func (m Message) Check() error {
	if m.known == jsonx.Checked {
		return nil
	}
	return jsonx.Check(m.Raw)
}

func parse(line []byte, check bool) (Message, error) {
	var m [6]jsonx.Member
	known, err := jsonx.Read(line, envelope, m[:], check)
	if err != nil {
		return Message{}, err
	}
	version, id, method, params, result, fault := m[0], m[1], m[2], m[3], m[4], m[5]
	if string(version.Value) != `"2.0"` {
		return Message{}, fmt.Errorf(`%w: "jsonrpc" is not "2.0"`, errNotObject)
	}
	if id.Value != nil && !validID(id.Value) {
		return Message{}, fmt.Errorf("%w: the id %.40s is neither a string nor a number", errNotObject, id.Value)
	}
	msg := Message{
		Raw: line, ID: id.Value, Params: params.Value, Result: result.Value, Error: fault.Value,
		idStart: id.Start, paramsStart: params.Start, bodyStart: max(result.Start, fault.Start), known: known,
	}
	if method.Value == nil {
		if id.Value == nil || (result.Value == nil) == (fault.Value == nil) {
			return Message{}, fmt.Errorf("%w: neither a request nor a response", errNotObject)
		}
		return msg, nil
	}
	name, ok := callMethod, string(method.Value) == quotedCallMethod // as in most messages
	if !ok {
		name, ok = jsonx.String(method.Value)
	}
	if !ok || name == "" || result.Value != nil || fault.Value != nil {
		return Message{}, fmt.Errorf("%w: a request needs a method, and has no result or error", errNotObject)
	}
	msg.Method = name
	return msg, nil
}

const callMethod, quotedCallMethod = "tools/call", `"tools/call"`

// validID accepts strings and numbers, and the null with which servers answer what they could not parse.
func validID(id []byte) bool {
	return id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9' || string(id) == "null"
}

// IsRequest, IsNotification and IsResponse tell the three kinds of message apart.
func (m Message) IsRequest() bool      { return m.Method != "" && m.ID != nil }
func (m Message) IsNotification() bool { return m.Method != "" && m.ID == nil }
func (m Message) IsResponse() bool     { return m.Method == "" }

// WithID returns the message with another id; everything else stays byte for byte. The message MUST have an id.
func (m Message) WithID(id []byte) []byte {
	return jsonx.Splice(m.Raw, jsonx.Edit{Start: m.idStart, End: m.idStart + len(m.ID), With: id})
}

// Readdressed does what WithID does for an answer of which others read only the result or error. Those stay in place,
// and in a long message the text before or after them moves to fit a shorter id.
func (m Message) Readdressed(id []byte) []byte {
	end := m.idStart + len(m.ID)
	spare := len(m.ID) - len(id)
	if len(m.Raw) < long || spare < 0 {
		return m.WithID(id)
	}
	if m.bodyStart < m.idStart {
		at := m.idStart + copy(m.Raw[m.idStart:], id)
		return m.Raw[:at+copy(m.Raw[at:], m.Raw[end:])]
	}
	copy(m.Raw[end-len(id):end], id)
	copy(m.Raw[spare:], m.Raw[:m.idStart])
	return m.Raw[spare:]
}

// long is the length in bytes from which it is worth not copying a message.
const long = 16 << 10

// WithParams returns a message with another id and other params, with edits made in the params; everything else stays
// byte for byte. The message MUST have both.
func WithParams(m Message, id, params []byte, edits ...jsonx.Edit) []byte {
	if len(edits) > 0 && len(params) == len(m.Params) && len(params) > 0 && &params[0] == &m.Params[0] { // long ones are copied once
		all := append(make([]jsonx.Edit, 0, 4), jsonx.Edit{Start: m.idStart, End: m.idStart + len(m.ID), With: id})
		for _, e := range edits {
			all = append(all, jsonx.Edit{Start: m.paramsStart + e.Start, End: m.paramsStart + e.End, With: e.With})
		}
		return jsonx.Splice(m.Raw, all...)
	}
	if len(edits) > 0 {
		params = jsonx.Splice(params, edits...)
	}
	return jsonx.Splice(m.Raw,
		jsonx.Edit{Start: m.idStart, End: m.idStart + len(m.ID), With: id},
		jsonx.Edit{Start: m.paramsStart, End: m.paramsStart + len(m.Params), With: params})
}

// Request composes a request, or a notification if id is nil. params may be nil.
func Request(id []byte, method string, params []byte) []byte {
	b := make([]byte, 0, len(id)+len(method)+len(params)+48)
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(append(b, `,"method":`...), jsonx.Quote(method)...)
	if params != nil {
		b = append(append(b, `,"params":`...), params...)
	}
	return append(b, '}')
}

// Result composes the response to the request with that id.
func Result(id, result []byte) []byte {
	b := make([]byte, 0, len(id)+len(result)+40)
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	b = append(append(b, `,"result":`...), result...)
	return append(b, '}')
}

// Error composes an error response. A nil id means that the request could not be read.
func Error(id []byte, code int, message string) []byte {
	if id == nil {
		id = []byte("null")
	}
	b := make([]byte, 0, len(id)+len(message)+64)
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	b = strconv.AppendInt(append(b, `,"error":{"code":`...), int64(code), 10)
	b = append(append(b, `,"message":`...), jsonx.Quote(message)...)
	return append(b, "}}"...)
}
