package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The test binary plays callgate if these are set: how it behaves, and its data directory.
const (
	behaviour = "HOST_TEST_BEHAVIOUR"
	dataDir   = "HOST_TEST_DATA"
)

func TestMain(m *testing.M) {
	if os.Getenv(behaviour) == "" {
		os.Setenv("GORACE", "atexit_sleep_ms=0") // else a child built with -race would sleep for a second when it ends
		os.Exit(m.Run())
	}
	if err := playCallgate(os.Getenv(behaviour), os.Getenv(dataDir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// gate is a callgate that judges nothing: it gives the answers that the test wants.
type gate struct {
	how string

	mu       sync.Mutex
	pending  string // the waiting command
	granted  bool
	calls    int
	decision chan map[string]string
}

func playCallgate(how, data string) error {
	g := &gate{how: how, decision: make(chan map[string]string, 1)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(data, "credentials"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(credential(data), []byte("sesame\n"), 0o600); err != nil {
		return err
	}
	announced := fmt.Sprintf(`{"pid":%d,"address":%q,"started":"2026-01-01T00:00:00Z"}`, os.Getpid(), listener.Addr())
	if err := os.WriteFile(filepath.Join(data, "companion.json"), []byte(announced), 0o600); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/approvals", g.list)
	mux.HandleFunc("POST /api/approvals/{id}", g.answer)
	web := &http.Server{Handler: mux}
	go web.Serve(listener) // ends with the process
	s := server.NewMCPServer("callgate", "0.0.0")
	s.AddTool(mcp.NewTool(readTool), g.read)
	s.AddTool(mcp.NewTool(shellTool), g.shell)
	fmt.Fprintln(os.Stderr, "this is the log")
	return server.ServeStdio(s)
}

func (g *gate) read(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if request.GetString("path", "") == allowPath && g.how != "denies all" {
		return mcp.NewToolResultText("# Read me\n1\n2\n3\n4\n5\n6\n7"), nil
	}
	if g.how == "allows all" {
		return mcp.NewToolResultText("TOKEN=1"), nil
	}
	return mcp.NewToolResultError("denied by rule read_file \"*.env\""), nil
}

func (g *gate) shell(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	g.mu.Lock()
	g.calls++
	first := g.calls == 1
	free := g.granted || g.how == "never asks"
	if !free {
		g.pending = request.GetString("command", "")
	}
	g.mu.Unlock()
	switch {
	case free:
		return mcp.NewToolResultText("nobody was asked"), nil
	case g.how == "hands over" && first:
		return mcp.NewToolResultError("Approval call_1 pending; repeat the same call."), nil
	case g.how == "times out":
		time.Sleep(300 * time.Millisecond)
		return mcp.NewToolResultError("APPROVAL_TIMEOUT: nobody answered"), nil
	case g.how == "answered elsewhere":
		time.Sleep(300 * time.Millisecond)
		return mcp.NewToolResultError("rejected by web:alice"), nil
	}
	select {
	case answer := <-g.decision:
		g.mu.Lock()
		g.pending, g.granted = "", answer["decision"] == "always" && g.how != "forgets"
		g.mu.Unlock()
		if answer["decision"] == "reject" {
			return mcp.NewToolResultError("Rejected: " + answer["feedback"]), nil
		}
		return mcp.NewToolResultText("done by " + answer["decision"]), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (g *gate) list(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer sesame" {
		http.Error(w, "who?", http.StatusUnauthorized)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pending == "" {
		fmt.Fprint(w, `{"approvals":[]}`)
		return
	}
	offers := "[]"
	if g.pending == create {
		offers = `[{"tool":"demo_shell_exec","pattern":"mkdir -p dist"},{"tool":"demo_shell_exec","pattern":"mkdir *","default":true}]`
	}
	fmt.Fprintf(w, `{"approvals":[
		{"approvalId":"call_0","sessionId":"s0","tool":"demo_shell_exec","args":{"command":"ls"},"argsDigest":"d0"},
		{"approvalId":"call_1","sessionId":"s1","tool":"demo_shell_exec","args":{"command":%q},"argsDigest":"d1","always":%s,
		 "summary":"Runs \u001b[31mrm\u202e","risk":{"class":"DESTRUCTIVE","label":"high"},"expiresAt":"2026-01-01T00:02:00Z"}]}`, g.pending, offers)
}

func (g *gate) answer(w http.ResponseWriter, r *http.Request) {
	var body map[string]string
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if g.how == "refuses answers" {
		http.Error(w, "not you", http.StatusForbidden)
		return
	}
	if r.PathValue("id") != "call_1" || body["sessionId"] != "s1" || body["argsDigest"] != "d1" {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"applied":false}`)
		return
	}
	g.decision <- body
	fmt.Fprint(w, `{"applied":true}`)
}

func TestStory(t *testing.T) {
	tests := []struct {
		name   string
		how    string
		answer string
		typed  string // at the terminal; "" means there is no terminal
		want   string // part of the error; "" means none
		shows  []string
	}{
		{name: "approved", how: "asks", answer: "approve", shows: []string{
			"1. a call that the rules allow\n   demo_read_file {\"path\":\"README.md\"}\n   ✓ ran after",
			"… 2 lines more", "2. a call that the rules deny", "✓ refused after", "denied by rule",
			"? waits for a person: Runs [31mrm (DESTRUCTIVE, high risk)", "/api/approvals/call_1\n", "Answered: approve.", "done by approve"}},
		{name: "rejected", how: "asks", answer: "reject", shows: []string{"Answered: reject.", "✓ refused", feedback}},
		{name: "always", how: "asks", answer: "always", shows: []string{
			`always means   demo_shell_exec "mkdir *"`, "done by always", "4. the same call again: nobody is asked", "nobody was asked"}},
		{name: "handed over and repeated", how: "hands over", answer: "approve", shows: []string{"done by approve"}},
		{name: "approved at the terminal", how: "asks", typed: "\nwhat?\nalways\nYes\n", shows: []string{"Let it run? [y]es, [n]o: ", "done by approve"}},
		{name: "rejected at the terminal", how: "asks", typed: "n\n", shows: []string{"Answered: reject.", feedback}},
		{name: "answered by somebody else", how: "answered elsewhere", shows: []string{"Waiting for an answer until", "✓ refused", "web:alice"}},
		{name: "answered by somebody else than the terminal", how: "answered elsewhere", typed: "\n", shows: []string{"web:alice"}},

		{name: "nobody answers", how: "times out", shows: []string{"✓ refused", "Nobody answered in time"}},
		{name: "nobody answers at the terminal", how: "times out", typed: "\n", shows: []string{"✓ refused", "Nobody answered in time"}},
		{name: "the answer is refused", how: "refuses answers", answer: "approve", want: "403 Forbidden: not you"},
		{name: "what is denied runs", how: "allows all", answer: "approve", want: "the denied call ran", shows: []string{"✗ ran"}},
		{name: "what is allowed is refused", how: "denies all", answer: "approve", want: "the allowed call was refused"},
		{name: "what was granted asks again", how: "forgets", answer: "always", want: "the granted call was asked about again"},
		{name: "what is asked runs at once", how: "never asks", answer: "approve", want: "the asked call was not asked about: it ran"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := t.TempDir()
			t.Setenv(behaviour, test.how)
			t.Setenv(dataDir, data)
			var out strings.Builder
			err := run(t.Context(), options{
				command: []string{os.Args[0]}, dataDir: data, answer: test.answer, terminal: test.typed != "", timeout: time.Minute,
			}, strings.NewReader(test.typed), newPrinter(&out, false))
			switch {
			case test.want == "" && err != nil:
				t.Errorf("failed: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "this is the log")):
				t.Errorf("error %v, want one that says %q and shows the log", err, test.want)
			}
			for _, part := range test.shows {
				if !strings.Contains(out.String(), part) {
					t.Errorf("output lacks %q", part)
				}
			}
			if t.Failed() {
				t.Log(out.String())
			}
		})
	}
}

// The terminal takes "always" only if something is offered for it.
func TestAlwaysAtTheTerminal(t *testing.T) {
	var out strings.Builder
	h := &host{printer: newPrinter(&out, false), in: strings.NewReader("A\n")}
	var a approval
	if decision, _ := h.ask(a, nil); decision != "" || strings.Contains(out.String(), "[a]lways") {
		t.Errorf("nothing is offered, and the decision is %q after %q", decision, out.String())
	}
	a.Always = []offer{{Tool: shellTool, Pattern: "mkdir *"}}
	h.in = strings.NewReader("A\n")
	if decision, _ := h.ask(a, nil); decision != "always" || !strings.Contains(out.String(), "[a]lways") {
		t.Errorf("the decision is %q after %q", decision, out.String())
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	o := options{command: []string{filepath.Join(t.TempDir(), "callgate")}, dataDir: t.TempDir(), timeout: time.Minute}
	if err := run(t.Context(), o, strings.NewReader(""), newPrinter(&strings.Builder{}, false)); err == nil {
		t.Error("ran without a server")
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string // part of the error; "" means none
	}{
		{[]string{"--data-dir", "d", "--answer", "always", "--", "callgate", "run", "--listen", "x"}, ""},
		{[]string{"--data-dir", "d", "callgate", "run"}, ""},
		{[]string{"--", "callgate", "run"}, "--data-dir"},
		{[]string{"--data-dir", "d"}, "command"},
		{[]string{"--data-dir", "d", "--answer", "maybe", "callgate"}, "maybe"},
	} {
		o, err := parse(test.args)
		if test.want == "" && (err != nil || o.command[0] != "callgate" || o.command[1] != "run") {
			t.Errorf("%q: %+v, %v", test.args, o, err)
		}
		if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%q: error %v, want one that says %q", test.args, err, test.want)
		}
	}
}
