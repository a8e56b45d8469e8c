package features

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// The argument that makes Main serve Tasks, and the name and the result of its tool.
const (
	TasksArg = "tasks"
	Deferred = "deferred"
	Done     = "done later"
)

// Tasks returns a server of the legacy era on mcp-go, which has the tasks of 2025-11-25; the official SDK has none. Its
// tool can be called as a task.
func Tasks() *server.MCPServer {
	s := server.NewMCPServer("tasks", "1", server.WithTaskCapabilities(true, true, true))
	tool := mcp.NewTool(Deferred, mcp.WithDescription("does it later"), mcp.WithTaskSupport(mcp.TaskSupportOptional))
	s.AddTool(tool, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(Done), nil
	})
	return s
}

// TasksHandler serves its own Tasks over Streamable HTTP, or over HTTP+SSE if old is set.
func TasksHandler(old bool) http.Handler {
	if old {
		return server.NewSSEServer(Tasks())
	}
	return server.NewStreamableHTTPServer(Tasks())
}
