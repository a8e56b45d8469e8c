package proxy

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
	"callgate/internal/rpc"
	"callgate/permissions"
)

// innerCases holds params of calls of CallTool, and what they become: params of a direct call, or a refusal. They seed
// the fuzzer too.
var innerCases = []struct{ title, params, want, refused string }{
	{"plain", `{"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":{"x":1.0}}}`, `{"name":"s_do","arguments":{"x":1.0}}`, ""},
	{"spelling stays", `{ "_meta":{"k":[ ]}, "arguments" : {"arguments": { "n":9007199254740993,"é":"\u00e9" } ,"name":"s\u005fdo"}, "name":"callgate_call_tool" }`,
		`{ "_meta":{"k":[ ]}, "arguments" : { "n":9007199254740993,"é":"\u00e9" }, "name":"s\u005fdo" }`, ""},
	{"no arguments", `{"name":"callgate_call_tool","arguments":{"name":"s_do"}}`, `{"name":"s_do","arguments":{}}`, ""},
	{"null arguments", `{"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":null}}`, `{"name":"s_do","arguments":{}}`, ""},
	{"name spelled with escapes", `{"name":"callgate\u005fcall_tool","arguments":{"name":"s_do","arguments":{}}}`, `{"name":"s_do","arguments":{}}`, ""},
	{"arguments like the outer ones", `{"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":{"name":"callgate_call_tool","arguments":{}}}}`, `{"name":"s_do","arguments":{"name":"callgate_call_tool","arguments":{}}}`, ""},
	{"unknown members stay", `{"new":1e400,"name":"callgate_call_tool","arguments":{"name":"s_do"},"task":{}}`, `{"new":1e400,"name":"s_do","arguments":{},"task":{}}`, ""},
	{"another tool", `{"name":"s_do","arguments":{"name":"x"}}`, `{"name":"s_do","arguments":{"name":"x"}}`, ""},

	{"nested", `{"name":"callgate_call_tool","arguments":{"name":"callgate_call_tool","arguments":{"name":"s_do"}}}`, "", "cannot call itself"},
	{"nested, spelled with escapes", `{"name":"callgate_call_tool","arguments":{"name":"callgate_call\u005ftool","arguments":{"name":"s_do"}}}`, "", "cannot call itself"},
	{"nothing", `{"name":"callgate_call_tool"}`, "", "needs an object"},
	{"null", `{"name":"callgate_call_tool","arguments":null}`, "", "needs an object"},
	{"a list", `{"name":"callgate_call_tool","arguments":["s_do"]}`, "", "needs an object"},
	{"no name", `{"name":"callgate_call_tool","arguments":{"arguments":{}}}`, "", `needs the "name"`},
	{"empty name", `{"name":"callgate_call_tool","arguments":{"name":"","arguments":{}}}`, "", `needs the "name"`},
	{"name is no text", `{"name":"callgate_call_tool","arguments":{"name":["s_do"],"arguments":{}}}`, "", `needs the "name"`},
	{"arguments as text", `{"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":"{}"}}`, "", "must be an object"},
	{"arguments as list", `{"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":[{}]}}`, "", "must be an object"},
	{"two names", `{"name":"callgate_call_tool","arguments":{"name":"s_do","name":"s_other"}}`, "", `"name"`},
	{"another case", `{"name":"callgate_call_tool","arguments":{"name":"s_do","Arguments":{"x":1}}}`, "", "Arguments"},
	{"the Kelvin sign is a k", `{"name":"callgate_call_tool","arguments":{"name":"s_do","argument\u017f":{"x":1}}}`, "", "argument"},
	{"more members", `{"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":{},"path":"/etc"}}`, "", "nothing else"},
}

func TestInner(t *testing.T) {
	for _, c := range innerCases {
		t.Run(c.title, func(t *testing.T) {
			p, err := readCallParams([]byte(c.params))
			if err != nil {
				t.Fatal(err)
			}
			p, err = innerCall([]byte(c.params), p)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("it says %v, want %q", err, c.refused)
				}
				return
			}
			if err != nil || string(p.of) != c.want {
				t.Errorf("got %s, %v\nwant %s", p.of, err, c.want)
			}
		})
	}
}

