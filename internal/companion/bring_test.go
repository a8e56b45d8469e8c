package companion

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/gate"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
)

// fakeBringer keeps what clients bring into session s1.
type fakeBringer struct {
	mu     sync.Mutex
	visits map[string]*fakeVisit // by server
	change chan struct{}         // closed and replaced when anything changes
}

type fakeVisit struct {
	bringer *fakeBringer
	Brought
	left string
	over bool
}

func newFakeBringer() *fakeBringer {
	return &fakeBringer{visits: map[string]*fakeVisit{}, change: make(chan struct{})}
}

func (b *fakeBringer) changed() {
	close(b.change)
	b.change = make(chan struct{})
}

func (b *fakeBringer) Bring(session string, s Brought) (Visit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if session != "s1" {
		return nil, fmt.Errorf("%w: %q", gate.ErrSession, session)
	}
	if s.Server == "taken" {
		return nil, gate.Invalid(fmt.Errorf("server name %q is taken", s.Server))
	}
	v := &fakeVisit{bringer: b, Brought: s}
	b.visits[s.Server] = v
	b.changed()
	return v, nil
}

func (v *fakeVisit) Offer(tools [][]byte) {
	v.bringer.mu.Lock()
	defer v.bringer.mu.Unlock()
	v.Tools = tools
	v.bringer.changed()
}

func (v *fakeVisit) Over() bool { return v.over }

func (v *fakeVisit) Leave(reason string) {
	v.bringer.mu.Lock()
	defer v.bringer.mu.Unlock()
	v.left = reason
	v.bringer.changed()
}

// want waits until there returns true. It calls there under the lock.
func (b *fakeBringer) want(t *testing.T, what string, there func() bool) {
	t.Helper()
	timeout := time.After(waits.Limit)
	for {
		b.mu.Lock()
		ok, change := there(), b.change
		b.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-change:
		case <-timeout:
			t.Fatalf("%s did not come", what)
		}
	}
}

// call runs a tool of a visit and returns how the call ended.
func (b *fakeBringer) call(ctx context.Context, server, tool, arguments string) <-chan string {
	b.mu.Lock()
	call := b.visits[server].Call
	b.mu.Unlock()
	done := make(chan string, 1)
	go func() {
		result, err := call(ctx, tool, []byte(arguments))
		if err != nil {
			done <- "error: " + err.Error()
			return
		}
		done <- string(result)
	}()
	return done
}

func desk(names ...string) string {
	tools := make([]string, len(names))
	for i, name := range names {
		tools[i] = fmt.Sprintf(`{"server":"desk","name":%q,"description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`, name)
	}
	return `{"v":1,"type":"mcp_tools","sessionId":"s1","tools":[` + strings.Join(tools, ",") + `]}`
}

func startBringing(t *testing.T, timing timing) (*rig, *fakeBringer) {
	t.Helper()
	r := startTimed(t, newFakeBackend("s1"), timing)
	b := newFakeBringer()
	r.options.Backend.Bringer = b
	return r, b
}

// provider is a client with the tools credential that has heard of session s1.
func (r *rig) provider(t *testing.T) *peer {
	t.Helper()
	p := r.join(t, credentials.Tools)
	if f := p.want(wire.TypeTeamUpdate); f["sessionId"] != "s1" {
		t.Fatalf("%v", f)
	}
	return p
}

func TestBringTools(t *testing.T) {
	r, b := startBringing(t, defaultTiming)
	p := r.provider(t)
	p.send(desk("clock", "lamp"))
	b.want(t, "the server", func() bool { return b.visits["desk"] != nil })
	v := b.visits["desk"]
	if v.By != "custom:alice" || len(v.Tools) != 2 || string(v.Tools[0]) != `{"name":"clock","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}` {
		t.Errorf("%s brought %s", v.By, v.Tools)
	}
	done := b.call(t.Context(), "desk", "clock", `{"n":1.0}`)
	f := p.want(wire.TypeMCPCall)
	if f["server"] != "desk" || f["tool"] != "clock" || fmt.Sprint(f["args"]) != "map[n:1]" {
		t.Errorf("%v", f)
	}
	answer := func(members string) {
		t.Helper()
		p.send(fmt.Sprintf(`{"v":1,"type":"mcp_result","sessionId":"s1","toolCallId":%q,%s}`, f["toolCallId"], members))
	}
	// A malformed answer leaves the call waiting.
	for _, members := range []string{`"x":1`, `"result":{"content":[]},"error":"both"`, `"result":{"text":"done"}`, `"result":[]`, `"result":{"content":"done"}`} {
		answer(members)
		p.wantError(wire.CodeBadMessage)
	}
	answer(`"result":{"content":[{"type":"text","text":"noon"}],"x": 1.0}`)
	if got := <-done; got != `{"content":[{"type":"text","text":"noon"}],"x": 1.0}` {
		t.Errorf("the result is %s", got)
	}
	answer(`"result":{"content":[]}`) // only one answer counts
	p.wantError(wire.CodeNotPending)

	done = b.call(t.Context(), "desk", "clock", "")
	f = p.want(wire.TypeMCPCall)
	answer(`"result":"it is <noon>"`)
	if got := <-done; got != `{"content":[{"text":"it is <noon>","type":"text"}]}` {
		t.Errorf("the result is %s", got)
	}

	done = b.call(t.Context(), "desk", "clock", "")
	f = p.want(wire.TypeMCPCall)
	answer(`"error":"the clock has stopped"`)
	if got := <-done; got != "error: the clock has stopped" {
		t.Errorf("%s", got)
	}

	// The list is replaced, and tools missing from it are taken back.
	p.send(desk("clock"))
	b.want(t, "the shorter list", func() bool { return len(v.Tools) == 1 })
	p.send(desk())
	b.want(t, "the end", func() bool { return strings.Contains(v.left, "custom:alice took this tool back") })
}

