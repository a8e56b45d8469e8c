package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"callgate/gate"
	"callgate/internal/config"
	"callgate/internal/periodic"
	"callgate/internal/rulebook"
	"callgate/internal/spelling"
	"callgate/proxy"
)

// Call acts as a host that makes one call and leaves. If arguments is nil, text is the tool's main argument.
func Call(ctx context.Context, c *config.Config, servers []proxy.Server, tool string, arguments jsontext.Value, text string) (*mcp.CallToolResult, error) {
	result, err := callOnce(ctx, c, servers, tool, arguments, text)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted before the call ended: the audit trail says what became of it (%s audit)", c.Program())
	}
	return result, err
}

func callOnce(ctx context.Context, c *config.Config, servers []proxy.Server, tool string, arguments jsontext.Value, text string) (*mcp.CallToolResult, error) {
	sidecar, err := Start(ctx, c, servers)
	if err != nil {
		return nil, err
	}
	defer sidecar.Close()
	fromHost, toGate := io.Pipe()
	fromGate, toHost := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		toHost.CloseWithError(sidecar.Proxy.Run(ctx, proxy.View{}, fromHost, toHost)) // the client reports the error
	}()
	defer func() { _ = toGate.Close(); <-served }()
	host := mcpclient.NewClient(transport.NewIO(fromGate, toGate, io.NopCloser(strings.NewReader(""))))
	if err := host.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "callgate-call", Version: Version}
	if _, err := host.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	if arguments == nil {
		if arguments, err = mainArgument(ctx, sidecar.Proxy, host, tool, text); err != nil {
			return nil, err
		}
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go sayWaiting(ctx, sidecar.Gate, c.Program())
	var call mcp.CallToolRequest
	call.Params.Name, call.Params.Arguments = tool, arguments
	result, err := host.CallTool(ctx, call)
	if err != nil && strings.Contains(err.Error(), "unknown tool") {
		err = meantTool(ctx, host, tool, err)
	}
	return result, err
}

// mainArgument returns the arguments of a call with the text as the tool's main argument.
func mainArgument(ctx context.Context, p *proxy.Proxy, host *mcpclient.Client, tool, text string) (jsontext.Value, error) {
	if _, err := host.ListTools(ctx, mcp.ListToolsRequest{}); err != nil { // waits for the servers
		return nil, err
	}
	_, offered, err := p.Standings("")
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(offered, func(s proxy.Standing) bool { return s.Tool.Qualified == tool })
	if i < 0 {
		return nil, meantTool(ctx, host, tool, fmt.Errorf("unknown tool: %s", tool))
	}
	return rulebook.Arguments(tool, offered[i].Tool, text)
}

// meantTool adds the name of the nearest tool to an error.
func meantTool(ctx context.Context, host *mcpclient.Client, tool string, err error) error {
	list, failed := host.ListTools(ctx, mcp.ListToolsRequest{})
	if failed != nil {
		return err
	}
	var names []string
	for i := range list.Tools {
		names = append(names, list.Tools[i].Name)
	}
	if near := spelling.Nearest(tool, names); near != "" {
		return fmt.Errorf("%w; did you mean %q?", err, near)
	}
	return fmt.Errorf("%w; callgate tools lists them", err)
}

// sayWaiting prints once that the call waits for a person, and with which commands to answer.
func sayWaiting(ctx context.Context, g *gate.Gate, program string) {
	for range periodic.Every(ctx, time.Second) {
		if len(g.Pending()) > 0 {
			fmt.Fprintf(os.Stderr, "The call waits for a person: run %[1]s approve in another terminal, or %[1]s open.\n", program)
			return
		}
	}
}
