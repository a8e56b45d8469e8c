package proxy

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
	"callgate/internal/upstream"
)

const allowAll = `{ "*": "allow" }`

var withOneTool = script{Lists: map[string]string{"tools/list": oneTool}}

// ready connects a host to a proxy of the servers and shakes hands.
func ready(t *testing.T, rules string, untouched bool, aliases []string, scripts ...script) (*world, *testHost) {
	t.Helper()
	w := newWorld(t, rules, untouched, aliases, scripts...)
	h := w.connect().collect()
	h.greet(helloParams)
	return w, h
}

// records returns the audit trail's records of the event.
func (w *world) records(event audit.Event) (all []audit.Record) {
	w.t.Helper()
	for r, err := range audit.Read(w.audit, audit.Filter{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		if r.Event == event {
			all = append(all, r)
		}
	}
	slices.Reverse(all) // oldest first
	return all
}

func TestListKeepsItsBytes(t *testing.T) {
	for _, c := range []struct {
		name      string
		untouched bool
		want      string
	}{
		{"untouched", true, oneTool},
		{"qualified", false, `{ "tools": [{"name":"s_do", "x-unknown": 1.0, "inputSchema":{"type":"object"}}], "_meta": {"n": 9007199254740993} }`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, h := ready(t, allowAll, c.untouched, []string{"s"}, withOneTool)
			h.send(`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`)
			h.want(`{"jsonrpc":"2.0","id":7,"result":` + c.want + `}`)
			h.send(`{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":"made up"}}`)
			h.want(`{"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"unknown cursor: the list has one page"}}`)
		})
	}
}

// The server gets what the host wrote, except for the id and the tool's name. The host gets what the server wrote,
// except for the id.
func TestCallKeepsItsBytes(t *testing.T) {
	w, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	h.send(`{ "x":1.0,"params": {"_meta":{"k":1e2}, "name":"s_do","arguments":{"text":"\u00e9 é","n":9007199254740993}} , "id":"i 1","method":"tools/call","jsonrpc":"2.0"}`)
	h.want(`{"jsonrpc":"2.0","id":"i 1","result":{"content":[{"type":"text","text":"do é é"}]}}`)
	h.calls("2", "s_do", `{"do":"received"}`)
	text, _ := h.text("2")
	before, after, _ := strings.Cut(text, `"cg-`)
	_, after, _ = strings.Cut(after, `"`)
	if before+"ID"+after != `{ "x":1.0,"params": {"_meta":{"k":1e2}, "name":"do","arguments":{"text":"\u00e9 é","n":9007199254740993}} , "id":ID,"method":"tools/call","jsonrpc":"2.0"}` {
		t.Errorf("the server got %s", text)
	}
	h.calls("3.0", "s_do", `{"do":"fail"}`)
	h.want(`{"jsonrpc":"2.0","id":3.0,"error":{"code":-32042,"message":"no","data":{"n":1.0}}}`)

	outcomes := w.outcomes(3)
	decisions := w.records(audit.Decision)
	if len(decisions) != 3 || len(outcomes) != 3 {
		t.Fatalf("%d decisions and %d outcomes for three calls", len(decisions), len(outcomes))
	}
	outcomeOf := func(call int) audit.Record { // recorded after the host has its answer, so in any order
		i := slices.IndexFunc(outcomes, func(o audit.Record) bool { return o.CallID == decisions[call].CallID })
		if i < 0 {
			t.Fatalf("no outcome of %+v", decisions[call])
		}
		return outcomes[i]
	}
	if d, o := decisions[0], outcomeOf(0); string(d.Arguments) != `{"text":"\u00e9 é","n":9007199254740993}` || d.Tool != "s_do" || d.Decision != "auto_approved" ||
		o.Digest != d.Digest || o.IsError {
		t.Errorf("recorded as %+v and %+v", d, o)
	}
	if o := outcomeOf(2); !o.IsError && o.Error == "" {
		t.Errorf("the error is recorded as %+v", o)
	}
}

