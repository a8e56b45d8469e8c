package features

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// What the server of tasks is asked for by, and what its one tool is called and says.
const (
	TasksArg = "tasks"
	Deferred = "deferred"
	Done     = "done later"
)

// Tasks is a server of the legacy era on mcp-go, which has tasks of 2025-11-25; the official SDK has none. Its tool
// can be called as a task.
func Tasks() *server.MCPServer {
	s := server.NewMCPServer("tasks", "1", server.WithTaskCapabilities(true, true, true))
	tool := mcp.NewTool(Deferred, mcp.WithDescription("does it later"), mcp.WithTaskSupport(mcp.TaskSupportOptional))
	s.AddTool(tool, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(Done), nil
	})
	return s
}

// TasksHandler serves a server of its own over Streamable HTTP, or over HTTP+SSE where old is set.
func TasksHandler(old bool) http.Handler {
	if old {
		return server.NewSSEServer(Tasks())
	}
	return server.NewStreamableHTTPServer(Tasks())
}
