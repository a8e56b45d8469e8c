package features

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// MCPGoArg makes Main serve MCPGo.
const MCPGoArg = "mcp-go"

// MCPGo returns a server on mcp-go, which speaks every revision. Its tools echo, fail, large, progress and ask_form do
// what those of Server do, except that mcp-go does not let a tool choose an error code.
func MCPGo() *server.MCPServer {
	s := server.NewMCPServer("features", "1", server.WithToolCapabilities(true), server.WithElicitation())
	for name, handler := range map[string]server.ToolHandlerFunc{
		"echo": func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			said, err := json.Marshal(r.GetArguments())
			return mcp.NewToolResultText(string(said)), err
		},
		"fail": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("it fails")
		},
		"large": func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(strings.Repeat("0123456789abcdef", Size/16)), nil
		},
		"progress": func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r.Params.Meta == nil || r.Params.Meta.ProgressToken == nil {
				return nil, errors.New("the call has no progress token")
			}
			for i := range 3 {
				if err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": i + 1, "total": 3}); err != nil {
					return nil, err
				}
				time.Sleep(pace) // mcp-go loses progress that comes close before a result
			}
			return mcp.NewToolResultText("done"), nil
		},
		"ask_form": func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer := server.ElicitationResponse(r.Params.InputResponses, "q"); answer != nil {
				said, err := json.Marshal(answer)
				return mcp.NewToolResultText(string(said)), err
			}
			return server.NewInputRequestBuilder("").Elicit("q", mcp.ElicitationParams{
				Mode: mcp.ElicitationModeForm, Message: "Who?",
				RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}},
			}).ToolResult(), nil
		},
	} {
		s.AddTool(mcp.NewToolWithRawSchema(name, "has to do with "+name, json.RawMessage(`{"type":"object"}`)), handler)
	}
	return s
}

// MCPGoHandler serves its own MCPGo over Streamable HTTP, or over HTTP+SSE at /sse if old is set.
func MCPGoHandler(old bool) http.Handler {
	if old {
		return server.NewSSEServer(MCPGo())
	}
	return server.NewStreamableHTTPServer(MCPGo(), server.WithStateful(true))
}
