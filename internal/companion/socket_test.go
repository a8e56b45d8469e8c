package companion

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
	"callgate/permissions"
)

// peer is a hand-written client that can send anything.
type peer struct {
	t    *testing.T
	conn *websocket.Conn
}

const helloFrame = `{"v":1,"type":"hello","client":{"name":"alice","version":"1","kind":"custom"},"sessions":["*"]}`

// connect opens a WebSocket with the credential and sends nothing.
func (r *rig) connect(t *testing.T, name credentials.Credential) *peer {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{wire.Subprotocol, "bearer." + r.token(t, name)}}
	conn, response, err := dialer.Dial("ws://"+r.Address()+"/ws", nil)
	if err != nil {
		t.Fatalf("dial: %v (%v)", err, response)
	}
	t.Cleanup(func() { conn.Close() })
	pong := conn.PingHandler()
	conn.SetPingHandler(func(data string) error {
		_ = pong(data) // the server may be gone, but its last frames must still be read
		return nil
	})
	if got := conn.Subprotocol(); got != wire.Subprotocol {
		t.Errorf("subprotocol %q, want %q and never the credential", got, wire.Subprotocol)
	}
	return &peer{t, conn}
}

// join connects and sends hello.
func (r *rig) join(t *testing.T, name credentials.Credential) *peer {
	t.Helper()
	p := r.connect(t, name)
	p.send(helloFrame)
	return p
}

func (p *peer) send(frame string) {
	p.t.Helper()
	if err := p.conn.WriteMessage(websocket.TextMessage, []byte(frame)); err != nil {
		p.t.Fatalf("send: %v", err)
	}
}

func (p *peer) read() (map[string]any, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(waits.Limit)); err != nil {
		return nil, err
	}
	_, data, err := p.conn.ReadMessage()
	if err != nil {
		return nil, err
	}
	var frame map[string]any
	if err := json.Unmarshal(data, &frame); err != nil {
		return nil, fmt.Errorf("%s: %w", data, err)
	}
	if frame["v"] != 1.0 {
		return nil, fmt.Errorf("frame without version: %s", data)
	}
	return frame, nil
}

// want reads on to the next frame of the type.
func (p *peer) want(kind string) map[string]any {
	p.t.Helper()
	for {
		frame, err := p.read()
		if err != nil {
			p.t.Fatalf("waiting for %s: %v", kind, err)
		}
		if frame["type"] == kind {
			return frame
		}
	}
}

func (p *peer) wantError(code string) map[string]any {
	p.t.Helper()
	frame := p.want(wire.TypeError)
	if frame["code"] != code {
		p.t.Fatalf("error %v, want %s", frame, code)
	}
	return frame
}

// wantClose reads on to the end and checks the close code.
func (p *peer) wantClose(code int) {
	p.t.Helper()
	for {
		_, err := p.read()
		if err == nil {
			continue
		}
		if !websocket.IsCloseError(err, code) {
			p.t.Fatalf("connection ended with %v, want close code %d", err, code)
		}
		return
	}
}

func approve(id, session, digest, decision string) string {
	return fmt.Sprintf(`{"v":1,"type":"tool_approve","sessionId":%q,"toolCallId":%q,"argsDigest":%q,"decision":%q}`, session, id, digest, decision)
}

