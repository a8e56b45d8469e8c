package own

import (
	"context"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"callgate/gate"
	"callgate/proxy"
)

// FindTools returns the tool that finds tools which a host is not shown. CallTool calls them. find is Proxy.FindTools.
func FindTools(find func(ctx context.Context, sessionID, query string, limit int) (proxy.Found, error)) Tool {
	return func(session *gate.Session) server.ServerTool {
		return server.ServerTool{
			Tool: mcp.NewTool("find_tools",
				mcp.WithDescription("Find tools by what they do. Many tools are not in your list: describe what you want to do, and this returns the definitions of those that fit best. Call one of them with "+proxy.CallTool+"."),
				mcp.WithString("query", mcp.Required(), mcp.Description("What the tool should do, or a part of its name")),
				mcp.WithNumber("limit", mcp.Description("How many tools, 1 to 20; default 5"), mcp.Min(1), mcp.Max(20)),
				mcp.WithReadOnlyHintAnnotation(true), mcp.WithOpenWorldHintAnnotation(false), mcp.WithIdempotentHintAnnotation(true), mcp.WithDestructiveHintAnnotation(false),
			),
			Handler: func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				query, err := r.RequireString("query")
				if err != nil {
					return mcp.NewToolResultError(err.Error()), nil
				}
				found, err := find(ctx, session.ID(), query, r.GetInt("limit", 0))
				if err != nil {
					return nil, err
				}
				return mcp.NewToolResultJSON(found)
			},
		}
	}
}

// CallTool is only listed. The proxy treats its calls as calls of the tools that they name.
func CallTool(*gate.Session) server.ServerTool {
	return server.ServerTool{
		Tool: mcp.NewTool("call_tool",
			mcp.WithDescription("Call a tool that "+proxy.FindTool+" returned. The call is judged, approved and recorded as a call of that tool."),
			mcp.WithString("name", mcp.Required(), mcp.Description("The tool's name, as "+proxy.FindTool+" returned it")),
			mcp.WithObject("arguments", mcp.Description("The tool's arguments, as its inputSchema describes them"), mcp.AdditionalProperties(true)),
		),
		Handler: func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("the call did not come through the gate")
		},
	}
}
