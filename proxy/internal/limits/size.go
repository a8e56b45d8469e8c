package limits

import (
	"bytes"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// Bounds are the limits of every request to one server; 0 means none. Waits for a person or the host's model do not
// count.
type Bounds struct {
	Timeout   time.Duration
	MaxResult int // bytes per result
}

// Limited returns the answer to a tools/call with no more of its result than the server's bound allows, and with a note
// for the model. Texts stay in order as far as there is room, and the last is cut. Parts that do not fit and cannot be
// cut are left out.
//
// The server's isError stays, because the call ran, and a model that sees an error repeats the call. Only if structured
// content is left out does the result become an error: hosts check that content against the tool's schema, and would
// discard the whole answer.
func Limited(answer rpc.Message, b Bounds, alias string) rpc.Message {
	if b.MaxResult <= 0 || len(answer.Result) <= b.MaxResult {
		return answer
	}
	var m [3]jsonx.Member
	if jsonx.Members(answer.Result, []string{"content", "structuredContent", "isError"}, m[:]) != nil {
		m = [3]jsonx.Member{}
	}
	kept, left, whole := fitting(m[0].Value, b.MaxResult)
	note := fmt.Sprintf("callgate: the result had %d bytes; server %q may give %d (maxResultBytes). ", len(answer.Result), alias, b.MaxResult)
	if !whole {
		note += "The text above is cut. "
	}
	if left > 0 {
		note += fmt.Sprintf("%d more parts of the content are left out. ", left)
	}
	if m[1].Value != nil {
		note += "The structured content is left out. "
	}
	note += "The call was made: ask for less (a range, a page, a filter) instead of repeating it."
	result := append(append([]byte(`{"content":[`), kept...), `{"type":"text","text":`...)
	result = append(append(result, jsonx.Quote(note)...), "}]"...)
	if m[1].Value != nil || string(m[2].Value) == "true" {
		result = append(result, `,"isError":true`...)
	}
	short, err := rpc.Parse(rpc.Result(answer.ID, append(result, '}')))
	if err != nil {
		return answer // cannot happen: all of it is quoted
	}
	return short
}

// fitting returns the parts of a content array that fit into room, each followed by a comma. left counts those that do
// not fit, and whole is false if the last text is cut.
func fitting(content []byte, room int) (kept []byte, left int, whole bool) {
	whole = true
	if len(content) == 0 || content[0] != '[' {
		return nil, 0, true
	}
	dec := jsontext.NewDecoder(bytes.NewReader(content), jsontext.AllowDuplicateNames(true))
	if _, err := dec.ReadToken(); err != nil {
		return nil, 0, true
	}
	for dec.PeekKind() == '{' {
		part, err := dec.ReadValue()
		if err != nil {
			return kept, left, whole
		}
		if left == 0 && whole && len(part) <= room {
			kept, room = append(append(kept, part...), ','), room-len(part)
			continue
		}
		text, ok := textOf(part)
		if !ok || !whole || room < 2 {
			left++
			continue
		}
		text = text[:min(len(text), room)]
		for len(text) > 0 && !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
		kept = append(append(append(kept, `{"type":"text","text":`...), jsonx.Quote(text)...), "},"...)
		whole, room = false, 0
	}
	return kept, left, whole
}

// textOf returns the text of a content part, if it is a text.
func textOf(part []byte) (string, bool) {
	var m [2]jsonx.Member
	if jsonx.Members(part, []string{"type", "text"}, m[:]) != nil || string(m[0].Value) != `"text"` {
		return "", false
	}
	return jsonx.String(m[1].Value)
}

// Exceeded returns an error if the result of another method is over the bound. Such results have no place for a note,
// and half a resource is no resource.
func Exceeded(answer rpc.Message, b Bounds, alias string) error {
	if b.MaxResult <= 0 || len(answer.Result) <= b.MaxResult {
		return nil
	}
	return fmt.Errorf("the result had %d bytes; server %q may give %d (maxResultBytes)", len(answer.Result), alias, b.MaxResult)
}