func TestUpgradeIsRefused(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	good := r.token(t, credentials.Approve)
	for _, tt := range []struct {
		name   string
		header http.Header
		want   int
	}{
		{"no credential", http.Header{}, 401},
		{"wrong credential", http.Header{"Authorization": {"Bearer " + strings.Repeat("A", 43)}}, 401},
		{"mcp credential", http.Header{"Authorization": {"Bearer " + r.token(t, credentials.MCP)}}, 401},
		{"prefix of the credential", http.Header{"Authorization": {"Bearer " + good[:42]}}, 401},
		{"basic", http.Header{"Authorization": {"Basic " + good}}, 401},
		{"two headers", http.Header{"Authorization": {"Bearer x", "Bearer " + good}}, 401},
		{"header wins over subprotocol", http.Header{"Authorization": {"Bearer x"}, "Sec-Websocket-Protocol": {"callgate.v1, bearer." + good}}, 401},
		{"credential without protocol", http.Header{"Sec-Websocket-Protocol": {"bearer." + good}}, 401},
		{"other protocol", http.Header{"Sec-Websocket-Protocol": {"callgate.v2, bearer." + good}}, 401},
		{"no credential in the pair", http.Header{"Sec-Websocket-Protocol": {"callgate.v1, " + good[:5]}}, 401},
		{"foreign origin", http.Header{"Authorization": {"Bearer " + good}, "Origin": {"http://evil.example"}}, 403},
		{"foreign page", http.Header{"Authorization": {"Bearer " + good}, "Sec-Fetch-Site": {"cross-site"}}, 403},
		{"rebound host", http.Header{"Authorization": {"Bearer " + good}, "Host": {"evil.example:7777"}}, 403},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, response, err := websocket.DefaultDialer.Dial("ws://"+r.Address()+"/ws", tt.header)
			if err == nil {
				conn.Close()
				t.Fatal("the upgrade was granted")
			}
			if response == nil || response.StatusCode != tt.want {
				t.Errorf("refused with %v (%v), want %d", response, err, tt.want)
			}
		})
	}
	if n := r.backend.subscribers(); n != 0 {
		t.Errorf("%d subscriptions by strangers", n)
	}
	response, body := r.do(t, credentials.Approve, "GET", "/ws", "")
	if response.StatusCode != 400 {
		t.Errorf("plain GET of /ws: %d %s, want 400", response.StatusCode, body)
	}
}

func TestHello(t *testing.T) {
	timing := defaultTiming
	timing.hello = 100 * time.Millisecond
	r := startTimed(t, newFakeBackend("s1"), timing)
	for _, tt := range []struct {
		name  string
		first string
		code  string
		close int
	}{
		{"silence", "", wire.CodeBadMessage, websocket.ClosePolicyViolation},
		{"only pings", "ping", wire.CodeBadMessage, websocket.ClosePolicyViolation},
		{"an answer first", approve("call_1", "s1", "d", "approve"), wire.CodeBadMessage, websocket.ClosePolicyViolation},
		{"not JSON", "hello", wire.CodeBadMessage, websocket.ClosePolicyViolation},
		{"version 2", `{"v":2,"type":"hello","client":{"name":"a","kind":"tui"}}`, wire.CodeProtocolMismatch, wire.CloseProtocolMismatch},
		{"no version", `{"type":"hello","client":{"name":"a","kind":"tui"}}`, wire.CodeProtocolMismatch, wire.CloseProtocolMismatch},
		{"no name", `{"v":1,"type":"hello","client":{"kind":"tui"}}`, wire.CodeBadMessage, websocket.ClosePolicyViolation},
		{"a kind that is none", `{"v":1,"type":"hello","client":{"name":"a","kind":"rule"}}`, wire.CodeBadMessage, websocket.ClosePolicyViolation},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := r.connect(t, credentials.Approve)
			if tt.first != "" {
				p.send(tt.first)
			}
			p.wantError(tt.code)
			p.wantClose(tt.close)
		})
	}
}