// FuzzInner checks that a call of CallTool never turns into another one, and reads like a direct call of the tool that
// it names, with the arguments that it holds.
func FuzzInner(f *testing.F) {
	for _, c := range innerCases {
		f.Add([]byte(c.params))
	}
	f.Fuzz(func(t *testing.T, params []byte) {
		if jsonx.Check(params) != nil {
			t.Skip()
		}
		outer, err := readCallParams(params)
		if err != nil || outer.name != CallTool {
			t.Skip()
		}
		inner, err := innerCall(params, outer)
		if err != nil {
			return
		}
		if err := jsonx.Check(inner.of); err != nil {
			t.Fatalf("%s is not JSON to trust: %v", inner.of, err)
		}
		if inner.name == CallTool || inner.agent != outer.agent || string(inner.beside) != string(outer.beside) {
			t.Fatalf("%s became %s", params, inner.of)
		}
		var said struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := json.Unmarshal(outer.arguments.Value, &said); err != nil {
			t.Fatal(err)
		}
		if name, _ := jsonx.String(inner.rawName.Value); name != said.Name {
			t.Fatalf("%s calls %q", params, name)
		}
		if len(said.Arguments) > 0 && string(said.Arguments) != "null" && string(inner.arguments.Value) != string(said.Arguments) {
			t.Fatalf("%s has the arguments %s", params, inner.arguments.Value)
		}
	})
}

// someTools is a server with several tools, which the rules below tell apart.
var someTools = script{Lists: map[string]string{"tools/list": `{"tools":[` +
	`{"name":"do","description":"Do something","inputSchema":{"type":"object"}},` +
	`{"name":"read","description":"Read a file from disk","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}},` +
	`{"name":"weather","description":"Forecast rain, wind and temperature for a city","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}}},` +
	`{"name":"bank","description":"Transfer money","inputSchema":{"type":"object"}}]}`}}

func exposing(t *testing.T, rules string, pinned ...string) (*world, *testHost) {
	t.Helper()
	w := newWorld(t, rules, false, []string{"s"}, someTools)
	w.expose(pinned...)
	h := w.connect().collect()
	h.greet(helloParams)
	return w, h
}

func (w *world) expose(pinned ...string) {
	w.t.Helper()
	e := &Expose{}
	for _, pattern := range pinned {
		glob, err := permissions.CompileGlob(pattern)
		if err != nil {
			w.t.Fatal(err)
		}
		e.Pinned = append(e.Pinned, glob)
	}
	w.proxy.o.Expose = e
	w.proxy.remake()
}

