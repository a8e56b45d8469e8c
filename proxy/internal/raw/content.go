package raw

import (
	"bytes"
	"slices"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// IsResult reports whether a response has a result.
func IsResult(response []byte) bool {
	m, err := rpc.Parse(response)
	return err == nil && m.Result != nil
}

// ErrorText returns the message of a JSON-RPC error.
func ErrorText(raw []byte) string {
	if text, ok := jsonx.String(jsonx.At(raw, "message")); ok && text != "" {
		return text
	}
	return "it says no more"
}

// ErrorResult returns a tool result that reports an error to the model.
func ErrorResult(text string) []byte {
	b := append([]byte(`{"content":[{"type":"text","text":`), jsonx.Quote(text)...)
	return append(b, `}],"isError":true}`...)
}

// WithNote appends a text from callgate to a result's content. An empty note changes nothing.
func WithNote(answer rpc.Message, note string) rpc.Message {
	if note == "" {
		return answer
	}
	return WithContent(answer, append(append([]byte(`{"type":"text","text":`), jsonx.Quote("callgate: "+note)...), '}'))
}

// WithContent appends an item from callgate to a result's content, and leaves every other byte. It changes no result
// without a content array, because a model would not look anywhere else.
func WithContent(answer rpc.Message, item []byte) rpc.Message {
	var m [1]jsonx.Member
	if !readContent(answer, m[:]) {
		return answer
	}
	end := m[0].End() - 1
	if len(bytes.TrimSpace(m[0].Value[1:len(m[0].Value)-1])) > 0 {
		item = slices.Insert(item, 0, ',')
	}
	result := jsonx.Splice(answer.Result, jsonx.Edit{Start: end, End: end, With: item})
	longer, err := rpc.Parse(rpc.Result(answer.ID, result))
	if err != nil {
		return answer
	}
	return longer
}

// TakesContent reports whether WithContent finds a place for an item.
func TakesContent(answer rpc.Message) bool {
	var m [1]jsonx.Member
	return readContent(answer, m[:])
}

func readContent(answer rpc.Message, m []jsonx.Member) bool {
	return answer.Result != nil && jsonx.Members(answer.Result, []string{"content"}, m) == nil && len(m[0].Value) > 0 && m[0].Value[0] == '['
}

// IsErrorResult reports whether a result says that the tool failed.
func IsErrorResult(result []byte) bool {
	return string(jsonx.At(result, "isError")) == "true"
}