// Only the client that got a call can answer it.
func TestBringToolsAnswersOfOthers(t *testing.T) {
	r, b := startBringing(t, defaultTiming)
	p, other := r.provider(t), r.provider(t)
	p.send(desk("clock"))
	b.want(t, "the server", func() bool { return b.visits["desk"] != nil })
	done := b.call(t.Context(), "desk", "clock", "{}")
	id := p.want(wire.TypeMCPCall)["toolCallId"]
	result := func(session string) string {
		return fmt.Sprintf(`{"v":1,"type":"mcp_result","sessionId":%q,"toolCallId":%q,"result":{"content":[]}}`, session, id)
	}
	other.send(result("s1"))
	other.wantError(wire.CodeNotPending)
	p.send(result("s2"))
	p.wantError(wire.CodeNotPending)
	p.send(result("s1"))
	if got := <-done; got != `{"content":[]}` {
		t.Errorf("%s", got)
	}
}

func TestBringToolsEnds(t *testing.T) {
	timing := defaultTiming
	timing.tool = 50 * time.Millisecond
	r, b := startBringing(t, timing)
	p := r.provider(t)
	p.send(desk("clock"))
	b.want(t, "the server", func() bool { return b.visits["desk"] != nil })

	done := b.call(t.Context(), "desk", "clock", "{}")
	id := p.want(wire.TypeMCPCall)["toolCallId"]
	if got := <-done; got != "error: the client custom:alice, which runs this tool, did not answer within 50ms" {
		t.Errorf("%s", got)
	}
	if f := p.want(wire.TypeMCPCancel); f["toolCallId"] != id {
		t.Errorf("%v", f)
	}
	p.send(fmt.Sprintf(`{"v":1,"type":"mcp_result","sessionId":"s1","toolCallId":%q,"error":"late"}`, id))
	p.wantError(wire.CodeNotPending)

	ctx, cancel := context.WithCancel(t.Context())
	done = b.call(ctx, "desk", "clock", "{}")
	p.want(wire.TypeMCPCall)
	cancel()
	if got := <-done; got != "error: context canceled" {
		t.Errorf("%s", got)
	}
	p.want(wire.TypeMCPCancel)
}

func TestBringToolsDisconnects(t *testing.T) {
	r, b := startBringing(t, defaultTiming)
	p := r.provider(t)
	p.send(desk("clock"))
	b.want(t, "the server", func() bool { return b.visits["desk"] != nil })
	done := b.call(t.Context(), "desk", "clock", "{}")
	p.want(wire.TypeMCPCall)
	p.conn.Close()
	if got := <-done; got != "error: the client custom:alice, which ran this tool, has disconnected" {
		t.Errorf("%s", got)
	}
	b.want(t, "the end", func() bool {
		return strings.Contains(b.visits["desk"].left, "custom:alice, which ran this tool, has disconnected")
	})
	if got := <-b.call(t.Context(), "desk", "clock", "{}"); !strings.HasPrefix(got, "error: ") {
		t.Errorf("after the end: %s", got)
	}
}