// Each line is refused and recorded, and the server sees none of them.
func TestWhatIsRefused(t *testing.T) {
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	cases := []struct {
		name, line, want string
		recorded         bool
	}{
		{"no such tool", call(`{"name":"s_undo"}`), `"error":{"code":-32602,"message":"unknown tool: s_undo"}`, true},
		{"the server's own name", call(`{"name":"do"}`), `unknown tool: do`, true},
		{"argument twice", call(`{"name":"s_do","arguments":{"path":"a","path":"b"}}`), "named like", true},
		{"argument in two cases", call(`{"name":"s_do","arguments":{"path":"a","Path":"b"}}`), "named like", true},
		{"name in two cases", call(`{"name":"s_do","Name":"t_do"}`), "named like", true},
		{"arguments in another case", call(`{"name":"s_do","Arguments":{}}`), "spelled unlike", true},
		{"arguments are not an object", call(`{"name":"s_do","arguments":[1]}`), "not an object", true},
		{"arguments are text", call(`{"name":"s_do","arguments":"{}"}`), "not an object", true},
		{"lone surrogate", call(`{"name":"s_do","arguments":{"a":"\ud800"}}`), "surrogate", true},
		{"too deep", call(`{"name":"s_do","arguments":{"a":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`), "deeper", true},
		{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "needs params", true},
		{"no name", call(`{}`), `needs a \"name\"`, true},
		{"denied by a rule", call(`{"name":"s_do","arguments":{"text":"no"}}`), `"isError":true`, true},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"tools/run"}`, `{"code":-32601,"message":"method not found: tools/run"}`, false},
		{"method of tomorrow", `{"jsonrpc":"2.0","id":1,"method":"tasks/result","params":{}}`, "-32601", false},
		{"method in another case", `{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"s_do"}}`, "-32601", false},
		{"initialize again", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + helloParams + `}`, "initialized already", false},
		{"resource without a uri", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}`, `needs a \"uri\"`, true},
		{"unknown prompt", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p"}}`, "unknown prompt", false},
		{"completion of nothing", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`, `needs a \"ref\"`, false},
	}
	w, h := ready(t, `{ "*": "allow", "s_do": { "text=no": "deny" } }`, false, []string{"s"}, withOneTool)
	recorded := 0
	for _, c := range cases {
		h.send(c.line)
		if m := h.next(); string(m.ID) != "1" || !strings.Contains(string(m.Raw), c.want) {
			t.Errorf("%s: %s, want an answer with %s", c.name, m.Raw, c.want)
		}
		if c.recorded {
			recorded++
		}
		if got := len(w.records(audit.Decision)); got != recorded {
			t.Errorf("%s: %d refusals on record, want %d", c.name, got, recorded)
		}
	}
	for _, c := range []struct{ line, id string }{
		{`hello`, "null"}, {`[]`, "null"}, {`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "null"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1"}, {`{"jsonrpc":"2.0","id":"a","method":"ping","METHOD":"tools/call"}`, `"a"`},
	} {
		h.send(c.line)
		if m := h.next(); string(m.ID) != c.id || m.Error == nil {
			t.Errorf("%s: %s", c.line, m.Raw)
		}
	}
	h.calls("1", "s_do", `{"text":"yes"}`)
	h.text("1")
	h.calls("2", "s_do", `{"do":"received"}`)
	if text, _ := h.text("2"); !strings.Contains(text, "yes") {
		t.Errorf("the server got %s", text)
	}
	if outcomes := w.outcomes(2); len(outcomes) != 2 {
		t.Errorf("%d outcomes: something was forwarded", len(outcomes))
	}
}

func TestProgressComesBeforeTheResponseAndNeverAfter(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	for id := range 20 {
		token := fmt.Sprintf(`"t%d"`, id)
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s_do","arguments":{"do":"progress"},"_meta":{"progressToken":%s}}}`, id, token))
		progress := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`
		h.want(fmt.Sprintf(progress, token, 1))
		h.want(fmt.Sprintf(progress, token, 2))
		m := h.next()
		if string(m.Raw) == fmt.Sprintf(progress, token, 3) { // late for the server, but not yet for the host
			m = h.next()
		}
		if string(m.ID) != fmt.Sprint(id) {
			t.Fatalf("after the response to %d, or instead of it: %s", id, m.Raw)
		}
	}
	// The server has one thread, so what it wrote after its responses arrives before this response.
	h.calls("100", "s_do", `{}`)
	h.text("100")
	h.quiet()
}

func TestProgressOfAnotherServerIsDropped(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"a", "b"}, withOneTool, withOneTool)
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a_do","arguments":{"do":"hang"},"_meta":{"progressToken":"T"}}}`)
	h.waitHung("a_do", "1")
	h.calls("2", "b_do", `{"do":"meddle","token":"T"}`)
	h.text("2") // nothing comes before it
	h.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a_do","arguments":{"do":"meddle","token":"T"}}}`)
	h.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"T","progress":66}}`) // its own server may
	h.text("3")
	h.quiet()
}

// waitHung asks the server until its list has n calls and cancellations.
func (h *testHost) waitHung(tool, n string) {
	h.t.Helper()
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(time.Millisecond) {
		h.calls(`"hung"`, tool, `{"do":"hung"}`)
		if text, _ := h.text(`"hung"`); text == n {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("the server does not have %s calls and cancellations", n)
		}
	}
}

func TestIDInUse(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	h.calls("1", "s_do", `{"do":"hang"}`)
	h.waitHung("s_do", "1")
	h.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	h.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"a request with this id is still running"}}`)
	h.send(`{"jsonrpc":"2.0","id":"1","method":"ping"}`) // a string is another id than the number
	h.want(`{"jsonrpc":"2.0","id":"1","result":{}}`)

	h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(time.Millisecond) { // the id is free again
		h.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		if m := h.next(); m.Result != nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the id of a cancelled request stays in use")
		}
	}
}

