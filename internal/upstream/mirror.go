package upstream

import (
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// mirror returns the headers in which a call repeats the arguments that the tool's schema names. In the modern era over
// HTTP, servers require them.
func (l *Lists) mirror(call rpc.Message) map[string]string {
	wanted, ok := jsonx.String(jsonx.At(call.Params, "name"))
	if !ok {
		return nil
	}
	list, _ := l.Known(Tools)
	for _, item := range list.Items {
		if item.Key == wanted {
			if tool := headerTool(item.Raw); tool != nil {
				return mcp.GenerateParamHeaders(tool, call.Params)
			}
		}
	}
	return nil
}

// dropUncallable removes tools whose arguments would have to be repeated in impossible headers. In the modern era over
// HTTP, a server refuses their calls.
func (in *incarnation) dropUncallable(list *List) {
	if in.modern == nil || in.u.cfg.URL == "" {
		return
	}
	list.Items = slices.DeleteFunc(list.Items, func(item Item) bool {
		tool := headerTool(item.Raw)
		if tool == nil {
			return false
		}
		err := mcp.ValidateParamHeaderAnnotations(tool)
		if err != nil {
			in.u.log.Warn("definition of the server skipped", "list", Tools.String(), "definition", excerpt(item.Raw), "error", err)
		}
		return err != nil
	})
}

// headerTool returns the part of a definition that its headers need, or nil if it has no schema.
func headerTool(definition []byte) *mcp.Tool {
	schema := jsonx.At(definition, "inputSchema")
	if schema == nil {
		return nil
	}
	return &mcp.Tool{RawInputSchema: schema}
}