func TestEveryServerFrame(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	p := r.join(t, credentials.View)

	team := p.want(wire.TypeTeamUpdate)
	agents := team["agents"].([]any)
	if len(agents) != 1 || agents[0].(map[string]any)["agentId"] != "main" || team["sessionId"] != "s1" {
		t.Errorf("team_update %v", team)
	}
	if f := p.want(wire.TypeAutonomyChanged); f["level"] != "NONE" {
		t.Errorf("autonomy on connect: %v", f)
	}
	if f := p.want(wire.TypeAgentState); f["status"] != "idle" || f["agentId"] != "main" {
		t.Errorf("state on connect: %v", f)
	}

	b.ask(approval("call_1"))
	f := p.want(wire.TypeToolApproveRequest)
	for key, want := range map[string]any{
		"sessionId": "s1", "agentId": "main", "toolCallId": "call_1", "approvalId": "call_1", "workerId": "default", "server": "commands",
		"tool": "commands_run", "kind": "shell_exec", "argsDigest": "d-call_1", "reason": "no rule matched",
		"createdAt": "2026-11-20T10:00:00Z", "expiresAt": "2026-11-20T10:02:00Z",
	} {
		if f[key] != want {
			t.Errorf("tool_approve_request %s: %v, want %v", key, f[key], want)
		}
	}
	if f := p.want(wire.TypeAgentState); f["status"] != "waiting" {
		t.Errorf("state while it waits: %v", f)
	}

	b.resolve("call_1", "approve", "web:bob")
	if f := p.want(wire.TypeToolApproveResolved); f["decision"] != "approve" || f["by"] != "web:bob" {
		t.Errorf("tool_approve_resolved %v", f)
	}
	p.want(wire.TypeAgentState)

	b.publish(gate.Started{SessionID: "s1", Agent: "main", ID: "call_1", Tool: "commands_run", Risk: permissions.Network})
	if f := p.want(wire.TypeToolStart); f["risk"] != "NETWORK" || len(f["args"].(map[string]any)) != 0 {
		t.Errorf("tool_start %v", f)
	}
	if f := p.want(wire.TypeAgentState); f["status"] != "running" {
		t.Errorf("state while it runs: %v", f)
	}

	b.publish(gate.Finished{SessionID: "s1", Agent: "main", ID: "call_1", Tool: "commands_run", Duration: 1500 * time.Millisecond, Result: []byte("{\"text\":\"<b>\xff</b>\"}"), IsError: true})
	if f := p.want(wire.TypeToolResult); f["duration"] != 1500.0 || f["isError"] != true || f["result"].(map[string]any)["text"] != "<b>\uFFFD</b>" {
		t.Errorf("tool_result %v", f)
	}

	b.publish(gate.Finished{SessionID: "s1", ID: "call_2", Result: []byte(`"` + strings.Repeat("x", maxResult) + `"`)})
	if f := p.want(wire.TypeToolResult); f["result"] != nil || f["omittedBytes"] != float64(maxResult+2) {
		t.Errorf("large tool_result: %v bytes omitted", f["omittedBytes"])
	}

	b.publish(gate.Recorded{Record: audit.Record{Event: audit.Outcome, SessionID: "s1", CallID: "call_1"}})
	b.publish(gate.Recorded{Record: audit.Record{Event: audit.Decision, SessionID: "s1", CallID: "call_3", Decision: "denied", Risk: "WRITE", By: "rule", Digest: "d"}})
	if f := p.want(wire.TypeAuditEntry); f["toolCallId"] != "call_3" || f["decision"] != "denied" || f["risk"] != "WRITE" || f["by"] != "rule" {
		t.Errorf("audit_entry %v", f)
	}

	b.publish(gate.AutonomyChanged{SessionID: "s1", Level: "MANUAL", By: "rest"})
	if f := p.want(wire.TypeAutonomyChanged); f["level"] != "MANUAL" || f["by"] != "rest" {
		t.Errorf("autonomy_changed %v", f)
	}

	b.ask(approval("call_4"))
	b.resolve("call_4", "timeout", "timeout")
	if f := p.want(wire.TypeToolApproveResolved); f["decision"] != "timeout" {
		t.Errorf("timeout: %v", f)
	}
	if f := p.wantError(wire.CodeApprovalTimeout); f["toolCallId"] != "call_4" || f["sessionId"] != "s1" {
		t.Errorf("timeout error: %v", f)
	}

	b.publish(gate.SessionClosed{Info: b.Sessions()[0]})
	if f := p.want(wire.TypeTeamUpdate); len(f["agents"].([]any)) != 0 {
		t.Errorf("team_update after the end: %v", f)
	}
}

func TestBadResultDoesNotEndTheConnection(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	p := r.join(t, credentials.View)
	p.want(wire.TypeAgentState)
	b.publish(gate.Finished{SessionID: "s1", ID: "call_1", Result: []byte(`{broken`)})
	b.publish(gate.Finished{SessionID: "s1", ID: "call_2", Result: []byte(`{}`)})
	if f := p.want(wire.TypeToolResult); f["toolCallId"] != "call_2" {
		t.Errorf("%v", f)
	}
	if !strings.Contains(r.log.String(), "frame left out") {
		t.Error("what was left out is not in the log")
	}
}

