package companion

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/yamux"

	"callgate/gate"
	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
)

// members returns the processes that joined the rig's.
func (r *rig) members() []*hub.Process { return membersOf(r.Server) }

func membersOf(s *Server) []*hub.Process {
	return s.hub.Ask(httptest.NewRequest(http.MethodGet, "/", nil), nil).Processes
}

// joined starts another server on the rig's data directory, which joins the rig's.
func (r *rig) joined(t *testing.T, b *fakeBackend) *rig {
	t.Helper()
	return r.joinedTimed(t, b, defaultTiming)
}

func (r *rig) joinedTimed(t *testing.T, b *fakeBackend, timing timing) *rig {
	t.Helper()
	return r.joinedAs(t, b, timing, "1.2.3")
}

func (r *rig) joinedAs(t *testing.T, b *fakeBackend, timing timing, version string) *rig {
	t.Helper()
	log := new(lockedBuffer)
	s, err := listen(Options{
		DataDir: r.dir, Address: ":0", Version: version, Worker: "second", Backend: Backend{Gate: b}, Credentials: r.credentials,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, timing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &rig{Server: s, backend: b, dir: r.dir, log: log}
}

// approvalOf returns a pending call of the given session.
func approvalOf(session, id string) *gate.Approval {
	a := approval(id)
	a.SessionID = session
	return a
}

func TestOneAddressForAllProcesses(t *testing.T) {
	hub := start(t, newFakeBackend("s1"))
	b := newFakeBackend("s2")
	b.ask(approvalOf("s2", "call_2"))
	other := hub.joined(t, b)
	if other.Address() != hub.Address() {
		t.Fatalf("the second is reached at %s, the hub at %s", other.Address(), hub.Address())
	}
	if n := len(client.Ports(hub.dir)); n != 1 {
		t.Errorf("%d ports are announced", n)
	}
	c := dial(t, hub.target())
	f := await[*wire.ToolApproveRequest](t, c, nil)
	if f.ToolCallID != "call_2" || f.SessionID != "s2" {
		t.Fatalf("%+v", f)
	}
	// Later events, on both sides.
	hub.backend.ask(approval("call_1"))
	await(t, c, func(f *wire.ToolApproveRequest) bool { return f.ToolCallID == "call_1" })
	for _, a := range []wire.ToolApprove{
		{Head: wire.Head{SessionID: "s2"}, ToolCallID: "call_2", ArgsDigest: "d-call_2", Decision: "approve"},
		{Head: wire.Head{SessionID: "s1"}, ToolCallID: "call_1", ArgsDigest: "d-call_1", Decision: "reject"},
	} {
		if err := c.Answer(a); err != nil {
			t.Fatal(err)
		}
		await(t, c, func(f *wire.ToolApproveResolved) bool {
			return f.ToolCallID == a.ToolCallID && f.Decision == a.Decision && f.By == "tui:alice"
		})
	}
	if got := b.applied(); len(got) != 1 || got[0].By != "tui:alice" || !strings.HasPrefix(b.origins()[0], "127.0.0.1:") {
		t.Errorf("the second process took %+v, from %s", got, b.origins())
	}
	if got := hub.backend.applied(); len(got) != 1 || got[0].Decision != "reject" {
		t.Errorf("the hub took %+v", got)
	}
	if err := c.SetAutonomy("s2", "MANUAL"); err != nil {
		t.Fatal(err)
	}
	await(t, c, func(f *wire.AutonomyChanged) bool {
		return f.SessionID == "s2" && f.Level == "MANUAL" && f.By == "tui:alice"
	})
	// Errors come back from the process of the session.
	if err := c.SetAutonomy("s2", "always-ask"); err != nil {
		t.Fatal(err)
	}
	if f := await[*wire.Error](t, c, nil); f.SessionID != "s2" || f.Code != wire.CodeBadMessage {
		t.Errorf("%+v", f)
	}
	// A third process is shown to connected clients, and withdrawn when it ends.
	b3 := newFakeBackend("s3")
	b3.ask(approvalOf("s3", "call_3"))
	third := hub.joined(t, b3)
	await(t, c, func(f *wire.ToolApproveRequest) bool { return f.ToolCallID == "call_3" })
	if err := third.Close(); err != nil {
		t.Fatal(err)
	}
	await(t, c, func(f *wire.ToolApproveResolved) bool { return f.ToolCallID == "call_3" && f.Decision == "withdrawn" })
	await(t, c, func(f *wire.TeamUpdate) bool { return f.SessionID == "s3" && len(f.Agents) == 0 })
}

func TestRESTReachesEveryProcess(t *testing.T) {
	hub := start(t, newFakeBackend("s1"))
	hub.backend.ask(approval("call_1"))
	b := newFakeBackend("s2")
	early := approvalOf("s2", "call_2")
	early.CreatedAt = early.CreatedAt.Add(-time.Minute)
	b.ask(early)
	b.upstreams = []wire.UpstreamState{{Name: "files", State: wire.UpstreamDown}}
	other := hub.joined(t, b)
	meet(t, hub, 1)

	var approvals struct{ Approvals []wire.ToolApproveRequest }
	hub.get(t, "/api/approvals", &approvals)
	if len(approvals.Approvals) != 2 || approvals.Approvals[0].ToolCallID != "call_2" || string(approvals.Approvals[0].Args) != `{"command":"git push","n":1.0e2}` {
		t.Errorf("approvals, oldest first: %+v", approvals)
	}
	var sessions struct{ Sessions []gate.SessionInfo }
	hub.get(t, "/api/sessions", &sessions)
	if len(sessions.Sessions) != 2 {
		t.Errorf("sessions: %+v", sessions)
	}
	var all info
	hub.get(t, "/api/info", &all)
	if len(all.Processes) != 2 || !all.Processes[0].Hub || all.Processes[1].Worker != "second" || all.Sessions != 2 || len(all.Upstreams) != 1 {
		t.Errorf("info: %+v", all)
	}
	if response, body := hub.do(t, "", "GET", "/health", ""); response.StatusCode != 503 || !strings.Contains(body, `"down":1`) {
		t.Errorf("health: %d %s", response.StatusCode, body)
	}
	for _, tt := range []struct {
		name         string
		as           credentials.Credential
		method, path string
		body         string
		status       int
		says         string
	}{
		{"autonomy of the other's session", credentials.Approve, "PUT", "/api/sessions/s2/autonomy", `{"level":"MANUAL"}`, 200, "MANUAL"},
		{"a viewer changes nothing there", credentials.View, "PUT", "/api/sessions/s2/autonomy", `{"level":"MANUAL"}`, 403, wire.CodeUnauthorized},
		{"nor somebody without credential", "", "PUT", "/api/sessions/s2/autonomy", `{"level":"MANUAL"}`, 401, wire.CodeUnauthorized},
		{"other arguments", credentials.Approve, "POST", "/api/approvals/call_2", `{"sessionId":"s2","argsDigest":"x","decision":"approve"}`, 409, wire.CodeBadMessage},
		{"an answer to the other", credentials.Approve, "POST", "/api/approvals/call_2", `{"sessionId":"s2","argsDigest":"d-call_2","decision":"approve"}`, 200, `"applied":true`},
		{"a second answer", credentials.Approve, "POST", "/api/approvals/call_2", `{"sessionId":"s2","argsDigest":"d-call_2","decision":"reject"}`, 404, `"applied":false`},
		{"an answer to the hub", credentials.Approve, "POST", "/api/approvals/call_1", `{"sessionId":"s1","argsDigest":"d-call_1","decision":"approve"}`, 200, `"applied":true`},
		{"a session of nobody", credentials.Approve, "PUT", "/api/sessions/s9/autonomy", `{"level":"MANUAL"}`, 404, wire.CodeSessionNotFound},
		{"no such path", credentials.Approve, "GET", "/api/nothing", "", 404, wire.CodeBadMessage},
		{"no such path of the other", credentials.Approve, "GET", "/api/nothing?sessionId=s2", "", 404, wire.CodeBadMessage},
	} {
		response, body := hub.do(t, tt.as, tt.method, tt.path, tt.body)
		if response.StatusCode != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d %s", tt.name, response.StatusCode, body)
		}
	}
	if n := len(other.backend.applied()); n != 1 {
		t.Errorf("%d answers were applied", n)
	}
}

// meet waits until n processes have joined.
func meet(t *testing.T, hub *rig, n int) {
	t.Helper()
	for deadline := time.Now().Add(waits.Limit); len(hub.members()) != n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d processes joined, want %d", len(hub.members()), n)
		}
	}
}