func TestCancelWhileTheServerWorks(t *testing.T) {
	w, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	h.calls("1", "s_do", `{"do":"hang"}`)
	h.waitHung("s_do", "1")
	for _, late := range []string{`{"requestId":"1"}`, `{"requestId":99}`, `{}`, `[]`, `{"requestId":1,"RequestId":1}`} {
		h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + late + `}`) // none of it names the call
	}
	h.waitHung("s_do", "1")
	h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`)
	h.waitHung("s_do", "2") // the server was told
	h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	h.quiet() // a cancelled request gets no response

	i := slices.IndexFunc(w.records(audit.Decision), func(r audit.Record) bool { return strings.Contains(string(r.Arguments), "hang") })
	hung := w.records(audit.Decision)[i].CallID
	if !slices.ContainsFunc(w.outcomes(2), func(r audit.Record) bool {
		return r.CallID == hung && strings.Contains(r.Error, "the host cancelled the request")
	}) {
		t.Error("the end of the cancelled call is not on record")
	}
}

// A call that the server works on is a value in a table, not a goroutine.
func TestCallsInFlightHoldNoGoroutine(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	const n = 100
	for i := range n {
		h.calls(strconv.Itoa(i), "s_do", `{"do":"hang"}`)
	}
	h.waitHung("s_do", strconv.Itoa(n))
	stacks := func() int {
		all := make([]byte, 4<<20)
		return strings.Count(string(all[:runtime.Stack(all, true)]), "proxy.(*host).pass(")
	}
	waits.Until(t, "few goroutines", func() bool { return stacks() < 10 }) // other tests have some
	for i := range n {
		h.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	h.waitHung("s_do", strconv.Itoa(2*n))
}

func TestCancelByAnApprover(t *testing.T) {
	w, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	h.calls("1", "s_do", `{"do":"hang"}`)
	h.waitHung("s_do", "1")
	if err := w.gate.Controls.Cancel(w.gate.Sessions()[0].ID, audit.Author{By: "web:alice"}); err != nil {
		t.Fatal(err)
	}
	if text, isError := h.text("1"); !isError || !strings.Contains(text, "did not end: a person cancelled the call") { // the host gets an answer
		t.Errorf("%q, %v", text, isError)
	}
}

func TestServerAsksTheHost(t *testing.T) {
	_, h := ready(t, `{ "*": "allow", "sampling": "deny" }`, false, []string{"s"}, withOneTool)
	for _, c := range []struct{ method, want, answer, result string }{
		{"elicitation/create", `"params":{"message":"[s] Sure?"}`, `"result":{"action":"accept", "x":1.0}`, `{"action":"accept", "x":1.0}`},
		{"elicitation/create", `"params":{"message":"[s] Sure?"}`, `"error":{"code":-1,"message":"no","data":1.0}`, `{"code":-1,"message":"no","data":1.0}`},
		{"roots/list", `"params":{"message":"Sure?"}`, `"result":{"roots":[]}`, `{"roots":[]}`},
	} {
		h.calls("1", "s_do", `{"do":"ask","text":"`+c.method+`"}`)
		asked := h.next()
		if asked.Method != c.method || !strings.Contains(string(asked.Raw), c.want) || !strings.HasPrefix(string(asked.ID), `"cg-`) {
			t.Fatalf("the host got %s", asked.Raw)
		}
		h.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,` + c.answer + `}`)
		if text, _ := h.text("1"); !strings.HasPrefix(text, `"for `) || !strings.HasSuffix(text, c.result) {
			t.Errorf("%s: the server got %s", c.method, text)
		}
	}
	for method, want := range map[string]string{
		"sampling/createMessage": `{"code":-1,"message":"callgate denied sampling.`,
		"tasks/get":              `{"code":-32601,"message":"the host does not offer tasks/get"}`,
	} {
		h.calls("1", "s_do", `{"do":"ask","text":"`+method+`"}`)
		if text, _ := h.text("1"); !strings.Contains(text, want) {
			t.Errorf("%s: the server got %s", method, text)
		}
	}
}