func TestAnswers(t *testing.T) {
	b := newFakeBackend("s1", "s2")
	for i := range 6 {
		b.ask(approval(fmt.Sprint("call_", i)))
	}
	r := start(t, b)
	p := r.join(t, credentials.Approve)
	for _, tt := range []struct {
		name  string
		frame string
		code  string // "" means tool_approve_resolved
		has   string
	}{
		{"approve", approve("call_0", "s1", "d-call_0", "approve"), "", "custom:alice"},
		{"again", approve("call_0", "s1", "d-call_0", "approve"), wire.CodeNotPending, "pending"},
		{"no such call", approve("call_x", "s1", "d", "approve"), wire.CodeNotPending, "pending"},
		{"other arguments", approve("call_1", "s1", "d-call_0", "approve"), wire.CodeBadMessage, "other arguments"},
		{"no digest", approve("call_1", "s1", "", "approve"), wire.CodeBadMessage, "argsDigest"},
		{"no call", approve("", "s1", "d", "approve"), wire.CodeBadMessage, "toolCallId"},
		{"every session", approve("call_1", "*", "d-call_1", "approve"), wire.CodeBadMessage, "never"},
		{"no session", approve("call_1", "", "d-call_1", "approve"), wire.CodeBadMessage, "sessionId"},
		{"unknown session", approve("call_1", "s9", "d-call_1", "approve"), wire.CodeSessionNotFound, "session"},
		{"no decision", approve("call_1", "s1", "d-call_1", ""), wire.CodeBadMessage, "decision"},
		{"invented decision", approve("call_1", "s1", "d-call_1", "APPROVE"), wire.CodeBadMessage, "decision"},
		{"duplicate decision", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"reject","decision":"approve"}`, wire.CodeBadMessage, "duplicate"},
		{"grants with approve", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"approve","grants":[{"tool":"x","pattern":"*"}]}`, wire.CodeBadMessage, "always"},
		{"feedback with approve", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"approve","feedback":"no!"}`, wire.CodeBadMessage, "reject"},
		{"arguments with always", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"always","arguments":{}}`, wire.CodeBadMessage, "approve"},
		{"arguments that are no object", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"approve","arguments":[1]}`, wire.CodeBadMessage, "object"},
		{"always of nothing", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"always","grants":[]}`, wire.CodeBadMessage, "grants is empty"},
		{"scope of its own", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"always","scope":"world"}`, wire.CodeBadMessage, "scope"},
		{"negative expiry", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"always","expiresIn":-1}`, wire.CodeBadMessage, "expiresIn"},
		{"endless expiry", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"always","expiresIn":9223372036854775807}`, wire.CodeBadMessage, "expiresIn"},
		{"reject", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_1","argsDigest":"d-call_1","decision":"reject","feedback":"use make","future":[1]}`, "", "reject"},
		{"always", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_2","argsDigest":"d-call_2","decision":"always","grants":[{"tool":"t","pattern":"p *"}],"scope":"session","expiresIn":60}`, "", "always"},
		{"always by default", approve("call_3", "s1", "d-call_3", "always"), "", "always"},
		{"edited", `{"v":1,"type":"tool_approve","sessionId":"s1","toolCallId":"call_4","argsDigest":"d-call_4","decision":"approve","arguments":{"n":1.0e2}}`, "", "approve"},
		{"unknown type", `{"v":1,"type":"chat_more","sessionId":"s1"}`, wire.CodeBadMessage, "chat_more"},
		{"second hello", helloFrame, wire.CodeBadMessage, "already"},
		{"not JSON", `{`, wire.CodeBadMessage, "valid"},
		{"not UTF-8", "{\"v\":1,\"type\":\"cancel\",\"sessionId\":\"\xff\"}", wire.CodeBadMessage, "UTF-8"},
		{"level", `{"v":1,"type":"set_autonomy","sessionId":"s1","level":"GOD"}`, wire.CodeBadMessage, "level"},
		{"level of every session", `{"v":1,"type":"set_autonomy","sessionId":"*","level":"FULL_AUTO"}`, wire.CodeBadMessage, "never"},
		{"level of unknown session", `{"v":1,"type":"set_autonomy","sessionId":"s9","level":"MANUAL"}`, wire.CodeSessionNotFound, "session"},
		{"cancel every session", `{"v":1,"type":"cancel","sessionId":"*"}`, wire.CodeBadMessage, "never"},
		{"cancel unknown session", `{"v":1,"type":"cancel","sessionId":"s9"}`, wire.CodeSessionNotFound, "session"},
		{"cancel", `{"v":1,"type":"cancel","sessionId":"s1"}`, "", "withdrawn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.send("ping")
			p.send(tt.frame)
			var got map[string]any
			if tt.code != "" {
				got = p.wantError(tt.code)
			} else {
				got = p.want(wire.TypeToolApproveResolved)
			}
			if text := fmt.Sprint(got); !strings.Contains(text, tt.has) {
				t.Errorf("%v does not say %q", got, tt.has)
			}
		})
	}
	got := b.applied()
	want := []gate.Answer{
		{SessionID: "s1", Digest: "d-call_0", Decision: "approve", By: "custom:alice"},
		{SessionID: "s1", Digest: "d-call_1", Decision: "reject", Feedback: "use make", By: "custom:alice"},
		{SessionID: "s1", Digest: "d-call_2", Decision: "always", Grants: []gate.GrantChoice{{Tool: "t", Pattern: "p *"}}, Scope: "session", ExpiresIn: time.Minute, By: "custom:alice"},
		{SessionID: "s1", Digest: "d-call_3", Decision: "always", Scope: "worker", By: "custom:alice"},
		{SessionID: "s1", Digest: "d-call_4", Decision: "approve", Arguments: json.RawMessage(`{"n":1.0e2}`), By: "custom:alice"},
	}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("applied\n%+v\nwant\n%+v", got, want)
	}
	if fmt.Sprint(b.cancelled) != "[s1 custom:alice]" {
		t.Errorf("cancelled %v", b.cancelled)
	}
}

