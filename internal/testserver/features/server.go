// Package features is an MCP server with one tool for each feature of the protocol, on the official Go SDK and mcp-go.
// Tests use it for every era and transport.
//
//nolint:staticcheck // Logging, sampling and roots are deprecated and still to be relayed.
package features

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/mark3labs/mcp-go/server"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The newest revision of each era.
const (
	Legacy = "2025-11-25"
	Modern = "2026-07-28"
)

// What the server has besides its tools.
const (
	Watched   = "features://watched" // the resource that the tool touch changes
	Prompt    = "greet"              // its argument "mood" is completed with Completed
	Completed = "merry"
	Page      = "https://features.example/sign" // where the tool ask_url sends people
	Size      = 2 << 20                         // bytes that the tool large returns
	Failure   = -32055                          // the code of the tool fail, which has the data {"why":"asked to"}
)

// pace is the pause after each step of the tool progress. The TypeScript SDK drops progress that arrives in one piece
// with the result.
const pace = 100 * time.Millisecond

// Server returns a server that speaks only one era.
func Server(era string) *mcp.Server {
	versions := []string{Modern}
	if era == Legacy {
		versions = []string{Legacy, "2025-06-18", "2025-03-26", "2024-11-05"}
	}
	none := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	s := mcp.NewServer(&mcp.Implementation{Name: "features", Version: "1"}, &mcp.ServerOptions{
		SupportedProtocolVersions: versions,
		SubscribeHandler:          none,
		UnsubscribeHandler:        func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			if r.Params.Ref == nil || r.Params.Ref.Name != Prompt {
				return nil, fmt.Errorf("there is no prompt %+v", r.Params.Ref)
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{Completed}}}, nil
		},
	})
	if era == Modern { // it has never heard of a handshake
		s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
				if method == "initialize" {
					return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: initialize"}
				}
				return next(ctx, method, r)
			}
		})
	}
	s.AddPrompt(&mcp.Prompt{Name: Prompt, Arguments: []*mcp.PromptArgument{{Name: "mood"}}}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Greet me."}}}}, nil
	})
	s.AddResource(&mcp.Resource{Name: "watched", URI: Watched}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: Watched, Text: "watched"}}}, nil
	})
	for name, handler := range tools(s) {
		s.AddTool(&mcp.Tool{Name: name, Description: "has to do with " + name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
	}
	return s
}

// tools returns the tools of s by name.
func tools(s *mcp.Server) map[string]mcp.ToolHandler {
	var stopped sync.Map // the keys of cancelled calls of wait
	key := func(r *mcp.CallToolRequest) string { return string(r.Params.Arguments) }
	return map[string]mcp.ToolHandler{
		"echo": func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(string(r.Params.Arguments)), nil
		},
		"era": func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			version, _ := r.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
			if version == "" {
				version = r.Session.InitializeParams().ProtocolVersion
			}
			return text(version), nil
		},
		"fail": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, &jsonrpc.Error{Code: Failure, Message: "it fails", Data: json.RawMessage(`{"why":"asked to"}`)}
		},
		"large": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("0123456789abcdef", Size/16)), nil
		},
		"progress": func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for i := range 3 {
				if err := progress(ctx, r, float64(i+1)); err != nil {
					return nil, err
				}
				time.Sleep(pace)
			}
			return text("done"), nil
		},
		"wait": func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r.Params.GetProgressToken() != nil {
				if err := progress(ctx, r, 1); err != nil { // tells the host that it runs
					return nil, err
				}
			}
			select {
			case <-ctx.Done():
				stopped.Store(key(r), true)
				return nil, ctx.Err()
			case <-time.After(2 * time.Minute):
				return text("nobody cancelled it"), nil
			}
		},
		"stopped": func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			_, yes := stopped.Load(key(r))
			return text(fmt.Sprint(yes)), nil
		},
		"log": func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("logged"), r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "features", Data: "a line"})
		},
		"change": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.AddTool(&mcp.Tool{Name: "added", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return text("added"), nil
			})
			return text("changed"), nil
		},
		"touch": func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text("touched"), s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: Watched})
		},
		"ask_form": asking(&mcp.ElicitParams{Mode: "form", Message: "Who?", RequestedSchema: &jsonschema.Schema{
			Type: "object", Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}, Required: []string{"name"},
		}}),
		"ask_url":      asking(&mcp.ElicitParams{Mode: "url", Message: "Sign there", URL: Page, ElicitationID: "sign-1"}),
		"ask_roots":    asking(&mcp.ListRootsParams{}),
		"ask_sampling": asking(&mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "Say it."}}}}),
	}
}

// asking returns a tool that asks the host something in the middle of its call and returns the answer. A legacy server
// asks with a request, a modern one with input_required: for this handler, the SDK does either.
func asking(question mcp.InputRequest) mcp.ToolHandler {
	return func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["q"]
		if !ok {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"q": question}}, nil
		}
		said, err := json.Marshal(answer)
		return text(string(said)), err
	}
}

func progress(ctx context.Context, r *mcp.CallToolRequest, value float64) error {
	token := r.Params.GetProgressToken()
	if token == nil {
		return errors.New("the call has no progress token")
	}
	return r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: value, Total: 3, Message: "at work"})
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// Handler serves its own Server over Streamable HTTP, or over HTTP+SSE if old is set.
func Handler(era string, old bool) http.Handler {
	s := Server(era)
	get := func(*http.Request) *mcp.Server { return s }
	if old {
		return mcp.NewSSEHandler(get, nil)
	}
	return mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: era == Modern, PropagateRequestCancellation: true})
}

// Main serves over standard input and output. The first argument is the era, or names another server.
func Main() {
	var err error
	switch arg := os.Args[1]; arg {
	case TasksArg:
		err = server.ServeStdio(Tasks())
	case ExtensionArg:
		err = extensionMain(os.Args[2:])
	case MCPGoArg:
		err = server.ServeStdio(MCPGo())
	default:
		err = Server(arg).Run(context.Background(), &mcp.StdioTransport{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
