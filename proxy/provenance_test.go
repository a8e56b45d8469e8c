package proxy

import (
	"fmt"
	"strings"
	"testing"

	"callgate/proxy/internal/provenance"
)

func TestNamesCallgate(t *testing.T) {
	for text, want := range map[string]bool{
		"callgate": true, "CallGate asks: approve": true, "c a l l g a t e": true, "сallgаte": true, "ｃallgate": true,
		"call\u200bgate": true, "cal1gate": true, "cállgate": true, "ca||gate": true,
		"": false, "Approve?": false, "call the gate": false, "gate": false,
	} {
		if got := provenance.NamesCallgate(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A server's form is signed or does not reach the host, nor does one that pretends to be callgate's.
func TestServersCannotSpeakAsCallgate(t *testing.T) {
	w, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	quote := func(s string) string { return strings.ReplaceAll(s, `"`, `\"`) }
	for i, c := range []struct{ params, want string }{
		{`{"message":"Sure?"}`, `{"message":"[s] Sure?"}`},
		{`{"requestedSchema":{}}`, `{"message":"[s] ","requestedSchema":{}}`},
		{`{}`, `{"message":"[s] "}`},
		{`{"message":7}`, `{"message":"[s] "}`},
		{`{"message":"About callgate?"}`, `{"message":"[s] About callgate?"}`},
		{`{"message":"x\\ncallgate: approve"}`, ""},
		{`{"message":"callgate: a person has to approve. Approve?"}`, ""},
		{`{"message":"[callgate] Approve?"}`, ""},
		{`{"message":"CALLGATE asks"}`, ""},
		{`{"message":"cаllgate asks"}`, ""},
		{"{\"message\":\"call\u200bgate: approve?\"}", ""},
		{`{"message":"Please read this. [CallGate]: approve?"}`, ""},
		{`{"message":"Is callgate in use?"}`, `{"message":"[s] Is callgate in use?"}`},
		{`{"message":"x\\n\\n\\n[good] Really?\\n"}`, `{"message":"[s] x ⏎ [good] Really?"}`},
		{`{"message":"\\u001b[2J\\u001b[Hme"}`, `{"message":"[s] ⟨U+001B⟩[2J⟨U+001B⟩[Hme"}`},
		{`{"message":"\\u202eme\\u200b"}`, `{"message":"[s] ⟨U+202E⟩me⟨U+200B⟩"}`},
		{`{"message":"a\\rb\\u2028c"}`, `{"message":"[s] a ⏎ b ⏎ c"}`},
		{`{"message":"m","requestedSchema":{"properties":{"a":{"title":"\\u001b[2J"}}}}`, ""},
		{`{"message":"m","requestedSchema":{"properties":{"a\\u200b":{}}}}`, ""},
		{`{"message":"m","requestedSchema":{"properties":{"a":{"enum":["\\u202ex"]}}}}`, ""},
		{`{"requestedSchema":{"properties":{"a":{"title":"callgate asks: approve"}}}}`, ""},
		{`{"message":"m","requestedSchema":{"properties":{"callgate":{}}}}`, ""},
		{`[]`, ""},
		{`{"mode":"url","url":"https://a.example/x?y","message":"m"}`, `{"mode":"url","url":"https://a.example/x?y","message":"[s] m"}`},
		{`{"mode":"url","url":"javascript:alert(1)","message":"m"}`, ""},
		{`{"mode":"url","url":"file:///etc/passwd","message":"m"}`, ""},
		{`{"mode":"url","url":"https://bank.example@a.example/","message":"m"}`, ""},
		{`{"mode":"url","url":"https:///x","message":"m"}`, ""},
		{`{"mode":"url","url":["https://a.example"],"message":"m"}`, ""},
	} {
		h.calls(fmt.Sprint(i), "s_do", fmt.Sprintf(`{"do":"write","text":"{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"elicitation/create\",\"params\":%s}"}`, i, quote(c.params)))
		if c.want == "" {
			h.quiet()
			continue
		}
		if m := h.next(); string(m.Params) != c.want {
			t.Errorf("%s: the host got %s", c.params, m.Raw)
		} else {
			h.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`)
		}
	}
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if m := h.next(); m.Method != "roots/list" {
		t.Fatalf("the host got %s", m.Raw)
	}
	for _, c := range []struct {
		logger string
		passes bool
	}{{"callgate", false}, {"Callgate ", false}, {"app", true}} {
		line := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"` + c.logger + `","data":"x"}}`
		h.calls(`"`+c.logger+`"`, "s_do", `{"do":"write","text":"`+quote(line)+`"}`)
		if c.passes {
			h.want(line)
		}
	}
	h.quiet()
	for _, url := range []string{"http://127.0.0.1:7777/", "http://127.0.0.1:07777/", "http://localtest.me:7777"} {
		if w.gate.Imitates([]byte(`{"mode":"url","url":"`+url+`"}`)) == "" {
			t.Errorf("%s would reach the host", url)
		}
	}
}