func TestAgents(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	p := r.join(t, credentials.Approve)
	p.want(wire.TypeAgentState)
	for _, tt := range []struct{ frame, code, has string }{
		{`{"v":1,"type":"agent_add","sessionId":"s1"}`, wire.CodeBadMessage, "role"},
		{`{"v":1,"type":"agent_add","sessionId":"s1","role":"r","permissions":{"shell_exec":"perhaps"}}`, wire.CodeBadMessage, "perhaps"},
		{`{"v":1,"type":"agent_add","sessionId":"s1","role":"r","permissions":[]}`, wire.CodeBadMessage, "permissions"},
		{`{"v":1,"type":"agent_add","sessionId":"s1","role":"r","roles":[{"name":"` + strings.Repeat("n", maxDescribed) + `"}]}`, wire.CodeBadMessage, "at most"},
		{`{"v":1,"type":"agent_add","sessionId":"*","role":"r"}`, wire.CodeBadMessage, "never"},
		{`{"v":1,"type":"agent_add","sessionId":"s9","role":"r"}`, wire.CodeSessionNotFound, "s9"},
		{`{"v":1,"type":"agent_remove","sessionId":"s1","agentId":"nobody"}`, wire.CodeBadMessage, "nobody"},
	} {
		p.send(tt.frame)
		if got := p.wantError(tt.code); !strings.Contains(fmt.Sprint(got), tt.has) {
			t.Errorf("%s\n%v does not say %q", tt.frame, got, tt.has)
		}
	}

	p.send(`{"v":1,"type":"agent_add","sessionId":"s1","name":"rev","role":"reviewer","goal":"read","domain":"go","provider":"p","model":"m","roles":[{"name":"critic"}],"permissions":{"*":"deny"}}`)
	want := "[map[agentId:rev-00000001 client:map[name: version:] domain:go goal:read model:m name:rev permissions: provider:p role:reviewer roles:[map[domain: goal: name:critic]] tools:[]]]"
	if got := p.want(wire.TypeTeamUpdate); fmt.Sprint(got["agents"]) != want {
		t.Errorf("the team is %v, want %s", got["agents"], want)
	}
	if got := p.want(wire.TypeAgentState); got["provider"] != nil {
		t.Errorf("the session's own agent: %v", got)
	}
	if got := p.want(wire.TypeAgentState); got["provider"] != "p" || got["model"] != "m" {
		t.Errorf("%v", got)
	}
	p.send(`{"v":1,"type":"agent_remove","sessionId":"s1","agentId":"rev-00000001"}`)
	if got := p.want(wire.TypeTeamUpdate); len(got["agents"].([]any)) != 0 {
		t.Errorf("the team is %v", got["agents"])
	}
}

