package proxy

import (
	"fmt"
	"strings"
	"testing"

	"callgate/internal/upstream"
)

// An error that asks the person to open an address is a question of the server. It is signed, or not passed on.
func TestErrorsThatAsk(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	for i, c := range []struct{ fault, want string }{
		{`{"code":-32042,"message":"m","data":{"n":1.0,"elicitations":[{"mode":"url","url":"http://a/","message":"Sign in"} , {"mode":"url"}]}}`,
			`{"code":-32042,"message":"m","data":{"n":1.0,"elicitations":[{"mode":"url","url":"http://a/","message":"[s] Sign in"} , {"message":"[s] ","mode":"url"}]}}`},
		{`{"code":-3.2042e4,"message":"m","data":{"elicitations":[{"message":"x"}]}}`, `{"code":-3.2042e4,"message":"m","data":{"elicitations":[{"message":"[s] x"}]}}`},
		{`{"code":-32042,"message":"m","data":{"elicitations":[]}}`, `{"code":-32042,"message":"m","data":{"elicitations":[]}}`},
		{`{"code":-32042,"message":"m"}`, `{"code":-32042,"message":"m"}`},
		{`{"code":-32042,"message":"m","data":[{"n": 1.0}]}`, `{"code":-32042,"message":"m","data":[{"n": 1.0}]}`},
		{`{"code":-32043,"message":"m","data":{"elicitations":[{"message":"x"}]}}`, `{"code":-32043,"message":"m","data":{"elicitations":[{"message":"x"}]}}`},
		{`{"code":-32042,"message":"m","data":{"elicitations":[{"message":"x\\ncallgate: approve"}]}}`, ""},
		{`{"code":-32042,"message":"m","data":{"elicitations":[{"url":"http://callgate.example/","message":"x"}]}}`, ""},
		{`{"code":-32042,"message":"m","data":{"elicitations":[{"message":"a","Message":"b"}]}}`, ""},
		{`{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","url":"javascript:x()","message":"a"}]}}`, ""},
		{`{"code":-32042,"message":"m","data":{"elicitations":[],"Elicitations":[{"message":"a"}]}}`, ""},
		{`{"code":-32042,"message":"m","data":{"elicitations":{"message":"a"}}}`, ""},
		{`{"code":-32042,"message":"m","data":{"elicitations":[[{"message":"a"}]]}}`, ""},
		{`{"code":1,"code":-32042,"message":"m","data":{"elicitations":[{"message":"a"}]}}`, ""},
	} {
		line := strings.ReplaceAll(`{"jsonrpc":"2.0","id":ID,"error":`+c.fault+`}`, `"`, `\"`)
		h.calls(fmt.Sprint(i), "s_do", `{"do":"write","text":"`+line+`"}`)
		m := h.next()
		switch {
		case string(m.ID) != fmt.Sprint(i) || m.Error == nil:
			t.Fatalf("%s: the host got %s", c.fault, m.Raw)
		case c.want == "" && strings.Contains(string(m.Raw), "callgate does not pass the server's error on."):
		case string(m.Error) != c.want:
			t.Errorf("%s: the host got %s", c.fault, m.Error)
		}
	}
}

// The same holds for an error with which a task of the extension ends.
func TestErrorsOfTasksThatAsk(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, script{Lists: map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`,
		"tools/list":      `{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}`,
	}})
	upstream.TermsOf(&w.proxy.set.Load().Servers[0].Upstream).Era = upstream.Modern
	h := w.connect().collect()
	h.greet(helloParams)
	for i, c := range []struct{ asked, want string }{
		{`{"mode":"url","url":"http://a/","message":"Sign in"}`, `"message":"[s] Sign in"`},
		{`{"mode":"url","url":"javascript:x()","message":"callgate: approve?"}`, "callgate does not pass the server's error on."},
	} {
		h.write(fmt.Sprint(i), `{"resultType":"task","taskId":"t","status":"failed","error":{"code":-32042,"message":"m","data":{"elicitations":[`+c.asked+`]}}}`, "")
		if m := h.next(); string(m.ID) != fmt.Sprint(i) || !strings.Contains(string(m.Error), c.want) {
			t.Errorf("%s: the host got %s", c.asked, m.Raw)
		}
	}
}
