package companion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/gate"
	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/hub"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
)

func (r *rig) target() client.Target {
	return client.Target{DataDir: r.dir, Client: wire.ClientInfo{Name: "alice", Version: "1", Kind: "tui"}}
}

// dial connects. Like a person, it tries again if the machine is too slow for the client's timeouts.
func dial(t *testing.T, target client.Target) *client.Client {
	t.Helper()
	for deadline := time.Now().Add(waits.Limit); ; {
		c, err := client.Dial(t.Context(), target)
		if err == nil {
			t.Cleanup(c.Close)
			return c
		}
		if !errors.Is(err, wire.ErrUnreachable) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// await reads events up to the first frame of type T that fits.
func await[T any](t *testing.T, c *client.Client, fits func(T) bool) T {
	t.Helper()
	timeout := time.After(waits.Limit)
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				t.Fatalf("the events ended before a %T", *new(T))
			}
			if f, is := e.Frame.(T); is && (fits == nil || fits(f)) {
				return f
			}
		case <-timeout:
			t.Fatalf("no %T came", *new(T))
		}
	}
}

func TestClientAnswers(t *testing.T) {
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	r := start(t, b)
	c := dial(t, r.target())
	if f := await[wire.Connected](t, c, nil); f.Address != r.Address() {
		t.Errorf("connected to %s", f.Address)
	}
	f := await[*wire.ToolApproveRequest](t, c, nil)
	if f.ToolCallID != "call_1" || string(f.Args) != `{"command":"git push","n":1.0e2}` || f.Risk.Class != "UNKNOWN" {
		t.Errorf("%+v", f)
	}
	answer := wire.ToolApprove{Head: wire.Head{SessionID: "s1"}, ToolCallID: "call_1", ArgsDigest: "stale", Decision: "approve"}
	if err := c.Answer(answer); err != nil {
		t.Fatal(err)
	}
	if f := await[*wire.Error](t, c, nil); f.Code != wire.CodeBadMessage || f.ToolCallID != "call_1" {
		t.Errorf("%+v", f)
	}
	answer.ArgsDigest = "d-call_1"
	if err := c.Answer(answer); err != nil {
		t.Fatal(err)
	}
	if f := await[*wire.ToolApproveResolved](t, c, nil); f.By != "tui:alice" || f.Decision != "approve" {
		t.Errorf("%+v", f)
	}
	if err := c.SetAutonomy("s1", "MANUAL"); err != nil {
		t.Fatal(err)
	}
	await(t, c, func(f *wire.AutonomyChanged) bool { return f.Level == "MANUAL" && f.By == "tui:alice" })
	b.ask(approval("call_2"))
	if err := c.Cancel("s1"); err != nil {
		t.Fatal(err)
	}
	await(t, c, func(f *wire.ToolApproveResolved) bool { return f.ToolCallID == "call_2" && f.Decision == "withdrawn" })
	c.Close()
	if err := c.Answer(answer); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("answer after Close: %v", err)
	}
	for range c.Events() {
	}
}

func TestClientDecodesEveryFrame(t *testing.T) {
	tested := map[string]bool{}
	for _, frame := range []any{
		wire.ToolStart{Head: wire.NewHead(wire.TypeToolStart, "s1"), ToolCallID: "call_1", Args: []byte(`{}`), Risk: "WRITE", RiskLabel: "medium"},
		approveRequest(approval("call_1")),
		wire.ToolApproveResolved{Head: wire.NewHead(wire.TypeToolApproveResolved, "s1"), ToolCallID: "call_1", Decision: "withdrawn"},
		wire.ToolResult{Head: wire.NewHead(wire.TypeToolResult, "s1"), ToolCallID: "call_1"},
		wire.AgentState{Head: wire.NewHead(wire.TypeAgentState, "s1"), Status: "idle"},
		teamUpdate(gate.SessionInfo{ID: "s1"}),
		autonomyChanged("s1", "NONE", ""),
		wire.AuditEntry{Head: wire.NewHead(wire.TypeAuditEntry, "s1"), Decision: "denied", RiskLabel: "high"},
		wire.MCPCall{Head: wire.NewHead(wire.TypeMCPCall, "s1"), ToolCallID: "run_1", Args: []byte(`{}`)},
		wire.MCPCancel{Head: wire.NewHead(wire.TypeMCPCancel, "s1"), ToolCallID: "run_1"},
		wire.ChatAsked{Head: wire.NewHead(wire.TypeChatAsked, "s1"), ChatTurn: wire.ChatTurn{Role: "user", Text: "Hello?", Context: []wire.Passage{{Source: "a.go:1-2", Text: "func a()"}}}},
		wire.ChatCleared{Head: wire.NewHead(wire.TypeChatCleared, "s1"), By: "tui:alice"},
		wire.Token{Head: wire.NewHead(wire.TypeToken, "s1"), Content: "Hello"},
		wire.Done{Head: wire.NewHead(wire.TypeDone, "s1")},
		wire.KBAdded{Head: wire.NewHead(wire.TypeKBAdded, "s1"), DocumentID: "d1"},
		wire.KBSearchResult{Head: wire.NewHead(wire.TypeKBSearchResult, "s1"), Results: []wire.KBHit{}},
		wire.KBListResult{Head: wire.NewHead(wire.TypeKBListResult, "s1"), Documents: []wire.KBDocument{}},
		wire.KBRemoved{Head: wire.NewHead(wire.TypeKBRemoved, "s1"), DocumentID: "d1", Found: true},
		wire.IndexStart{Head: wire.NewHead(wire.TypeIndexStart, "s1"), Path: "/w"},
		wire.IndexProgress{Head: wire.NewHead(wire.TypeIndexProgress, "s1")},
		wire.IndexDone{Head: wire.NewHead(wire.TypeIndexDone, "s1")},
		wire.Error{Head: wire.NewHead(wire.TypeError, "s1"), Message: "no", Code: wire.CodeInternal},
	} {
		data, err := wire.Encode(frame)
		if err != nil {
			t.Fatal(err)
		}
		got, err := wire.DecodeServer(data)
		tested[fmt.Sprintf("%T", got)] = true
		if want := fmt.Sprintf("*%T", frame); err != nil || fmt.Sprintf("%T", got) != want {
			t.Errorf("%s: %T, %v; want %s", data, got, err, want)
		}
		if again, err := wire.Encode(got); err != nil || string(again) != string(data) {
			t.Errorf("%s\ncame back as\n%s", data, again)
		}
	}
	if len(tested) != len(wire.ServerTypes()) {
		t.Errorf("%d of %d types were tested", len(tested), len(wire.ServerTypes()))
	}
	if got, err := wire.DecodeServer([]byte(`{"v":1,"type":"tomorrow"}`)); got != nil || err != nil {
		t.Errorf("unknown type: %v, %v", got, err)
	}
	if _, err := wire.DecodeServer([]byte(`{"v":2,"type":"error"}`)); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("other version: %v", err)
	}
}