func TestWatcherCannotMutate(t *testing.T) {
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	r := start(t, b)
	p := r.join(t, credentials.View)
	for _, frame := range []string{
		approve("call_1", "s1", "d-call_1", "approve"),
		`{"v":1,"type":"set_autonomy","sessionId":"s1","level":"FULL_AUTO"}`,
		`{"v":1,"type":"cancel","sessionId":"s1"}`,
		`{"v":1,"type":"agent_add","sessionId":"s1","role":"reviewer"}`,
		`{"v":1,"type":"agent_remove","sessionId":"s1","agentId":"rev-00000001"}`,
	} {
		p.send(frame)
		p.wantError(wire.CodeUnauthorized)
	}
	if len(b.applied()) != 0 || len(b.cancelled) != 0 || len(b.Pending()) != 1 {
		t.Error("a watcher changed something")
	}
}

func TestRotationEndsAnswering(t *testing.T) {
	timing := defaultTiming
	timing.ping = 50 * time.Millisecond
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	r := startTimed(t, b, timing)
	p := r.join(t, credentials.Approve)
	p.want(wire.TypeToolApproveRequest)
	if err := r.credentials.Rotate(credentials.Approve); err != nil {
		t.Fatal(err)
	}
	p.send(approve("call_1", "s1", "d-call_1", "approve"))
	p.wantClose(websocket.ClosePolicyViolation)
	if len(b.applied()) != 0 {
		t.Error("a rotated credential answered")
	}
}

// Replacing a credential also ends connections that only watch, soon and without notice to the server.
func TestRotationEndsWatching(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	watches, answers := r.join(t, credentials.View), r.join(t, credentials.Approve)
	if err := r.credentials.Rotate(credentials.View); err != nil {
		t.Fatal(err)
	}
	watches.wantClose(websocket.ClosePolicyViolation)
	r.Recheck()
	answers.send(`{"v":1,"type":"whatever"}`)
	answers.wantError(wire.CodeBadMessage)
}

// A new client may be the first to notice a replaced credential. The other connections end all the same.
func TestRotationIsSeenByANewClient(t *testing.T) {
	timing := defaultTiming
	timing.ping, timing.dead = time.Hour, 2*time.Hour
	r := startTimed(t, newFakeBackend("s1"), timing)
	looked := func(at time.Time) {
		r.rechecks.mu.Lock()
		defer r.rechecks.mu.Unlock()
		r.rechecks.looked = at
	}
	looked(time.Now().Add(time.Hour)) // no check until the new client connects
	watches := r.join(t, credentials.View)
	watches.want(wire.TypeAgentState)
	if err := r.credentials.Rotate(credentials.View); err != nil {
		t.Fatal(err)
	}
	looked(time.Time{})
	r.join(t, credentials.Approve)
	watches.wantClose(websocket.ClosePolicyViolation)
}

func TestVersionMismatchLater(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	p := r.join(t, credentials.Approve)
	p.send(`{"v":2,"type":"cancel","sessionId":"s1"}`)
	p.wantError(wire.CodeProtocolMismatch)
	p.wantClose(wire.CloseProtocolMismatch)
}

func TestOversizedFrame(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	p := r.join(t, credentials.Approve)
	p.want(wire.TypeAgentState)
	frame := `{"v":1,"type":"cancel","sessionId":"s1","padding":"` + strings.Repeat("x", wire.MaxMessage) + `"}`
	err := p.conn.WriteMessage(websocket.TextMessage, []byte(frame))
	for err == nil {
		_, err = p.read()
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		t.Error("the connection is still open")
	}
	r.backend.mu.Lock()
	defer r.backend.mu.Unlock()
	if len(r.backend.cancelled) > 0 {
		t.Error("an oversized frame did something")
	}
}

