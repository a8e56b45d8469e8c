package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"callgate/audit"
	"callgate/gate"
	"callgate/permissions/store"
	"callgate/proxy"
)

// A host calls two tools of a server, and the rules deny one of them. Here the server runs in this process; one in its
// own process has a Command.
func Example() {
	dir, err := os.MkdirTemp("", "proxy")
	check(err)
	defer os.RemoveAll(dir)
	rules := filepath.Join(dir, "permissions.jsonc")
	check(os.WriteFile(rules, []byte(`{ "demo_*": "allow", "demo_erase": "deny" }`), 0o600))
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	check(err)
	defer log.Close()
	g := gate.New(gate.Options{Worker: "example", Audit: log, Store: store.Open(rules, store.Options{})})
	defer g.Close()

	var demo proxy.Server
	demo.Tools.Name, demo.Upstream.Name, demo.Upstream.Serve = "demo", "demo", serve
	p, err := proxy.New(proxy.Options{Gate: g, Servers: []proxy.Server{demo}, Logger: slog.New(slog.DiscardHandler)})
	check(err)
	defer p.Close()

	fromHost, toProxy := io.Pipe()
	fromProxy, toHost := io.Pipe()
	ended := make(chan error)
	go func() { ended <- p.Run(context.Background(), proxy.View{}, fromHost, toHost) }()
	host := client.NewClient(transport.NewIO(fromProxy, toProxy, io.NopCloser(strings.NewReader(""))))
	check(host.Start(context.Background()))
	_, err = host.Initialize(context.Background(), mcp.InitializeRequest{})
	check(err)
	for _, tool := range []string{"demo_greet", "demo_erase"} {
		var call mcp.CallToolRequest
		call.Params.Name = tool
		result, err := host.CallTool(context.Background(), call)
		check(err)
		fmt.Println(tool, "refused:", result.IsError)
	}
	check(toProxy.Close())
	check(<-ended)
	// Output:
	// demo_greet refused: false
	// demo_erase refused: true
}

// A program can carry the messages itself, and look at calls before the gate does.
func ExampleProxy_Connect() {
	dir, err := os.MkdirTemp("", "proxy")
	check(err)
	defer os.RemoveAll(dir)
	rules := filepath.Join(dir, "permissions.jsonc")
	check(os.WriteFile(rules, []byte(`{ "demo_*": "allow" }`), 0o600))
	log, err := audit.Open(audit.Dir(dir), audit.Options{})
	check(err)
	defer log.Close()
	g := gate.New(gate.Options{Worker: "example", Audit: log, Store: store.Open(rules, store.Options{})})
	defer g.Close()
	var demo proxy.Server
	demo.Tools.Name, demo.Upstream.Name, demo.Upstream.Serve = "demo", "demo", serve
	p, err := proxy.New(proxy.Options{Gate: g, Servers: []proxy.Server{demo}, Hooks: noErase{}})
	check(err)
	defer p.Close()

	host := make(line, 1)
	peer, err := p.Connect(context.Background(), proxy.View{}, "me", host)
	check(err)
	defer peer.Close()
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"demo_greet"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"demo_erase"}}`,
	} {
		m, err := proxy.ParseMessage([]byte(text))
		check(err)
		peer.Handle(m)
		answer, err := proxy.ParseMessage(<-host)
		check(err)
		fmt.Println(string(answer.ID), "refused:", strings.Contains(string(answer.Result), "nothing is erased"))
	}
	// Output:
	// 1 refused: false
	// 2 refused: false
	// 3 refused: true
}

// line takes the responses for a host that is never asked anything.
type line chan []byte

func (l line) Respond(_, response []byte) error { l <- response; return nil }
func (l line) Notify(_, _ []byte) error         { return nil }
func (l line) Waits([]byte)                     {}
func (l line) Hurry()                           {}
func (l line) Ask([]byte, string, func(id []byte) []byte) (*proxy.Pending, error) {
	return nil, errors.ErrUnsupported
}

// noErase refuses to erase.
type noErase struct{}

func (noErase) Wants(string) bool    { return false }
func (noErase) Fire(proxy.HookEvent) {}
func (noErase) Decides() bool        { return true }
func (noErase) Decide(_ context.Context, e proxy.HookEvent, heed func(proxy.HookOpinion) (proxy.HookEvent, bool, error)) {
	if e.Tool == "demo_erase" {
		_, _, err := heed(proxy.HookOpinion{Hook: "noErase", Deny: true, Reason: "nothing is erased"})
		check(err)
	}
}

// serve runs a server with two tools.
func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := server.NewMCPServer("demo", "1")
	for _, name := range []string{"greet", "erase"} {
		s.AddTool(mcp.NewTool(name), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("done"), nil
		})
	}
	return server.NewStdioServer(s).Listen(ctx, in, out)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
