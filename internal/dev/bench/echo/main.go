// Echo is the benchmark's server: it answers with the text that it was sent, over stdio or HTTP.
//
//	echo [-http [-tools N]]
//
// With -http it prints its address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	overHTTP := flag.Bool("http", false, "serve Streamable HTTP on a free port of this machine")
	flag.IntVar(&tools, "tools", 1, "have `N` tools over HTTP")
	flag.Parse()
	var err error
	if *overHTTP {
		err = serveHTTP(os.Stdout)
	} else {
		err = serveStdio()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "echo:", err)
		os.Exit(1)
	}
}

func serveStdio() error {
	s := server.NewMCPServer("echo", "1.0.0", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("echo",
		mcp.WithDescription("Answer with the same text."),
		mcp.WithString("text", mcp.Required(), mcp.Description("What to answer.")),
	), func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text, err := request.RequireString("text")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(text), nil
	})
	s.AddTool(mcp.NewTool("stamp",
		mcp.WithDescription("Answer with the time of arrival, in nanoseconds since 1970, and the same text."),
		mcp.WithString("text", mcp.Required(), mcp.Description("What to answer.")),
	), func(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		now := time.Now().UnixNano()
		text, err := request.RequireString("text")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return mcp.NewToolResultText(fmt.Sprintf("%d %s", now, text)), nil
	})
	if err := server.NewStdioServer(s).Listen(context.Background(), os.Stdin, os.Stdout); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