// callsWithin calls a tool through CallTool.
func (h *testHost) callsWithin(id, tool, arguments string) {
	h.t.Helper()
	h.calls(id, CallTool, fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

func TestExposedList(t *testing.T) {
	_, h := exposing(t, allowAll, "s_weather", "*_read")
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	m := h.next()
	if got := string(m.Result); !strings.Contains(got, `"s_weather"`) || !strings.Contains(got, `"s_read"`) || strings.Contains(got, `"s_do"`) || strings.Contains(got, `"s_bank"`) {
		t.Errorf("listed: %s", got)
	}
	h.callsWithin("2", "s_do", `{"text":"here"}`)
	if text, isError := h.text("2"); text != "do here" || isError {
		t.Errorf("a tool that is not listed: %q", text)
	}
}

// TestInnerCallIsJudgedAsDirect makes each call twice, and compares the responses and the records.
func TestInnerCallIsJudgedAsDirect(t *testing.T) {
	const rules = `{ "*": "allow", "s_read": "allow", "s_bank": "deny", "s_do": { "*": "allow", "text=secret*": "deny" }, "read_file": { "*": "allow", "*.env": "deny" } }`
	for i, c := range []struct{ tool, arguments string }{
		{"s_do", `{"text":"fine"}`},
		{"s_do", `{"text":"secret 1"}`},
		{"s_do", `{}`},
		{"s_bank", `{"amount":1}`},
		{"s_read", `{"path":"notes.txt"}`},
		{"s_read", `{"path":".env"}`},
		{"s_read", `{"path":"%2eenv"}`},
		{"s_do", `{"text":"x","path":".env"}`},
		{"s_do", `{"do":"fail"}`},
		{"s_none", `{}`},
	} {
		t.Run(fmt.Sprint(i, " ", c.tool, " ", c.arguments), func(t *testing.T) {
			one, h := exposing(t, rules) // each in its own world, because a repeated call may be told that it is one
			h.calls(`1`, c.tool, c.arguments)
			direct := one.rejecting(h)
			other, h := exposing(t, rules)
			h.callsWithin(`1`, c.tool, c.arguments)
			within := other.rejecting(h)
			if anywhere(direct.Result) != anywhere(within.Result) || anywhere(direct.Error) != anywhere(within.Error) {
				t.Errorf("directly  %s\nby CallTool %s", direct.Raw, within.Raw)
			}
			directly, byCallTool := one.records(audit.Decision), other.records(audit.Decision)
			if len(directly) != 1 || len(byCallTool) != 1 {
				t.Fatalf("%d and %d decisions", len(directly), len(byCallTool))
			}
			a, b := comparable(t, directly[0]), comparable(t, byCallTool[0])
			if a != b {
				t.Errorf("on record\n%s\n%s", a, b)
			}
		})
	}
}

// rejecting returns the next message. Until it comes, it rejects what waits for a person.
func (w *world) rejecting(h *testHost) rpc.Message {
	w.t.Helper()
	for {
		select {
		case m := <-h.got:
			return m
		case <-time.After(10 * time.Millisecond):
			for _, a := range w.gate.Pending() {
				if err := w.gate.Answer(a.ID, gate.Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: "reject", By: "test"}); err != nil {
					w.t.Error(err)
				}
			}
		case <-w.t.Context().Done():
			w.t.Fatal("nothing comes")
		}
	}
}

// comparable returns a record without what differs between any two calls.
func comparable(t *testing.T, r audit.Record) string {
	t.Helper()
	r.CallID, r.SessionID, r.Seq, r.Prev, r.Hash = "", "", 0, "", ""
	r.Time = time.Time{}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return anywhere(data)
}

var folderOfTest = regexp.MustCompile(`/\d{3}\b`)

// anywhere returns a text without what differs between the folders of one test.
func anywhere(text []byte) string { return folderOfTest.ReplaceAllString(string(text), "/N") }

// TestInnerReachesTheServer checks that the server gets what a direct call would send it.
func TestInnerReachesTheServer(t *testing.T) {
	_, h := exposing(t, allowAll)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":{"do":"progress","n":1.0}}}}`)
	h.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}`)
	h.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":2}}`)
	for m := h.next(); string(m.Raw) != `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}`; m = h.next() {
		if m.Method != "notifications/progress" {
			t.Fatalf("got %s", m.Raw)
		}
	}
	h.callsWithin("2", "s_do", `{"do":"received"}`)
	text, _ := h.text("2")
	if !strings.Contains(text, `"params":{"_meta":{"progressToken":7},"name":"do","arguments":{"do":"progress","n":1.0}}`) {
		t.Errorf("the server got %s", text)
	}
}

func TestInnerRefusals(t *testing.T) {
	w, h := exposing(t, allowAll)
	for i, c := range innerCases {
		if c.refused == "" || strings.Contains(c.title, "Kelvin") {
			continue
		}
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, i, c.params))
		if m := h.next(); m.Error == nil {
			t.Errorf("%s: %s", c.title, m.Raw)
		}
	}
	// Names must not repeat at any depth.
	h.send(`{"jsonrpc":"2.0","id":"twice","method":"tools/call","params":{"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":{"text":"a","Text":"b"}}}}`)
	if m := h.next(); m.Error == nil {
		t.Errorf("members that fold to one: %s", m.Raw)
	}
	for _, r := range w.records(audit.Decision) {
		if r.Decision != gate.DecidedDenied {
			t.Errorf("on record: %+v", r)
		}
	}
}

// TestInnerApproval: a person sees and releases the inner call. "always" applies to the inner tool, however it is
// called, and also releases waiting calls.
func TestInnerApproval(t *testing.T) {
	w, h := exposing(t, `{ "*": "ask" }`)
	h.callsWithin("1", "s_do", `{"text":"one"}`)
	w.pending(1)
	h.calls("2", "s_do", `{"text":"two"}`)
	pending := w.pending(2)
	first := pending[0]
	if first.Tool != "s_do" || first.Server != "s" || string(first.Arguments) != `{"text":"one"}` || strings.Contains(first.Analysis.Summary, "call_tool") {
		t.Errorf("a person is shown %s %s %q", first.Tool, first.Arguments, first.Analysis.Summary)
	}
	if err := w.gate.Answer(first.ID, gate.Answer{SessionID: first.SessionID, Digest: first.Digest, Decision: "always", Scope: "session", Grants: []gate.GrantChoice{{Tool: "s_do", Pattern: "*"}}, By: "test"}); err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{string(h.next().ID): true, string(h.next().ID): true}
	if !got["1"] || !got["2"] {
		t.Errorf("answered: %v", got)
	}
	h.callsWithin("3", "s_do", `{"text":"three"}`)
	if text, isError := h.text("3"); text != "do three" || isError {
		t.Errorf("after always: %q", text)
	}
	h.callsWithin("4", "s_bank", `{}`)
	other := w.pending(1)[0]
	if other.Tool != "s_bank" {
		t.Errorf("always for one tool covers another: %s", other.Tool)
	}
	if err := w.gate.Answer(other.ID, gate.Answer{SessionID: other.SessionID, Digest: other.Digest, Decision: "approve", Arguments: []byte(`{"amount":2}`), By: "test"}); err != nil {
		t.Fatal(err)
	}
	h.next()
	h.callsWithin("5", "s_do", `{"do":"received"}`)
	if text, _ := h.text("5"); !strings.Contains(text, `"params":{"name":"bank","arguments":{"amount":2}}`) {
		t.Errorf("with edited arguments the server got %s", text)
	}
}

