package upstream

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	gomcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/remote"
)

// limitedTo returns a server of the official Go SDK that speaks only one revision of MCP.
func limitedTo(version string) http.Handler {
	s := gomcp.NewServer(&gomcp.Implementation{Name: "limited", Version: "1"}, &gomcp.ServerOptions{SupportedProtocolVersions: []string{version}})
	gomcp.AddTool(s, &gomcp.Tool{Name: "do"}, func(context.Context, *gomcp.CallToolRequest, struct{}) (*gomcp.CallToolResult, any, error) {
		return &gomcp.CallToolResult{Content: []gomcp.Content{&gomcp.TextContent{Text: "done"}}}, nil, nil
	})
	return gomcp.NewStreamableHTTPHandler(func(*http.Request) *gomcp.Server { return s }, &gomcp.StreamableHTTPOptions{Stateless: version == modernVersion})
}

// Whatever is expected of a server, because of its host or an earlier run, it is met in the era that it speaks.
func TestServersOfOneEra(t *testing.T) {
	t.Parallel()
	for _, transport := range []remote.Transport{remote.Detect, remote.Streamable} {
		for _, host := range []Era{AnyEra, Legacy, Modern} {
			cache := t.TempDir()
			var now atomic.Pointer[http.Handler]
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load()).ServeHTTP(w, r) }))
			t.Cleanup(web.Close)
			t.Cleanup(web.CloseClientConnections)
			for _, version := range []string{modernVersion, "2025-11-25", modernVersion, "2025-03-26"} {
				server := limitedTo(version)
				now.Store(&server)
				u := New(Config{Name: "limited", URL: web.URL, terms: Terms{Transport: transport}}, Options{Logger: logger(t), CacheDir: cache})
				greeting := hello
				greeting.Era = host
				u.Start(greeting)
				if _, err := u.Ready(short(t)); err != nil {
					t.Errorf("host %q, server %s: %v", host, version, err)
				} else if list, err := u.Lists.Fresh(short(t), Tools); err != nil || keys(list) != "do" {
					t.Errorf("host %q, server %s: %s, %v", host, version, keys(list), err)
				}
				u.Close()
				if modern := u.era == Modern; modern != (version == modernVersion) {
					t.Errorf("host %q, server %s: met as %s", host, version, u.era)
				}
			}
		}
	}
}
