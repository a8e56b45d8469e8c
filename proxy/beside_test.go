package proxy

import (
	"fmt"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/testserver/waits"
)

// besideCases holds params of tools/call, and what is judged as the call's arguments.
var besideCases = []struct{ params, judged string }{
	{`{"name":"a","arguments":{"x":1}}`, `{"x":1}`},
	{`{ "arguments" : {"x":1} , "_meta":{"k":1}, "task":{}, "name" : "a" }`, `{"x":1}`},
	{`{"_meta":{"k":"}"},"name":"a"}`, ``},
	{`{"name":"a","arguments":{"x":1},"extra":{"p":".env"}}`, `{"callgate/beside":{"extra":{"p":".env"}},"x":1}`},
	{`{"first":1.0,"name":"a", "mid":[] ,"arguments": { } ,"last":"l"}`, `{"callgate/beside":{"first":1.0,"mid":[],"last":"l"}}`},
	{`{"name":"a","requestState":"s","arguments":null}`, `{"callgate/beside":{"requestState":"s"}}`},
	{`{"name":"a","\u0065xtra":1}`, `{"callgate/beside":{"extra":1}}`},
	{`{"n\u0061me":"a","_met\u0061":{}}`, ``},
}

func TestWhatIsBesideTheArgumentsIsJudged(t *testing.T) {
	for _, c := range besideCases {
		p, err := readCallParams([]byte(c.params))
		if err != nil {
			t.Errorf("%s: %v", c.params, err)
			continue
		}
		judged := p.judged()
		if p.beside != nil {
			judged = p.judgedWithBeside()
		}
		if string(judged) != c.judged {
			t.Errorf("%s: %s is judged, want %s", c.params, judged, c.judged)
		}
	}
}

// The members beside the arguments are denied like them, recorded and digested, and reach the server unchanged.
func TestWhatIsBesideTheArguments(t *testing.T) {
	w, h := ready(t, `{ "*": "allow", "read_file": { "*.env": "deny" } }`, false, []string{"s"}, withOneTool)
	send := func(id, extra string) {
		h.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"s_do","x":` + extra + `,"arguments":{"text":"t"}}}`)
	}
	send("1", `{"path":"./.env"}`)
	if text, isError := h.text("1"); !isError || !strings.Contains(text, "denied") {
		t.Errorf("a denied path beside the arguments: %s", text)
	}
	send("2", `{"n":1.0}`)
	if text, _ := h.text("2"); text != "do t" {
		t.Errorf("the answer is %s", text)
	}
	h.calls("3", "s_do", `{"text":"t"}`)
	h.text("3")
	h.calls("4", "s_do", `{"do":"received"}`)
	h.text("4")
	send("5", `{"n":1.0}`)
	h.text("5")
	h.calls("6", "s_do", `{"do":"received"}`)
	if text, _ := h.text("6"); !strings.Contains(text, `"params":{"name":"do","x":{"n":1.0},"arguments":{"text":"t"}}`) {
		t.Errorf("the server got %s", text)
	}
	w.outcomes(5)
	d := w.records(audit.Decision)
	if string(d[1].Arguments) != `{"callgate/beside":{"x":{"n":1.0}},"text":"t"}` || d[1].Digest == d[2].Digest || d[1].Digest != d[4].Digest {
		t.Errorf("recorded as %s %s and %s", d[1].Arguments, d[1].Digest, d[2].Digest)
	}
}

// asked waits for the only question.
func (w *world) asked() (a *gate.Approval) {
	w.t.Helper()
	waits.Until(w.t, "somebody is asked", func() bool {
		pending := w.gate.Pending()
		if len(pending) > 0 {
			a = pending[0]
		}
		return a != nil
	})
	return a
}

// The approver of a request to the model, or of a prompt, sees what it says. Another request has another digest.
func TestRequestsAreJudgedWithWhatTheySay(t *testing.T) {
	s := script{Capabilities: `{"tools":{},"prompts":{},"resources":{}}`, Lists: map[string]string{
		"tools/list":     oneTool,
		"prompts/list":   `{"prompts":[{"name":"p"}]}`,
		"prompts/get":    `{"messages":[]}`,
		"resources/list": `{"resources":[{"uri":"x:a","name":"a"}]}`, "resources/read": `{"contents":[]}`,
	}}
	w, h := ready(t, `{ "*": "allow", "{sampling,prompt_get,resource_read}": "ask" }`, false, []string{"s"}, s)
	h.send(`{"jsonrpc":"2.0","id":0,"method":"prompts/list"}`)
	h.next()
	digests := map[string]bool{}
	answer := func(want string) {
		t.Helper()
		a := w.asked()
		if string(a.Arguments) != want {
			t.Errorf("asked about %s, want %s", a.Arguments, want)
		}
		if digests[a.Digest] {
			t.Errorf("%s has the digest of another request", a.Arguments)
		}
		digests[a.Digest] = true
		if err := w.gate.Answer(a.ID, gate.Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: "approve", By: "test"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ method, params, want string }{
		{"prompts/get", `{"name":"s_p","_meta":{"progressToken":1}}`, `{"name":"p"}`},
		{"prompts/get", `{"name":"s_p","arguments":{"a":"1"}}`, `{"name":"p","params":{"arguments":{"a":"1"}}}`},
		{"prompts/get", `{"name":"s_p","arguments":{"a":"2"}}`, `{"name":"p","params":{"arguments":{"a":"2"}}}`},
		{"resources/read", `{"uri":"x:a","x":1.0}`, `{"uri":"x:a","params":{"x":1.0}}`},
	} {
		h.send(`{"jsonrpc":"2.0","id":1,"method":"` + c.method + `","params":` + c.params + `}`)
		answer(c.want)
		if m := h.next(); m.Result == nil {
			t.Errorf("%s: %s", c.params, m.Raw)
		}
	}
	for i, params := range []string{`{"messages":[1]}`, `{"messages":[2]}`} {
		line := `{\"jsonrpc\":\"2.0\",\"id\":\"q` + fmt.Sprint(i) + `\",\"method\":\"sampling/createMessage\",\"params\":` + strings.ReplaceAll(params, `"`, `\"`) + `}`
		h.calls(fmt.Sprint(10+i), "s_do", `{"do":"write","text":"`+line+`"}`)
		answer(`{"server":"s","params":` + params + `}`)
		m := h.next()
		if m.Method != "sampling/createMessage" || string(m.Params) != params {
			t.Fatalf("the host got %s", m.Raw)
		}
		h.send(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`)
	}
	h.calls("3", "s_do", `{"do":"write","text":"{\"jsonrpc\":\"2.0\",\"id\":\"q2\",\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[{\"a\":1,\"A\":2}]}}"}`)
	h.quiet() // what decoders read differently reaches nobody
	if n := len(w.gate.Pending()); n != 0 {
		t.Errorf("%d questions about an ambiguous request", n)
	}
}
