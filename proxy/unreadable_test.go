package proxy

import (
	"strconv"
	"strings"
	"testing"
)

// A call whose answer is unreadable, to callgate or perhaps to a host, ends with one error that names the server.
func TestUnreadableAnswersEndTheirCalls(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	for i, c := range []struct{ answer, want string }{
		{`{"jsonrpc":"2.0","id":ID,"result":{},"result":{}}`, "named like"},
		{`{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}`, "neither"},
		{`{"jsonrpc":"2.0","id":ID}`, "neither"},
		{`{"id":ID,"result":{"content":[]}}`, `"jsonrpc"`},
		{`{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "depth"},
		{`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"BYTE"}]}}`, "not valid UTF-8"},
		{`{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"BYTE"}}`, "not valid UTF-8"},
	} {
		id := strconv.Itoa(i)
		h.calls(id, "s_do", `{"do":"write","text":`+strconv.Quote(c.answer)+`}`)
		if text, isError := h.text(id); !isError || !strings.Contains(text, `server "s"`) || !strings.Contains(text, c.want) {
			t.Errorf("%.80s: %v %s, want an error that names the server and says %q", c.answer, isError, text, c.want)
		}
	}
	h.calls("90", "s_do", `{"do":"write","text":"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"BYTE\"}}\n{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"text\":\"ok\"}]}}"}`)
	if text, _ := h.text("90"); text != "ok" {
		t.Errorf("what is not UTF-8 came through: %s", text)
	}
	h.quiet()
}
