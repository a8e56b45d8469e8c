package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/spf13/cobra"

	"callgate/gate"
	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/jsonx"
	"callgate/proxy"
)

// Exit codes of call beside 0 and 1.
const (
	exitToolError exitCode = 3
	exitRefused   exitCode = 4
)

func newCallCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "call TOOL [ARGUMENTS|-]",
		Short: "Call one tool through the gate, from a shell",
		Long: `Call starts the configured servers, sends one call through the gate, and prints what the tool returns. ARGUMENTS is a
JSON object; with - it is read from standard input. If the rules ask, the call waits until you answer, on the page or in
another terminal.

The exit code is 0 when the tool ran, 3 when it reported an error, 4 when the gate refused the call, and 1 when the call
could not be made.`,
		Example: `  callgate call files_read_text_file '{"path":"README.md"}'
  jq -n '{title: "Broken link"}' | callgate call github_create_issue - --json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments, err := callArguments(args[1:], cmd.InOrStdin())
			if err != nil {
				return err
			}
			c, err := s.Load()
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("log-level") {
				c.Level = slog.LevelWarn
			}
			c.HandOver = -1 // there is nobody to repeat the call
			servers, err := c.ProxyServers()
			if err != nil {
				return err
			}
			result, err := callOnce(cmd.Context(), c, servers, args[0], arguments)
			if err != nil {
				return err
			}
			return printResult(cmd.OutOrStdout(), os.Stderr, result, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole result as JSON")
	return cmd
}

// callArguments reads the arguments object of a call: the given text, standard input for "-", {} for none.
func callArguments(given []string, stdin io.Reader) (jsontext.Value, error) {
	text := []byte("{}")
	switch {
	case len(given) > 0 && given[0] == "-":
		var err error
		if text, err = io.ReadAll(stdin); err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
	case len(given) > 0:
		text = []byte(given[0])
	}
	if err := jsonx.Check(text); err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	if value := jsontext.Value(text); value.Kind() != '{' {
		return nil, errors.New(`the arguments are not a JSON object: write '{"path":"README.md"}'`)
	}
	return text, nil
}

// callOnce is a host that makes one call and leaves.
func callOnce(ctx context.Context, c *config.Config, servers []proxy.Server, tool string, arguments jsontext.Value) (*mcp.CallToolResult, error) {
	sidecar, err := app.Start(c, servers)
	if err != nil {
		return nil, err
	}
	defer sidecar.Close()
	fromHost, toGate := io.Pipe()
	fromGate, toHost := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		toHost.CloseWithError(sidecar.Proxy.Run(ctx, proxy.View{}, fromHost, toHost)) // the client says why
	}()
	defer func() { _ = toGate.Close(); <-served }()
	host := mcpclient.NewClient(transport.NewIO(fromGate, toGate, io.NopCloser(strings.NewReader(""))))
	if err := host.Start(ctx); err != nil {
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ClientInfo = mcp.Implementation{Name: "callgate-call", Version: app.Version}
	if _, err := host.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go sayWaiting(ctx, sidecar.Gate)
	var call mcp.CallToolRequest
	call.Params.Name, call.Params.Arguments = tool, arguments
	return host.CallTool(ctx, call)
}

// sayWaiting says once that the call waits for a person.
func sayWaiting(ctx context.Context, g *gate.Gate) {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if len(g.Pending()) > 0 {
				fmt.Fprintln(os.Stderr, `The call waits for a person: run "callgate approve" in another terminal, or "callgate open".`)
				return
			}
		}
	}
}

// printResult prints the text of a result, or all of it as JSON, and says how the call ended.
func printResult(out, errs io.Writer, result *mcp.CallToolResult, asJSON bool) error {
	var text strings.Builder
	for _, content := range result.Content {
		if t, ok := content.(mcp.TextContent); ok {
			fmt.Fprintln(&text, t.Text)
		} else {
			kind, _ := json.Marshal(content)
			fmt.Fprintln(&text, string(kind))
		}
	}
	switch {
	case asJSON:
		if err := json.MarshalWrite(out, result, jsontext.Multiline(true)); err != nil {
			return err
		}
	case result.IsError:
		fmt.Fprint(errs, text.String())
	default:
		fmt.Fprint(out, text.String())
	}
	switch {
	case result.IsError && strings.HasPrefix(text.String(), "callgate"):
		return exitRefused
	case result.IsError:
		return exitToolError
	}
	return nil
}