func (r *rig) get(t *testing.T, path string, into any) {
	t.Helper()
	response, body := r.do(t, credentials.View, "GET", path, "")
	if response.StatusCode != 200 {
		t.Fatalf("GET %s: %d %s", path, response.StatusCode, body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatal(err)
	}
}

func TestTheNextHubTakesTheSameAddress(t *testing.T) {
	first := start(t, newFakeBackend("s1"))
	var others []*rig
	for i := range 4 {
		b := newFakeBackend(fmt.Sprintf("s%d", i+2))
		b.ask(approvalOf(b.sessions[0].ID, fmt.Sprintf("call_%d", i+2)))
		others = append(others, first.joined(t, b))
	}
	meet(t, first, 4)
	address := first.Address()
	c := dial(t, first.target())
	for range others {
		await[*wire.ToolApproveRequest](t, c, nil)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// A separate client: the first one resumes silently if it was connected long enough, as on a slow machine.
	waits.Until(t, "one of the others is the hub", func() bool {
		next, err := client.Dial(t.Context(), first.target())
		c = next
		return err == nil
	})
	defer c.Close()
	if at := await[wire.Connected](t, c, nil).Address; at != address {
		t.Errorf("the next hub is at %s, want %s", at, address)
	}
	shown, over := map[string]int{}, 0
	for deadline := time.After(waits.Limit); over < len(others); {
		select {
		case e := <-c.Events():
			switch f := e.Frame.(type) {
			case *wire.ToolApproveRequest:
				shown[f.ToolCallID]++
				if err := c.Answer(wire.ToolApprove{Head: wire.Head{SessionID: f.SessionID}, ToolCallID: f.ToolCallID, ArgsDigest: f.ArgsDigest, Decision: "approve"}); err != nil {
					t.Fatal(err)
				}
			case *wire.ToolApproveResolved:
				over++
			}
		case <-deadline:
			t.Fatalf("%d are over, shown were %v", over, shown)
		}
	}
	for id, times := range shown {
		if times != 1 {
			t.Errorf("%s was shown %d times", id, times)
		}
	}
	leads := 0
	for _, o := range others {
		if n := len(o.backend.applied()); n != 1 {
			t.Errorf("%d answers were applied in one process", n)
		}
		if o.hub.Leads() {
			leads++
		}
	}
	if leads != 1 {
		t.Errorf("%d hubs", leads)
	}
}

// joinAs performs the handshake by hand. tamper may change the messages.
func joinAs(t *testing.T, r *rig, token string) (*yamux.Session, hub.Verdict) {
	t.Helper()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: hub.Socket(r.dir), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	own := hub.Introduction{V: hub.HandshakeVersion, Version: "0.1", PID: os.Getpid(), Worker: "fake", Nonce: credentials.Nonce()}
	var peer hub.Introduction
	var v hub.Verdict
	if err := errors.Join(hub.Say(conn, own), hub.Hear(conn, &peer), hub.Say(conn, hub.Vouch(token, "worker", own.Nonce, peer.Nonce)), hub.Hear(conn, &v)); err != nil {
		t.Fatal(err)
	}
	if v.Refused != "" {
		return nil, v
	}
	session, err := yamux.Server(conn, r.hub.(*hub.Hub).Streams(time.Second, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session, v
}

func TestWhoMayJoin(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	for _, name := range []credentials.Credential{credentials.Approve, credentials.View, credentials.MCP} {
		if _, v := joinAs(t, r, r.token(t, name)); v.Refused == "" {
			t.Errorf("the %s credential lets a process join", name)
		}
	}
	if session, v := joinAs(t, r, r.token(t, credentials.Worker)); session == nil {
		t.Errorf("the worker credential does not let a process join: %s", v.Refused)
	}
	meet(t, r, 1)
	if err := r.credentials.Rotate(credentials.Worker); err != nil {
		t.Fatal(err)
	}
	meet(t, r, 0)
}

// fakeProcess joins with the worker credential and sends frames to every client that the hub connects it to.
func fakeProcess(t *testing.T, r *rig, frames ...string) (heard chan string) {
	t.Helper()
	session, _ := joinAs(t, r, r.token(t, credentials.Worker))
	heard = make(chan string, 1024)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for name, values := range req.Header {
			heard <- name + ": " + strings.Join(values, ",")
		}
		if req.URL.Path != "/ws" {
			rest.WriteJSON(w, 200, map[string]any{"sessions": []map[string]string{{"sessionId": "s1"}}, "approvals": nil})
			return
		}
		conn, err := upgrader.Upgrade(w, req, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		for _, f := range frames {
			if conn.WriteMessage(1, []byte(f)) != nil {
				return
			}
		}
		for {
			_, data, err := conn.ReadMessage()
			if err != nil {
				return
			}
			heard <- string(data)
		}
	})}
	go server.Serve(session)
	t.Cleanup(func() { server.Close() })
	meet(t, r, 1)
	return heard
}

func TestAFakeProcessSpeaksForItselfAlone(t *testing.T) {
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	r := start(t, b)
	victim := dial(t, r.target())
	await[*wire.ToolApproveRequest](t, victim, nil)
	heard := fakeProcess(t, r,
		`{"v":1,"type":"tool_approve_resolved","sessionId":"s1","toolCallId":"call_1","decision":"approve","by":"web:alice","reason":""}`,
		`{"v":1,"type":"tool_approve_request","sessionId":"s9","toolCallId":"call_1","approvalId":"call_1","args":{"command":"ls"},"argsDigest":"d-call_1"}`,
		`{"v":1,"type":"team_update","sessionId":"s1","agents":[],"strategy":"single"}`,
		`{"v":1,"type":"team_update","sessionId":"s9","agents":[{"agentId":"main"}],"strategy":"single"}`,
	)
	f := await(t, victim, func(f *wire.TeamUpdate) bool { return f.SessionID == "s9" || len(f.Agents) == 0 })
	if f.SessionID != "s9" {
		t.Error("a fake process ended another's session")
	}
	if err := victim.Answer(wire.ToolApprove{Head: wire.Head{SessionID: "s1"}, ToolCallID: "call_1", ArgsDigest: "d-call_1", Decision: "approve"}); err != nil {
		t.Fatal(err)
	}
	await(t, victim, func(f *wire.ToolApproveResolved) bool { return f.ToolCallID == "call_1" })
	if len(b.applied()) != 1 {
		t.Error("the answer did not reach the process that owns the call")
	}
	// Over REST the hub's own session stays its own, whatever the other process lists. No secret has crossed.
	if response, body := r.do(t, credentials.Approve, "PUT", "/api/sessions/s1/autonomy", `{"level":"MANUAL"}`); response.StatusCode != 200 {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	for len(heard) > 0 {
		text := <-heard
		for _, name := range []credentials.Credential{credentials.Approve, credentials.View, credentials.MCP, credentials.Worker} {
			if strings.Contains(text, r.token(t, name)) {
				t.Errorf("the %s credential crossed: %s", name, text)
			}
		}
		if strings.Contains(text, "call_1") || strings.Contains(text, "autonomy") {
			t.Errorf("the fake process heard of another's session: %s", text)
		}
	}
}

func TestAFloodOfAProcessIsItsOwnHarm(t *testing.T) {
	few := defaultTiming
	few.Frames = 200
	r := startTimed(t, newFakeBackend("s1"), few)
	flood := slices.Repeat([]string{`{"v":1,"type":"agent_state","sessionId":"s9","agentId":"main","status":"idle","role":"main"}`}, 100*few.Frames)
	c := dial(t, r.target())
	fakeProcess(t, r, flood...)
	r.backend.ask(approval("call_1"))
	began := time.Now()
	await(t, c, func(f *wire.ToolApproveRequest) bool { return f.ToolCallID == "call_1" })
	t.Logf("shown after %v beside a flood", time.Since(began))
	meet(t, r, 0)
	if !strings.Contains(r.log.String(), "a process was cut off") {
		t.Error("the flood was not cut off")
	}
}

func TestAProcessThatNeverReadsHarmsNobody(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: hub.Socket(r.dir), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	own := hub.Introduction{V: hub.HandshakeVersion, PID: 1, Nonce: credentials.Nonce()}
	var peer hub.Introduction
	var v hub.Verdict
	if err := errors.Join(hub.Say(conn, own), hub.Hear(conn, &peer), hub.Say(conn, hub.Vouch(r.token(t, credentials.Worker), "worker", own.Nonce, peer.Nonce)), hub.Hear(conn, &v)); err != nil {
		t.Fatal(err)
	}
	meet(t, r, 1)
	c := dial(t, r.target())
	b.ask(approval("call_1"))
	await(t, c, func(f *wire.ToolApproveRequest) bool { return f.ToolCallID == "call_1" })
	var approvals struct{ Approvals []wire.ToolApproveRequest }
	r.get(t, "/api/approvals", &approvals)
	if len(approvals.Approvals) != 1 {
		t.Errorf("%d approvals", len(approvals.Approvals))
	}
	var all info
	r.get(t, "/api/info", &all)
	if len(all.Processes) != 2 || !all.Processes[1].Silent {
		t.Errorf("%+v", all.Processes)
	}
}

func TestAFalseHubIsNotJoined(t *testing.T) {
	dir := privateDir(t)
	held, err := credentials.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	// A process holds the lock and listens, but has at most the worker credential.
	r := start(t, newFakeBackend("s1"))
	for _, own := range []hub.Introduction{
		{V: hub.HandshakeVersion, Version: "1.2.3", Nonce: credentials.Nonce(), Proof: "00"},
		{V: hub.HandshakeVersion + 1, Version: "9.9", Nonce: credentials.Nonce()},
	} {
		server, client := unixPair(t)
		s := r.Server
		s.credentials = held
		done := make(chan error, 1)
		go func() {
			_, _, err := s.hub.(*hub.Hub).JoinHub(client)
			done <- err
		}()
		var peer hub.Introduction
		if err := errors.Join(hub.Hear(server, &peer), hub.Say(server, own)); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, hub.ErrRefused) {
			t.Errorf("%+v was joined: %v", own, err)
		}
	}
}

// unixPair returns both ends of a unix connection.
func unixPair(t *testing.T) (server, client *net.UnixConn) {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: privateDir(t) + "/s", Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if client, err = net.DialUnix("unix", nil, listener.Addr().(*net.UnixAddr)); err != nil {
		t.Fatal(err)
	}
	if server, err = listener.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	return server, client
}

func TestAloneUntilThereIsAHub(t *testing.T) {
	quick := defaultTiming
	quick.Alone = 50 * time.Millisecond
	r := start(t, newFakeBackend("s1"))
	for _, tt := range []struct {
		name string
		stop func(t *testing.T) (mend func())
		says string
	}{
		{"the folder is open to others", func(t *testing.T) func() {
			chmod(t, hub.Dir(r.dir), 0o755)
			return func() { chmod(t, hub.Dir(r.dir), 0o700) }
		}, "open to other users"},
		{"the hub does not answer", func(t *testing.T) func() {
			rename(t, hub.Socket(r.dir), hub.Socket(r.dir)+".away")
			return func() { rename(t, hub.Socket(r.dir)+".away", hub.Socket(r.dir)) }
		}, "the hub does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mend := tt.stop(t)
			b := newFakeBackend("s2")
			b.ask(approvalOf("s2", "call_2"))
			other := r.joinedTimed(t, b, quick)
			if other.Address() == r.Address() {
				t.Fatal("no address of its own")
			}
			if !strings.Contains(other.log.String(), tt.says) {
				t.Errorf("the log does not say why:\n%s", other.log)
			}
			if said := other.problems(); len(said) != 1 || !strings.Contains(said[0], "cannot be seen here") {
				t.Errorf("people are not told that they see a part: %q", said)
			}
			own := r.target()
			own.Address = other.Address()
			c := dial(t, own)
			first := await[wire.Notice](t, c, func(wire.Notice) bool { return true })
			if len(first.Problems) != 1 || !strings.Contains(first.Problems[0], "cannot be seen here") {
				t.Errorf("a client is told %q", first.Problems)
			}
			await(t, c, func(f *wire.ToolApproveRequest) bool { return f.ToolCallID == "call_2" })
			var list struct {
				Approvals []any
				Problems  []string
			}
			if err := own.Ask(t.Context(), http.MethodGet, "/api/approvals", nil, &list); err != nil || len(list.Approvals) != 1 || !slices.Equal(list.Problems, first.Problems) {
				t.Errorf("REST says %+v, %v", list, err)
			}
			mend()
			await[wire.Disconnected](t, c, nil)
			meet(t, r, 1)
			if other.Address() != r.Address() {
				t.Errorf("reached at %s, the hub at %s", other.Address(), r.Address())
			}
			for deadline := time.Now().Add(waits.Limit); len(client.Ports(r.dir)) != 1; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatalf("%d ports are announced", len(client.Ports(r.dir)))
				}
			}
			if said := other.problems(); len(said) != 0 {
				t.Errorf("people are told with a hub: %q", said)
			}
			other.Close()
			meet(t, r, 0)
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestAPathTooLongForASocketIsSaid(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	long := r.dir + "/" + strings.Repeat("d", 120)
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	log := new(lockedBuffer)
	s, err := Listen(Options{DataDir: long, Address: ":0", Backend: Backend{Gate: newFakeBackend()}, Credentials: r.credentials, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.Contains(log.String(), "use a shorter --data-dir") {
		t.Errorf("the log does not say why:\n%s", log)
	}
	if response, err := http.Get("http://" + s.Address() + "/health/live"); err != nil {
		t.Errorf("people cannot reach it: %v", err)
	} else {
		response.Body.Close()
	}
}

func TestAStaleSocketAndLockAreTakenOver(t *testing.T) {
	r := startIn(t, newFakeBackend("s1"), defaultTiming, func(dir string) {
		if err := os.Mkdir(hub.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: hub.Socket(dir), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		listener.SetUnlinkOnClose(false)
		listener.Close()
		if err := os.WriteFile(hub.Dir(dir)+"/lock", []byte("4711"), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	r.joined(t, newFakeBackend("s2"))
	meet(t, r, 1)
}

func TestARotatedApproveCredentialIsProvenAnew(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	other := r.joined(t, newFakeBackend("s2"))
	meet(t, r, 1)
	before := r.members()[0]
	if err := r.credentials.Rotate(credentials.Approve); err != nil {
		t.Fatal(err)
	}
	select {
	case <-before.Gone():
	case <-time.After(waits.Limit):
		t.Fatal("the connection that the old credential vouched for goes on")
	}
	meet(t, r, 1)
	if other.Address() != r.Address() {
		t.Error("the process did not come back")
	}
	c := dial(t, r.target())
	await(t, c, func(f *wire.TeamUpdate) bool { return f.SessionID == "s2" })
}

// TestElection checks that of processes that start at once, one is the hub, and that another takes over when it ends.
func TestElection(t *testing.T) {
	const processes = 12
	dir := privateDir(t)
	credentials, err := credentials.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	alive := make([]*Server, processes)
	var starting sync.WaitGroup
	for i := range alive {
		starting.Go(func() {
			s, err := Listen(Options{DataDir: dir, Address: ":0", Version: "1.2.3", Backend: Backend{Gate: newFakeBackend(fmt.Sprintf("s%d", i))}, Credentials: credentials, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Error(err)
				return
			}
			alive[i] = s
		})
	}
	starting.Wait()
	if t.Failed() {
		return
	}
	defer func() {
		for _, s := range alive {
			s.Close()
		}
	}()
	address := alive[0].Address()
	for len(alive) > 0 {
		var hub *Server
		for deadline := time.Now().Add(waits.Limit); hub == nil || len(membersOf(hub)) != len(alive)-1; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("of %d processes no hub has all others", len(alive))
			}
			leads := slices.Collect(func(yield func(*Server) bool) {
				for _, s := range alive {
					if s.hub.Leads() && !yield(s) {
						return
					}
				}
			})
			if len(leads) > 1 {
				t.Fatalf("%d hubs at once", len(leads))
			}
			if len(leads) == 1 {
				hub = leads[0]
			}
		}
		for _, s := range alive {
			if s.Address() != address {
				t.Fatalf("a process is reached at %s, the first hub was at %s", s.Address(), address)
			}
		}
		if err := hub.Close(); err != nil {
			t.Fatal(err)
		}
		alive = slices.DeleteFunc(alive, func(s *Server) bool { return s == hub })
	}
	if left, err := client.Companions(dir); err == nil {
		t.Errorf("still announced: %+v", left)
	}
}

// TestVersionsDiffer checks that a process of another version joins, that the hub passes on what it does not know
// itself, and that both the log and GET /api/info name the versions.
func TestVersionsDiffer(t *testing.T) {
	first := start(t, newFakeBackend("s1"))
	first.joinedAs(t, newFakeBackend("s2"), defaultTiming, "9.9.9")
	meet(t, first, 1)
	var all info
	first.get(t, "/api/info", &all)
	if len(all.Processes) != 2 || all.Processes[1].Version != "9.9.9" {
		t.Errorf("%+v", all.Processes)
	}
	for deadline := time.Now().Add(waits.Limit); !strings.Contains(first.log.String(), "a process of another version joined"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log does not say so:\n%s", first.log)
		}
	}
	// This process serves a path and sends a frame that this version does not know.
	session, _ := joinAs(t, first, first.token(t, credentials.Worker))
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/sessions":
			rest.WriteJSON(w, 200, map[string]any{"sessions": []map[string]string{{"sessionId": "s3"}}})
		case "/api/tomorrow/s3":
			rest.WriteJSON(w, 200, map[string]string{"as": r.Header.Get(hub.OnBehalf)})
		case "/ws":
			conn, err := upgrader.Upgrade(w, r, nil)
			if err != nil {
				return
			}
			defer conn.Close()
			_ = conn.WriteMessage(1, []byte(`{"v":1,"type":"tomorrow","sessionId":"s3","more":{"a":1.0e2}}`))
			_, _, _ = conn.ReadMessage() // hello
			_, _, _ = conn.ReadMessage() // the end
		default:
			w.WriteHeader(404)
		}
	})}
	go server.Serve(session)
	t.Cleanup(func() { server.Close() })
	meet(t, first, 2)
	request, err := http.NewRequest("GET", "http://"+first.Address()+"/api/tomorrow/s3?sessionId=s3", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+first.token(t, credentials.View))
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request) // the schema does not know this path
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || response.StatusCode != 200 || !strings.Contains(string(body), `"as":"view"`) {
		t.Errorf("%d %s %v", response.StatusCode, body, err)
	}
	c := dial(t, first.target())
	for deadline := time.After(waits.Limit); ; {
		select {
		case e := <-c.Events():
			if strings.Contains(string(e.Raw), `"tomorrow"`) {
				if want := `{"v":1,"type":"tomorrow","sessionId":"s3","more":{"a":1.0e2}}`; string(e.Raw) != want {
					t.Errorf("%s", e.Raw)
				}
				return
			}
		case <-deadline:
			t.Fatal("the frame did not come")
		}
	}
}

// countedTrips counts the hub's requests to a process.
type countedTrips struct {
	http.RoundTripper
	asked *atomic.Int32
}

func (c countedTrips) RoundTrip(r *http.Request) (*http.Response, error) {
	c.asked.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

func TestTheHubKnowsWhoseAnApprovalIs(t *testing.T) {
	hub := start(t, newFakeBackend("s1"))
	hub.backend.ask(approval("call_1"))
	hub.backend.ask(approval("call_1b"))
	backends := []*fakeBackend{newFakeBackend("s2"), newFakeBackend("s3"), newFakeBackend("s4")}
	for i, b := range backends {
		for _, id := range []string{"a", "b", "c"} {
			b.ask(approvalOf(fmt.Sprintf("s%d", i+2), fmt.Sprintf("call_%d%s", i+2, id)))
		}
		hub.joined(t, b)
		meet(t, hub, i+1)
	}
	var asked atomic.Int32
	for _, p := range hub.members() {
		p.HTTP.Transport = countedTrips{p.HTTP.Transport, &asked}
	}
	asks := func(what string, most int32, method, path, body string, status int) {
		t.Helper()
		asked.Store(0)
		response, said := hub.do(t, credentials.Approve, method, path, body)
		if n := asked.Load(); response.StatusCode != status || n != most {
			t.Errorf("%s: %d %s; the processes were asked %d times, want %d", what, response.StatusCode, said, n, most)
		}
	}
	yes := func(session, call string) (method, path, body string, status int) {
		return "POST", "/api/approvals/" + call, fmt.Sprintf(`{"sessionId":%q,"argsDigest":"d-%s","decision":"approve"}`, session, call), 200
	}
	do := func(what string, most int32, session, call string) {
		t.Helper()
		method, path, body, status := yes(session, call)
		asks(what, most, method, path, body, status)
	}
	do("the hub's own", 0, "s1", "call_1")
	do("nobody has shown it: everyone is asked, then its process", 4, "s3", "call_3a")
	do("one that was in the lists then", 1, "s3", "call_3b")
	do("another process' in the lists", 1, "s4", "call_4a")
	asks("a session that nobody has shown", 4, "PUT", "/api/sessions/s2/autonomy", `{"level":"MANUAL"}`, 200)
	asks("the session again", 1, "PUT", "/api/sessions/s2/autonomy", `{"level":"MANUAL"}`, 200)
	asks("a session in the query", 1, "GET", "/api/sessions?sessionId=s2", "", 200)

	// Later approvals are known from their frames.
	c := hub.join(t, credentials.Approve)
	backends[0].ask(approvalOf("s2", "call_2z"))
	for c.want(wire.TypeToolApproveRequest)["toolCallId"] != "call_2z" {
	}
	do("shown to a client", 1, "s2", "call_2z")

	// A process that has left owns nothing.
	third := hub.members()[2]
	third.End()
	waits.Until(t, "the third has left", func() bool { return !slices.Contains(hub.members(), third) })
	asks("of a process that is gone", 4, "PUT", "/api/sessions/s9/autonomy", `{"level":"MANUAL"}`, 404)
}

// Each replica answers other replicas' hubs only for itself. Otherwise two that ask each other would never finish.
func TestReplicasAnswerForThemselves(t *testing.T) {
	a, b := start(t, newFakeBackend("s1")), start(t, newFakeBackend("s2"))
	var back atomic.Int32 // number of b's requests to a
	meet := func(who, whom *rig, name string, asked *atomic.Int32) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan struct{})
		go func() { defer close(served); whom.ServeReplicas(l) }()
		t.Cleanup(func() { l.Close(); <-served })
		who.Meet(hub.Peer{Name: name, Ended: make(chan struct{}), Open: func() (net.Conn, error) {
			asked.Add(1)
			return net.Dial("tcp", l.Addr().String())
		}})
		waits.Until(t, "they meet", func() bool { return len(who.members()) == 1 })
	}
	meet(b, a, "a", &back)
	meet(a, b, "b", new(atomic.Int32))
	var said info
	if a.get(t, "/api/info", &said); said.Sessions != 2 || len(said.Processes) != 2 {
		t.Errorf("%+v", said)
	}
	if n := back.Load(); n != 0 {
		t.Errorf("the replica that was asked asked back %d times", n)
	}
	b.Server.Close()
	if response, body := a.do(t, "", "GET", "/health", ""); response.StatusCode != http.StatusOK {
		t.Errorf("a replica is not healthy when another does not answer: %s", body)
	}
}