func TestHostWithoutCapabilitiesIsNotAsked(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s"}, withOneTool)
	h := w.connect().collect()
	h.greet(`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"h","version":"1"}}`)
	for _, method := range []string{"roots/list", "elicitation/create", "sampling/createMessage"} {
		h.calls("1", "s_do", `{"do":"ask","text":"`+method+`"}`)
		if text, _ := h.text("1"); !strings.Contains(text, "does not offer") {
			t.Errorf("%s: the server got %s", method, text)
		}
	}
}

// A host that never answers delays only the request, and its connection can still end.
func TestHostThatNeverAnswers(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	h.calls("1", "s_do", `{"do":"ask","text":"elicitation/create"}`)
	if m := h.next(); m.Method != "elicitation/create" {
		t.Fatalf("the host got %s", m.Raw)
	}
	h.calls("2", "s_do", `{"text":"meanwhile"}`)
	if text, _ := h.text("2"); text != "do meanwhile" {
		t.Errorf("got %q", text)
	}
	h.send(`{"jsonrpc":"2.0","id":"cg-999","result":{}}`) // an answer to no request
	h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	h.quiet()
	h.close()
}

// A host that does not read cannot keep callgate from ending, nor the server's process.
func TestHostThatDoesNotRead(t *testing.T) {
	large := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s_do","arguments":{"text":"` + strings.Repeat("x", 1<<16) + `"}}}`
	for _, c := range []struct {
		name, line string
		end        func(*testHost)
	}{
		{"calls that are answered, then the end of the input", large, (*testHost).close},
		{"answers on the reading goroutine, then a signal", `{"jsonrpc":"2.0","id":%d,"method":"` + strings.Repeat("x", 1<<16) + `"}`, func(h *testHost) {
			h.end()
			h.close()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, allowAll, false, []string{"s"}, withOneTool)
			h := w.connect()
			h.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":` + helloParams + `}`)
			h.read()
			in, stuck := h.in, make(chan struct{})
			go func() { // more than the pipes hold
				defer close(stuck)
				for i := range 100 {
					if _, err := fmt.Fprintf(in, c.line+"\n", i); err != nil {
						return // callgate has ended
					}
				}
			}()
			select {
			case <-stuck: // all were read, but the answers were not
			case <-time.After(300 * time.Millisecond):
			}
			c.end(h)
		})
	}
}

