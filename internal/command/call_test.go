package command

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// The structured content is shown if a result has no texts.
func TestCallShowsStructuredContent(t *testing.T) {
	for want, result := range map[string]*mcp.CallToolResult{
		"{\n  \"a\": 1,\n  \"b\": 2\n}\n": {StructuredContent: map[string]any{"b": 2, "a": 1}},
		"three\n":                         {Content: []mcp.Content{mcp.NewTextContent("three")}, StructuredContent: map[string]any{"n": 3}},
		"":                                {},
	} {
		var out, errs strings.Builder
		if err := printResult(&out, &errs, result, false); err != nil || out.String() != want || errs.Len() > 0 {
			t.Errorf("%q, %q, %v; want %q", out.String(), errs.String(), err, want)
		}
	}
}