func TestBinaryFrame(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	p := r.join(t, credentials.Approve)
	if err := p.conn.WriteMessage(websocket.BinaryMessage, []byte(`{"v":1,"type":"cancel","sessionId":"s1"}`)); err != nil {
		t.Fatal(err)
	}
	p.wantError(wire.CodeBadMessage)
	p.send(`{"v":1,"type":"set_autonomy","sessionId":"s1","level":"MANUAL"}`)
	for p.want(wire.TypeAutonomyChanged)["level"] != "MANUAL" {
	}
}

func TestFlood(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	other := r.join(t, credentials.Approve)
	p := r.join(t, credentials.Approve)
	for range 20 * maxPerWhile {
		if p.conn.WriteMessage(websocket.TextMessage, []byte("ping")) != nil {
			break
		}
	}
	p.wantClose(websocket.ClosePolicyViolation)
	r.backend.ask(approval("call_1"))
	other.want(wire.TypeToolApproveRequest)
}

// A client that never reads fills its own queue and is dropped. The others get everything, in order.
func TestSlowClientIsEvicted(t *testing.T) {
	timing := defaultTiming
	timing.Write = 200 * time.Millisecond
	b := newFakeBackend("s1")
	r := startTimed(t, b, timing)
	r.join(t, credentials.Approve) // it never reads
	good := r.join(t, credentials.Approve)
	good.want(wire.TypeAgentState)
	for deadline := time.Now().Add(waits.Limit); b.subscribers() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the clients did not subscribe")
		}
	}
	large := []byte(`"` + strings.Repeat("x", maxResult-2) + `"`)
	sent := 0
	for b.subscribers() == 2 {
		if sent++; sent > 200 {
			t.Fatal("200 MB later the slow client is still there")
		}
		b.publish(gate.Finished{SessionID: "s1", ID: fmt.Sprint(sent), Result: large})
		if f := good.want(wire.TypeToolResult); f["toolCallId"] != fmt.Sprint(sent) {
			t.Fatalf("the good client missed frame %d", sent)
		}
	}
	b.ask(approval("call_1"))
	good.want(wire.TypeToolApproveRequest)
}

// Two clients answer the same approval at the same time. One answer is applied, the other is refused, and both see how
// the approval ended.
func TestRace(t *testing.T) {
	const rounds = 20
	b := newFakeBackend("s1")
	r := start(t, b)
	peers := []*peer{r.join(t, credentials.Approve), r.join(t, credentials.Approve)}
	for round := range rounds {
		id := fmt.Sprint("call_", round)
		b.ask(approval(id))
		var wait sync.WaitGroup
		var late atomic.Int32
		for _, p := range peers {
			p.want(wire.TypeToolApproveRequest)
		}
		for _, p := range peers {
			wait.Go(func() {
				p.send(approve(id, "s1", "d-"+id, "approve"))
				p.send(`{"v":1,"type":"last"}`)
				for resolved, last := false, false; !resolved || !last; {
					f, err := p.read()
					if err != nil {
						t.Error(err)
						return
					}
					resolved = resolved || f["type"] == wire.TypeToolApproveResolved && f["toolCallId"] == id
					last = last || f["code"] == wire.CodeBadMessage
					if f["code"] == wire.CodeNotPending {
						late.Add(1)
					}
				}
			})
		}
		wait.Wait()
		if applied := len(b.applied()); applied != round+1 || late.Load() != 1 {
			t.Fatalf("round %d: %d answers were applied in all, %d clients were told that they are late", round, applied, late.Load())
		}
	}
}

func TestReplayOnReconnect(t *testing.T) {
	b := newFakeBackend("s1", "s2")
	b.ask(approval("call_1"))
	b.ask(approval("call_2"))
	r := start(t, b)
	for range 2 {
		p := r.join(t, credentials.Approve)
		var order []string
		for len(order) < 8 {
			f, err := p.read()
			if err != nil {
				t.Fatal(err)
			}
			if id, ok := f["toolCallId"]; ok {
				order = append(order, fmt.Sprint(f["type"], " ", id))
			} else {
				order = append(order, fmt.Sprint(f["type"], " ", f["sessionId"]))
			}
		}
		want := "[team_update s1 autonomy_changed s1 agent_state s1 team_update s2 autonomy_changed s2 agent_state s2 " +
			"tool_approve_request call_1 agent_state s1]"
		if fmt.Sprint(order) != want {
			t.Errorf("replay\n%v\nwant\n%s", order, want)
		}
		if f := p.want(wire.TypeToolApproveRequest); f["toolCallId"] != "call_2" {
			t.Errorf("second approval: %v", f)
		}
		p.conn.Close()
	}
}