// outcomes waits until n outcomes are recorded, because the host has its answer a moment earlier.
func (w *world) outcomes(n int) []audit.Record {
	w.t.Helper()
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(time.Millisecond) {
		if got := w.records(audit.Outcome); len(got) >= n || time.Now().After(deadline) {
			return got
		}
	}
}

// listed waits until every server has listed everything, because hosts wait only for a moment.
func (w *world) listed() {
	w.t.Helper()
	w.onlyHost(w.t).offers.awaitLists(w.t.Context(), patienceOfTests, nil, upstream.Kinds[:]...)
}

func TestServerThatDies(t *testing.T) {
	w, h := ready(t, allowAll, false, []string{"a", "b"}, withOneTool, withOneTool)
	h.calls("1", "b_do", `{"text":"x"}`)
	h.text("1")
	h.calls("2", "a_do", `{"do":"die"}`)
	if text, isError := h.text("2"); !isError || !strings.Contains(text, `server "a" is down: exit status 3`) {
		t.Errorf("%q, %v", text, isError)
	}
	h.calls("3", "b_do", `{"text":"y"}`)
	if text, _ := h.text("3"); text != "do y" {
		t.Errorf("the other server answers %q", text)
	}
	if outcomes := w.outcomes(3); len(outcomes) != 3 || !slices.ContainsFunc(outcomes, func(r audit.Record) bool { return strings.Contains(r.Error, "is down") }) {
		t.Errorf("outcomes: %+v", outcomes)
	}
}

