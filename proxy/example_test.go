package proxy_test

import (
	"context"
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

// A host calls two tools of a server, and the rules deny one of them. Here the server is in the same process; one of
// its own has a Command.
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

// serve is a server with two tools.
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