func TestSubscriptionToOneSession(t *testing.T) {
	b := newFakeBackend("s1", "s2")
	r := start(t, b)
	p := r.connect(t, credentials.View)
	p.send(`{"v":1,"type":"hello","client":{"name":"a","kind":"web"},"sessions":["s2"]}`)
	if f := p.want(wire.TypeAgentState); f["sessionId"] != "s2" {
		t.Errorf("%v", f)
	}
	b.ask(approval("call_1"))
	b.publish(gate.AutonomyChanged{SessionID: "s2", Level: "MANUAL"})
	f, err := p.read()
	if err != nil || f["type"] != wire.TypeAutonomyChanged {
		t.Errorf("%v, %v: want only frames of s2", f, err)
	}
}

func TestDeadClientIsDropped(t *testing.T) {
	timing := defaultTiming
	timing.ping, timing.dead = 100*time.Millisecond, 5*time.Second
	b := newFakeBackend("s1")
	r := startTimed(t, b, timing)
	live, silent := r.join(t, credentials.View), r.join(t, credentials.View)
	silent.conn.SetPingHandler(func(string) error { return nil }) // does not answer pings
	go func() {
		_, err := silent.read()
		for err == nil {
			_, err = silent.read()
		}
		var closed *websocket.CloseError
		if !errors.As(err, &closed) {
			t.Errorf("the silent client got %v, want a closed connection", err)
		}
		time.Sleep(timing.dead / 2) // by now the other has been silent as long, except for its pongs
		b.ask(approval("call_1"))
	}()
	live.want(wire.TypeToolApproveRequest) // it answers pings while it reads
}

// A flood with one credential keeps out nobody with another, and the refusal says what is full.
func TestTooManyClients(t *testing.T) {
	r := start(t, newFakeBackend())
	personal(t, r, "approve@alice")
	for _, flooded := range []credentials.Credential{credentials.View, credentials.Tools} {
		for range maxSockets {
			r.connect(t, flooded)
		}
		conn, response, err := websocket.DefaultDialer.Dial("ws://"+r.Address()+"/ws", http.Header{"Authorization": {"Bearer " + r.token(t, flooded)}})
		if err == nil || response == nil || response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s client %d: %v, %v, %v", flooded, maxSockets+1, conn, response, err)
			continue
		}
		_, err = client.Dial(t.Context(), client.Target{DataDir: r.options.DataDir, Address: r.Address(), Credential: flooded, Client: wire.ClientInfo{Name: "x", Kind: "tui"}, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || errors.Is(err, wire.ErrUnreachable) || !strings.Contains(err.Error(), "the credential "+string(flooded)) {
			t.Errorf("the client says: %v", err)
		}
	}
	r.connect(t, credentials.Approve)
	r.connect(t, "approve@alice")
}

func TestCloseTellsClients(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	joined, silent := r.join(t, credentials.View), r.connect(t, credentials.View)
	joined.want(wire.TypeAgentState)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	joined.wantClose(websocket.CloseGoingAway)
	silent.wantClose(websocket.CloseGoingAway)
}

func TestApproverName(t *testing.T) {
	for in, want := range map[wire.ClientInfo]string{
		{Name: "alice", Kind: "web"}:                                  "web:alice",
		{Name: "rule\n\x1b[2J", Kind: "tui"}:                          "tui:rule⟨U+000A⟩⟨U+001B⟩[2J",
		{Name: "\u202eecila", Kind: "custom"}:                         "custom:⟨U+202E⟩ecila",
		{Name: strings.Repeat("é", 100), Kind: "custom"}:              "custom:" + strings.Repeat("é", maxName),
		{Name: strings.Repeat("\U000e0041", 2) + "x", Kind: "custom"}: "custom:⟨U+E0041⟩⟨U+E0041⟩x",
	} {
		if got := approverName(in); got != want {
			t.Errorf("%q: %q, want %q", in.Name, got, want)
		}
	}
}