// A client is given no more than it can hold, and cannot bring more than that.
func TestBringToolsBounds(t *testing.T) {
	r, b := startBringing(t, defaultTiming)
	p := r.provider(t)
	many := make([]string, maxBrought+1)
	for i := range many {
		many[i] = fmt.Sprintf("t%d", i)
	}
	schema := `,"inputSchema":{"type":"object"}`
	for name, frame := range map[string]string{
		"too many":   desk(many...),
		"twice":      desk("clock", "clock"),
		"name":       desk("cl ock"),
		"empty":      desk(""),
		"no schema":  `{"v":1,"type":"mcp_tools","sessionId":"s1","tools":[{"server":"desk","name":"clock"}]}`,
		"odd schema": `{"v":1,"type":"mcp_tools","sessionId":"s1","tools":[{"server":"desk","name":"clock","inputSchema":true}]}`,
		"no server":  `{"v":1,"type":"mcp_tools","sessionId":"s1","tools":[{"name":"clock"` + schema + `}]}`,
		"taken":      `{"v":1,"type":"mcp_tools","sessionId":"s1","tools":[{"server":"taken","name":"clock"` + schema + `}]}`,
		"large":      `{"v":1,"type":"mcp_tools","sessionId":"s1","tools":[{"server":"desk","name":"clock","description":"` + strings.Repeat("x", maxDefinition) + `"` + schema + `}]}`,
		"everywhere": `{"v":1,"type":"mcp_tools","sessionId":"*","tools":[]}`,
	} {
		p.send(frame)
		if f := p.wantError(wire.CodeBadMessage); len(f["message"].(string)) > 300 {
			t.Errorf("%s: %v", name, f)
		}
	}
	p.send(strings.Replace(desk("clock"), `"s1"`, `"s9"`, 1))
	p.wantError(wire.CodeSessionNotFound)

	servers := make([]string, maxVisits) // as many as may be, and then the same again
	for i := range servers {
		servers[i] = fmt.Sprintf(`{"server":"s%d","name":"clock"%s}`, i, schema)
	}
	all := func(description string) string {
		return `{"v":1,"type":"mcp_tools","sessionId":"s1","tools":[` + strings.ReplaceAll(strings.Join(servers, ","), `"clock"`, `"clock","description":"`+description+`"`) + `]}`
	}
	p.send(all("old"))
	b.want(t, "all servers", func() bool { return len(b.visits) == maxVisits })
	p.send(all("new"))
	b.want(t, "the new tools", func() bool { return strings.Contains(string(b.visits["s0"].Tools[0]), "new") })
	p.send(desk("clock"))
	b.want(t, "the server", func() bool { return b.visits["desk"] != nil })
	ctx, cancel := context.WithCancel(t.Context())
	var waiting []<-chan string
	for range maxBroughtCall + 1 {
		waiting = append(waiting, b.call(ctx, "desk", "clock", "{}"))
	}
	refused := 0
	for refused == 0 {
		for _, w := range waiting {
			select {
			case got := <-w:
				refused++
				if !strings.Contains(got, "which is the limit") {
					t.Errorf("%s", got)
				}
			case <-time.After(time.Millisecond):
			}
		}
	}
	cancel()
}

// No credential implies another: an approver brings nothing, and a client that brings tools sees and answers nothing.
func TestBringToolsCredentials(t *testing.T) {
	r, _ := startBringing(t, defaultTiming)
	for _, name := range []credentials.Credential{credentials.Approve, credentials.View} {
		p := r.join(t, name)
		p.send(desk("clock"))
		p.wantError(wire.CodeUnauthorized)
		p.send(`{"v":1,"type":"mcp_result","sessionId":"s1","toolCallId":"x","error":"no"}`)
		p.wantError(wire.CodeUnauthorized)
	}
	p := r.provider(t)
	r.backend.ask(approval("call_1"))
	r.backend.publish(gate.Started{SessionID: "s1", ID: "call_2", Arguments: json.RawMessage(`{"secret":1}`)})
	for _, frame := range []string{
		approve("call_1", "s1", "d-call_1", "approve"), `{"v":1,"type":"cancel","sessionId":"s1"}`,
		`{"v":1,"type":"set_autonomy","sessionId":"s1","level":"FULL_AUTO"}`, `{"v":1,"type":"agent_add","sessionId":"s1","role":"r"}`,
	} {
		p.send(frame)
		f, err := p.read()
		if err != nil || f["type"] != wire.TypeError || f["code"] != wire.CodeUnauthorized {
			t.Errorf("%s: %v, %v", frame, f, err)
		}
	}
	if got := r.backend.applied(); len(got) != 0 {
		t.Errorf("applied %+v", got)
	}
	for _, path := range []string{"/api/approvals", "/api/sessions", "/api/audit", "/api/info"} {
		if response, _ := r.do(t, credentials.Tools, "GET", path, ""); response.StatusCode != 403 {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
	if response, _ := r.do(t, credentials.Tools, "POST", "/api/approvals/call_1", `{"sessionId":"s1","argsDigest":"d-call_1","decision":"approve"}`); response.StatusCode != 403 {
		t.Errorf("%d", response.StatusCode)
	}
}

func TestClientBringsTools(t *testing.T) {
	r, b := startBringing(t, defaultTiming)
	target := r.target()
	target.Credential = credentials.Tools
	c := dial(t, target)
	await(t, c, func(f *wire.TeamUpdate) bool { return f.SessionID == "s1" })
	if err := c.BringTools("s1", []wire.MCPTool{{Server: "desk", Name: "clock", InputSchema: json.RawMessage(`{"type":"object"}`)}}); err != nil {
		t.Fatal(err)
	}
	b.want(t, "the server", func() bool { return b.visits["desk"] != nil })
	done := b.call(t.Context(), "desk", "clock", `{}`)
	f := await[*wire.MCPCall](t, c, nil)
	if err := c.Result(wire.MCPResult{Head: wire.Head{SessionID: f.SessionID}, ToolCallID: f.ToolCallID, Result: json.RawMessage(`{"content":[]}`)}); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got != `{"content":[]}` {
		t.Errorf("%s", got)
	}
	if err := c.BringTools("s1", nil); err != nil {
		t.Fatal(err)
	}
	b.want(t, "the end", func() bool { return b.visits["desk"].left != "" })
	if got := slices.Collect(maps.Keys(b.visits)); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
