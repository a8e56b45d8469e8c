package app

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/app/own"
	"callgate/internal/config"
	"callgate/internal/testserver/built"
	"callgate/internal/testserver/waits"
	"callgate/internal/upstream"
	"callgate/proxy"
)

// ownTestTools returns own tools as packages contribute them: one answers with its session, one waits until it is
// cancelled, and one panics.
func ownTestTools(began, cancelled chan<- struct{}) []own.Tool {
	simple := func(name string, answer func(context.Context, *gate.Session) string) own.Tool {
		return func(session *gate.Session) server.ServerTool {
			return server.ServerTool{Tool: mcp.NewTool(name), Handler: func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(answer(ctx, session)), nil
			}}
		}
	}
	return []own.Tool{
		simple("whoami", func(_ context.Context, session *gate.Session) string { return "session " + session.ID() }),
		simple("wait", func(ctx context.Context, _ *gate.Session) string {
			began <- struct{}{}
			<-ctx.Done()
			cancelled <- struct{}{}
			return "cancelled"
		}),
		simple("burst", func(context.Context, *gate.Session) string { panic("boom") }),
	}
}

// awkwardServer builds a server that the tests put behind callgate.
func awkwardServer(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := built.Programs(dir, "callgate/internal/testserver/awkward"); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "awkward")
}

// ownHost runs a proxy with own tools and a real server for one host.
type ownHost struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
}

func newOwnHost(t *testing.T, untouched bool, offered []own.Tool, tool string) *ownHost {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	rules := filepath.Join(data, "workers", "default", "permissions.jsonc")
	if err := os.MkdirAll(filepath.Dir(rules), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(rules, []byte(`{"*": "allow", "callgate_burst": "allow", "callgate_denied": "deny"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	awkward := proxy.Server{
		Upstream: upstream.Config{Name: "aw", Command: awkwardServer(t), Args: []string{"-tool", tool}, Dir: dir},
		Tools:    tools.Server{Name: "aw", Identity: "aw"}, Place: tools.Place{Dir: dir, Roots: []string{dir}, Home: dir},
	}
	c := &config.Config{DataDir: data, Worker: "default", Listen: "off", MaxPending: 8, Timeout: time.Second, ClaimWithin: time.Minute, Level: slog.LevelError}
	s, err := Start(t.Context(), c, append((&own.Server{Tools: offered}).Configured(), awkward))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	fromHost, in := io.Pipe()
	out, toHost := io.Pipe()
	h := &ownHost{t: t, in: in, lines: make(chan string, 100)}
	done := make(chan error, 1)
	var view proxy.View
	if untouched {
		view.Server = "aw"
	}
	go func() {
		done <- s.Proxy.Run(context.Background(), view, fromHost, toHost)
		toHost.Close()
	}()
	go func() {
		defer close(h.lines)
		for r := bufio.NewScanner(out); r.Scan(); {
			h.lines <- r.Text()
		}
	}()
	t.Cleanup(func() {
		in.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	h.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	h.expect(`"id":"init"`)
	h.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return h
}

func (h *ownHost) send(line string) {
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatal(err)
	}
}

// expect returns the next line that matches.
func (h *ownHost) expect(pattern string) string {
	h.t.Helper()
	wanted := regexp.MustCompile(pattern)
	limit := time.After(waits.Limit)
	var seen []string
	for {
		select {
		case line, ok := <-h.lines:
			seen = append(seen, line)
			if !ok {
				h.t.Fatalf("the connection ended without %s", pattern)
			}
			if wanted.MatchString(line) {
				return line
			}
		case <-limit:
			h.t.Fatalf("no line matches %s: %q", pattern, seen)
		}
	}
}

func TestOwnTools(t *testing.T) {
	for name, untouched := range map[string]bool{"run": false, "wrap": true} {
		t.Run(name, func(t *testing.T) {
			began, cancelled := make(chan struct{}, 1), make(chan struct{}, 1)
			h := newOwnHost(t, untouched, ownTestTools(began, cancelled), "plain")
			shown := map[bool]string{false: `"name":"aw_plain"`, true: `"name":"plain"`}[untouched]
			h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			list := h.expect(`"id":1`)
			for _, wanted := range []string{shown, `"name":"callgate_whoami"`, `"name":"callgate_wait"`} {
				if !regexp.MustCompile(wanted).MatchString(list) {
					t.Errorf("tools/list has no %s: %s", wanted, list)
				}
			}
			h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"callgate_whoami","arguments":{}}}`)
			h.expect(`"id":2.*"text":"session [^"]+"`)
			h.send(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"callgate_burst","arguments":{}}}`)
			h.expect(`"id":3.*boom`)
			h.send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"callgate_wait","arguments":{}}}`)
			h.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"callgate_whoami","arguments":{}}}`)
			h.expect(`"id":5.*session`)
			<-began
			h.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`)
			select {
			case <-cancelled:
			case <-time.After(waits.Limit):
				t.Fatal("the cancellation did not reach the tool")
			}
		})
	}
}

// A server that keeps its own names could call a tool like one of callgate's.
func TestOwnToolsHaveTheirNamesForThemselves(t *testing.T) {
	h := newOwnHost(t, true, ownTestTools(nil, nil), "callgate_whoami")
	h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if list := h.expect(`"id":1`); strings.Count(list, `"name":"callgate_whoami"`) != 1 {
		t.Errorf("the name is not there once: %s", list)
	}
	h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"callgate_whoami","arguments":{}}}`)
	h.expect(`"id":2.*"text":"session [^"]+"`)
}

func TestOwnNameIsReserved(t *testing.T) {
	for _, s := range []config.ServerConfig{
		{Name: "callgate", Command: "demo"}, {Name: "callgate_x", Command: "demo"}, {Name: "x", Command: "demo", Package: "callgate"},
	} {
		if _, err := s.Assemble(nil); err == nil || !regexp.MustCompile(`callgate's own`).MatchString(err.Error()) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	server, err := (&config.ServerConfig{Name: "x", Command: "callgate", Args: []string{"wrap"}}).Assemble(nil)
	if err != nil || len(server.Tools.Packages) > 0 || server.Tools.Identity == proxy.OwnName {
		t.Errorf("a configured callgate passes for callgate's own server: %+v, %v", server.Tools, err)
	}
	if alias := config.AliasOf("callgate", nil); alias != "wrapped" {
		t.Errorf("alias %q", alias)
	}
}
