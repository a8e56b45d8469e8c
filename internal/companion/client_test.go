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
	"callgate/internal/testserver/waits"
	"callgate/rag"
)

func (r *rig) target() Target {
	return Target{DataDir: r.dir, Client: ClientInfo{Name: "alice", Version: "1", Kind: "tui"}}
}

func dial(t *testing.T, target Target) *Client {
	t.Helper()
	c, err := Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// await reads events up to the first frame of type T that fits.
func await[T any](t *testing.T, c *Client, fits func(T) bool) T {
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
	if f := await[Connected](t, c, nil); f.Address != r.Address() {
		t.Errorf("connected to %s", f.Address)
	}
	f := await[*ToolApproveRequest](t, c, nil)
	if f.ToolCallID != "call_1" || string(f.Args) != `{"command":"git push","n":1.0e2}` || f.Risk.Class != "UNKNOWN" {
		t.Errorf("%+v", f)
	}
	answer := ToolApprove{Head: Head{SessionID: "s1"}, ToolCallID: "call_1", ArgsDigest: "stale", Decision: "approve"}
	if err := c.Answer(answer); err != nil {
		t.Fatal(err)
	}
	if f := await[*Error](t, c, nil); f.Code != CodeBadMessage || f.ToolCallID != "call_1" {
		t.Errorf("%+v", f)
	}
	answer.ArgsDigest = "d-call_1"
	if err := c.Answer(answer); err != nil {
		t.Fatal(err)
	}
	if f := await[*ToolApproveResolved](t, c, nil); f.By != "tui:alice" || f.Decision != "approve" {
		t.Errorf("%+v", f)
	}
	if err := c.SetAutonomy("s1", "MANUAL"); err != nil {
		t.Fatal(err)
	}
	await(t, c, func(f *AutonomyChanged) bool { return f.Level == "MANUAL" && f.By == "tui:alice" })
	b.ask(approval("call_2"))
	if err := c.Cancel("s1"); err != nil {
		t.Fatal(err)
	}
	await(t, c, func(f *ToolApproveResolved) bool { return f.ToolCallID == "call_2" && f.Decision == "withdrawn" })
	c.Close()
	if err := c.Answer(answer); !errors.Is(err, ErrClosed) {
		t.Errorf("answer after Close: %v", err)
	}
	for range c.Events() {
	}
}

func TestClientDecodesEveryFrame(t *testing.T) {
	tested := map[string]bool{}
	for _, frame := range []any{
		ToolStart{Head: head(TypeToolStart, "s1"), ToolCallID: "call_1", Args: []byte(`{}`), Risk: "WRITE", RiskLabel: "medium"},
		approveRequest(approval("call_1")),
		ToolApproveResolved{Head: head(TypeToolApproveResolved, "s1"), ToolCallID: "call_1", Decision: "withdrawn"},
		ToolResult{Head: head(TypeToolResult, "s1"), ToolCallID: "call_1"},
		AgentState{Head: head(TypeAgentState, "s1"), Status: "idle"},
		teamUpdate(gate.SessionInfo{ID: "s1"}),
		autonomyChanged("s1", "NONE", ""),
		AuditEntry{Head: head(TypeAuditEntry, "s1"), Decision: "denied", RiskLabel: "high"},
		MCPCall{Head: head(TypeMCPCall, "s1"), ToolCallID: "run_1", Args: []byte(`{}`)},
		MCPCancel{Head: head(TypeMCPCancel, "s1"), ToolCallID: "run_1"},
		ChatAsked{head(TypeChatAsked, "s1"), ChatTurn{Role: "user", Text: "Hello?", Context: []Passage{{"a.go:1-2", "func a()"}}}},
		ChatCleared{head(TypeChatCleared, "s1"), "tui:alice"},
		Token{Head: head(TypeToken, "s1"), Content: "Hello"},
		Done{Head: head(TypeDone, "s1")},
		KBAdded{Head: head(TypeKBAdded, "s1"), DocumentID: "d1"},
		KBSearchResult{Head: head(TypeKBSearchResult, "s1"), Results: []rag.KBHit{}},
		KBListResult{Head: head(TypeKBListResult, "s1"), Documents: []rag.KBDocument{}},
		KBRemoved{Head: head(TypeKBRemoved, "s1"), DocumentID: "d1", Found: true},
		IndexStart{Head: head(TypeIndexStart, "s1"), Path: "/w"},
		IndexProgress{Head: head(TypeIndexProgress, "s1")},
		IndexDone{Head: head(TypeIndexDone, "s1")},
		Error{Head: head(TypeError, "s1"), Message: "no", Code: CodeInternal},
	} {
		data, err := encode(frame)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeServer(data)
		tested[fmt.Sprintf("%T", got)] = true
		if want := fmt.Sprintf("*%T", frame); err != nil || fmt.Sprintf("%T", got) != want {
			t.Errorf("%s: %T, %v; want %s", data, got, err, want)
		}
		if again, err := encode(got); err != nil || string(again) != string(data) {
			t.Errorf("%s\ncame back as\n%s", data, again)
		}
	}
	if len(tested) != len(serverFrames) {
		t.Errorf("%d of %d types were tested", len(tested), len(serverFrames))
	}
	if got, err := decodeServer([]byte(`{"v":1,"type":"tomorrow"}`)); got != nil || err != nil {
		t.Errorf("unknown type: %v, %v", got, err)
	}
	if _, err := decodeServer([]byte(`{"v":2,"type":"error"}`)); !errors.Is(err, ErrVersion) {
		t.Errorf("other version: %v", err)
	}
}

func TestClientReconnects(t *testing.T) {
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	r := start(t, b)
	c := dial(t, r.target())
	await[*ToolApproveRequest](t, c, nil)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if f := await[Disconnected](t, c, nil); f.Final {
		t.Errorf("gave up: %v", f.Err)
	}
	if err := c.SetAutonomy("s1", "MANUAL"); !errors.Is(err, ErrClosed) {
		t.Errorf("sent without a connection: %v", err)
	}
	// The next process has another port and another credential.
	if err := r.credentials.Rotate(CredentialApprove); err != nil {
		t.Fatal(err)
	}
	next, err := Listen(Options{DataDir: r.dir, Address: ":0", Backend: b, Credentials: r.credentials, Logger: r.Server.log})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if f := await[Connected](t, c, nil); f.Address != next.Address() {
		t.Errorf("connected to %s, want %s", f.Address, next.Address())
	}
	if f := await[*ToolApproveRequest](t, c, nil); f.ToolCallID != "call_1" {
		t.Errorf("replay: %+v", f)
	}
}

func TestDialFails(t *testing.T) {
	t.Run("nothing runs", func(t *testing.T) {
		target := Target{DataDir: privateDir(t), Client: ClientInfo{Name: "alice", Kind: "tui"}}
		if _, err := Dial(t.Context(), target); !errors.Is(err, ErrNotRunning) {
			t.Error(err)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		if _, err := Dial(t.Context(), Target{DataDir: privateDir(t)}); err == nil || !strings.Contains(err.Error(), "client.kind") {
			t.Error(err)
		}
	})
	r := start(t, newFakeBackend("s1"))
	t.Run("nothing listens", func(t *testing.T) {
		target := r.target()
		target.Address = "127.0.0.1:1"
		if _, err := Dial(t.Context(), target); !errors.Is(err, ErrUnreachable) {
			t.Error(err)
		}
	})
	t.Run("off loopback", func(t *testing.T) {
		target := r.target()
		target.Address = "192.0.2.1:7777"
		if _, err := Dial(t.Context(), target); err == nil || !strings.Contains(err.Error(), "loopback") {
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
		if _, err := OpenCredentials(dir); err != nil {
			t.Fatal(err)
		}
		target := r.target()
		target.DataDir, target.Address = dir, r.Address()
		if _, err := Dial(t.Context(), target); !errors.Is(err, ErrImpostor) {
			t.Error(err)
		}
	})
}

// Who only sits on the port never sees the credential, not even by passing the challenge on to the true
// companion.
func TestImpostorNeverSeesTheCredential(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	token := r.token(t, CredentialApprove)
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
		writeJSON(w, response.StatusCode, proof)
	}))
	defer impostor.Close()
	address := strings.TrimPrefix(impostor.URL, "http://")
	if err := announce(r.dir, address, true); err != nil {
		t.Fatal(err)
	}
	// The client that is told no address passes over it.
	if c := dial(t, r.target()); await[Connected](t, c, nil).Address != r.Address() {
		t.Error("connected to the impostor")
	}
	if asked.Load() != 1 {
		t.Errorf("the impostor was asked %d times", asked.Load())
	}
	target := r.target()
	target.Address = address
	if _, err := Dial(t.Context(), target); !errors.Is(err, ErrImpostor) {
		t.Error(err)
	}
}

func TestClientEndsWithContext(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Dial(ctx, r.target())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range c.Events() {
	}
	c.Close()
}