// pending waits until n approvals wait.
func (w *world) pending(n int) []*gate.Approval {
	w.t.Helper()
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(time.Millisecond) {
		pending := w.gate.Pending()
		if len(pending) == n {
			return pending
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d approvals wait, not %d", len(pending), n)
		}
	}
}

// TestInnerQuarantine: a tool whose definition changed asks, however it is called, and a hidden tool is unknown.
func TestInnerQuarantine(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, someTools)
	w.expose()
	pins, err := tools.OpenPins(filepath.Join(t.TempDir(), "pins.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := pins.Accept("", map[string][]byte{"bank": []byte(`{"name":"bank","description":"Show the balance"}`)}); err != nil {
		t.Fatal(err)
	}
	w.proxy.o.Pins = pins
	w.proxy.remake()
	h := w.connect().collect()
	h.greet(helloParams)
	h.callsWithin("1", "s_bank", `{}`)
	a := w.pending(1)[0]
	if a.Redefined == nil || !strings.Contains(string(a.Redefined.Old), "Show the balance") {
		t.Errorf("it asks without saying why: %+v", a.Reasons)
	}
	if err := w.gate.Answer(a.ID, gate.Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: "reject", By: "test"}); err != nil {
		t.Fatal(err)
	}
	if _, isError := h.text("1"); !isError {
		t.Error("it ran")
	}
}

// TestInnerAgentVeto: the session's profile, and a profile that a call names, judge the inner tool.
func TestInnerAgentVeto(t *testing.T) {
	w, h := exposing(t, allowAll)
	profile := permissions.Agent{Name: "careful", Rules: []permissions.Rule{{Tool: "s_do", Pattern: "*", Action: permissions.Deny, Layer: permissions.LayerAgent}}}
	session := w.gate.Sessions()[0].ID
	id, err := w.gate.Controls.AddAgent(session, profile, gate.AgentInfo{Role: "r"}, audit.Author{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"callgate_call_tool","arguments":{"name":"s_do","arguments":{}},"_meta":{"callgate/agent":%q}}}`, id))
	if text, isError := h.text("1"); !isError || !strings.Contains(text, "denied s_do") {
		t.Errorf("the agent's deny: %q", text)
	}
	h.callsWithin("2", "s_do", `{}`)
	if _, isError := h.text("2"); isError {
		t.Error("without the agent it does not run")
	}
}

// TestFindTools checks that tools are found by words, by meaning and by their schemas, and that the list is current.
func TestFindTools(t *testing.T) {
	w, h := exposing(t, allowAll)
	session := w.gate.Sessions()[0].ID
	for query, want := range map[string]string{"will it be wet tomorrow in Paris: rain": "s_weather", "city": "s_weather", "transfer": "s_bank", "open file": "s_read", "s_do": "s_do"} {
		found, err := w.proxy.FindTools(t.Context(), session, query, 2)
		if err != nil || len(found.Tools) == 0 || !strings.Contains(string(found.Tools[0]), `"name":"`+want+`"`) || found.Of != 4 {
			t.Errorf("%q finds %s, %v", query, found.Tools, err)
		}
	}
	found, err := w.proxy.FindTools(t.Context(), session, "weather", 1)
	if err != nil || string(found.Tools[0]) != `{"name":"s_weather","description":"Forecast rain, wind and temperature for a city","inputSchema":{"type":"object","properties":{"city":{"type":"string"}}}}` {
		t.Errorf("the definition is %s, %v", found.Tools, err)
	}
	if _, err := w.proxy.FindTools(t.Context(), "s-none", "weather", 1); err == nil {
		t.Error("a session that is none finds tools")
	}
	h.close()
}