func TestClientReconnects(t *testing.T) {
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	r := start(t, b)
	c := dial(t, r.target())
	await[*wire.ToolApproveRequest](t, c, nil)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if f := await[wire.Disconnected](t, c, nil); f.Final {
		t.Errorf("gave up: %v", f.Err)
	}
	if err := c.SetAutonomy("s1", "MANUAL"); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("sent without a connection: %v", err)
	}
	// The next process has another port and another credential.
	if err := r.credentials.Rotate(credentials.Approve); err != nil {
		t.Fatal(err)
	}
	next, err := Listen(Options{DataDir: r.dir, Address: ":0", Backend: Backend{Gate: b}, Credentials: r.credentials, Logger: r.Server.log})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if f := await[wire.Connected](t, c, nil); f.Address != next.Address() {
		t.Errorf("connected to %s, want %s", f.Address, next.Address())
	}
	if f := await[*wire.ToolApproveRequest](t, c, nil); f.ToolCallID != "call_1" {
		t.Errorf("replay: %+v", f)
	}
}

func TestDialFails(t *testing.T) {
	t.Run("nothing runs", func(t *testing.T) {
		target := client.Target{DataDir: privateDir(t), Client: wire.ClientInfo{Name: "alice", Kind: "tui"}}
		if _, err := client.Dial(t.Context(), target); !errors.Is(err, wire.ErrNotRunning) {
			t.Error(err)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		if _, err := client.Dial(t.Context(), client.Target{DataDir: privateDir(t)}); err == nil || !strings.Contains(err.Error(), "client.kind") {
			t.Error(err)
		}
	})
	r := start(t, newFakeBackend("s1"))
	t.Run("nothing listens", func(t *testing.T) {
		target := r.target()
		target.Address = "127.0.0.1:1"
		if _, err := client.Dial(t.Context(), target); !errors.Is(err, wire.ErrUnreachable) {
			t.Error(err)
		}
	})
	t.Run("off loopback", func(t *testing.T) {
		target := r.target()
		target.Address = "192.0.2.1:7777"
		if _, err := client.Dial(t.Context(), target); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Error(err)
		}
	})
	t.Run("localhost is loopback", func(t *testing.T) {
		target := r.target()
		_, port, err := net.SplitHostPort(r.Address())
		if err != nil {
			t.Fatal(err)
		}
		target.Address = "localhost:" + port
		dial(t, target)
	})
	t.Run("other data directory", func(t *testing.T) {
		dir := privateDir(t)
		if _, err := credentials.Open(dir); err != nil {
			t.Fatal(err)
		}
		target := r.target()
		target.DataDir, target.Address = dir, r.Address()
		if _, err := client.Dial(t.Context(), target); !errors.Is(err, wire.ErrImpostor) {
			t.Error(err)
		}
	})
}

// A process that only occupies the port never sees the credential, not even by relaying the challenge to the real
// companion.
func TestImpostorNeverSeesTheCredential(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	token := r.token(t, credentials.Approve)
	var asked atomic.Int32
	impostor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		asked.Add(1)
		if dump := fmt.Sprint(request.URL, request.Header); strings.Contains(dump, token) {
			t.Error("the impostor got the credential")
		}
		response, err := http.Get("http://" + r.Address() + request.URL.String())
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		var proof map[string]string
		if err := json.NewDecoder(response.Body).Decode(&proof); err != nil {
			t.Error(err)
		}
		rest.WriteJSON(w, response.StatusCode, proof)
	}))
	defer impostor.Close()
	address := strings.TrimPrefix(impostor.URL, "http://")
	if err := hub.Announce(r.dir, address, true); err != nil {
		t.Fatal(err)
	}
	// A client without a given address skips the impostor.
	if c := dial(t, r.target()); await[wire.Connected](t, c, nil).Address != r.Address() {
		t.Error("connected to the impostor")
	}
	if asked.Load() != 1 {
		t.Errorf("the impostor was asked %d times", asked.Load())
	}
	target := r.target()
	target.Address = address
	if _, err := client.Dial(t.Context(), target); !errors.Is(err, wire.ErrImpostor) {
		t.Error(err)
	}
}

func TestClientEndsWithContext(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	ctx, cancel := context.WithCancel(t.Context())
	c, err := client.Dial(ctx, r.target())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range c.Events() {
	}
	c.Close()
}