func TestWelcome(t *testing.T) {
	a := script{Capabilities: `{"tools":{"listChanged":false},"logging":{}}`, Instructions: "Be\nbrief.", Lists: withOneTool.Lists}
	b := script{Capabilities: `{"resources":{"subscribe":true},"experimental":{}}`, Lists: map[string]string{"resources/list": `{"resources":[]}`}}
	for _, c := range []struct {
		name      string
		untouched bool
		aliases   []string
		scripts   []script
		want      string
	}{
		{"two servers", false, []string{"a", "b"}, []script{a, b},
			`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true},"logging":{}},"serverInfo":{"name":"callgate","version":"test"},"instructions":"## a\n\nBe\nbrief."}`},
		{"one, untouched", true, []string{"a"}, []script{a},
			`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"scripted","version":"1"},"instructions":"Be\nbrief."}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, allowAll, c.untouched, c.aliases, c.scripts...)
			h := w.connect().collect()
			began := time.Now()
			// It lacks servers that take longer than hosts wait.
			if got := string(h.greet(helloParams)); got != c.want && time.Since(began) < patience {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			w.listed()
			if got := string(handshake{w.onlyHost(t)}.welcome("2025-06-18")); got != c.want {
				t.Errorf("known is %s\nwant %s", got, c.want)
			}
		})
	}
}

// Two servers offer the same resource, and the first has it. Prompts are renamed like tools, and completions go to the
// server under its own name for the prompt.
func TestListsOfSeveralServers(t *testing.T) {
	scripts := make([]script, 2)
	for i, alias := range []string{"a", "b"} {
		scripts[i] = script{Capabilities: `{"resources":{},"prompts":{},"completions":{}}`, Lists: map[string]string{
			"resources/list":           `{"resources":[{"uri":"x:shared","name":"` + alias + `"},{"uri":"x:` + alias + `","name":"own"}]}`,
			"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"` + alias + `://{id}","name":"t"}]}`,
			"prompts/list":             `{"prompts":[{"name":"p.` + alias + `"}]}`,
			"resources/read":           `{"contents":[{"uri":"x","text":"of ` + alias + `"}]}`,
			"prompts/get":              `{"messages":[],"description":"of ` + alias + `"}`,
			"resources/subscribe":      `{"of":"` + alias + `"}`,
			"completion/complete":      `{"completion":{"values":["` + alias + `"]}}`,
		}}
	}
	w, h := ready(t, `{ "*": "allow", "resource_read": { "*": "allow", "x:b": "deny" } }`, false, []string{"a", "b"}, scripts...)
	w.listed()
	for _, c := range []struct{ method, params, want string }{
		{"resources/list", `{}`, `{"resources":[{"uri":"x:shared","name":"a"},{"uri":"x:a","name":"own"},{"uri":"x:b","name":"own"}]}`},
		{"resources/templates/list", `{}`, `{"resourceTemplates":[{"uriTemplate":"a://{id}","name":"t"},{"uriTemplate":"b://{id}","name":"t"}]}`},
		{"prompts/list", `{}`, `{"prompts":[{"name":"a_p_a"},{"name":"b_p_b"}]}`},
		{"tools/list", `{}`, `{"tools":[]}`},
		{"resources/read", `{"uri":"x:shared"}`, `{"contents":[{"uri":"x","text":"of a"}]}`},
		{"resources/read", `{"uri":"b://7"}`, `{"contents":[{"uri":"x","text":"of b"}]}`},
		{"prompts/get", `{"name":"b_p_b"}`, `{"messages":[],"description":"of b"}`},
		{"resources/subscribe", `{"uri":"x:b"}`, `{"of":"b"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"b_p_b"},"argument":{}}`, `{"completion":{"values":["b"]}}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"a://{id}"},"argument":{}}`, `{"completion":{"values":["a"]}}`},
	} {
		h.send(`{"jsonrpc":"2.0","id":1,"method":"` + c.method + `","params":` + c.params + `}`)
		h.want(`{"jsonrpc":"2.0","id":1,"result":` + c.want + `}`)
	}
	for _, c := range []struct{ method, params, want string }{
		{"resources/read", `{"uri":"x:b"}`, "callgate denied resources/read"},
		{"resources/read", `{"uri":"nobody:x"}`, "resource not found"}, // two servers could have it, so none is asked
		{"prompts/get", `{"name":"p.b"}`, "unknown prompt"},
	} {
		h.send(`{"jsonrpc":"2.0","id":1,"method":"` + c.method + `","params":` + c.params + `}`)
		if m := h.next(); !strings.Contains(string(m.Error), c.want) {
			t.Errorf("%s %s: %s", c.method, c.params, m.Raw)
		}
	}
	if got := w.proxy.Upstreams(); len(got) != 2 || got[0].Name != "a" || got[1].Name != "b" || got[0].State.String() != "ready" {
		t.Errorf("upstreams: %+v", got)
	}
}

func TestSurvey(t *testing.T) {
	w := newWorld(t, allowAll, false, []string{"s", "t"}, withOneTool, script{Capabilities: `{"prompts":{}}`})
	var all []Offered
	for _, s := range w.proxy.o.Servers {
		offered, _, err := Survey(context.Background(), s, "", "test")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, offered...)
	}
	if described := Name(all); len(described) != 1 || described[0].Qualified != "s_do" || described[0].Name != "do" {
		t.Errorf("described: %+v", described)
	}
}

// With many calls at once, each gets its own answer.
func TestManyCallsAtOnce(t *testing.T) {
	_, h := ready(t, allowAll, false, []string{"s"}, withOneTool)
	const n = 200
	for i := range n {
		h.calls(fmt.Sprint(i), "s_do", fmt.Sprintf(`{"text":"%d"}`, i))
	}
	for range n {
		m := h.next()
		if want := `"text":"do ` + string(m.ID) + `"`; !strings.Contains(string(m.Result), want) {
			t.Fatalf("answer %s, want %s", m.Raw, want)
		}
	}
}

// No server's question has the label of callgate's own.
func TestLabelsOfServers(t *testing.T) {
	for label, want := range map[string]string{"a": "a", "": "", "approval": "", "callgate: approve": "", "approval ": "approval "} {
		if got := labelOf(rpc.Message{Label: label}); got != want {
			t.Errorf("%q: %q, want %q", label, got, want)
		}
	}
}
