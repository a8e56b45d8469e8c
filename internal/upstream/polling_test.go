package upstream

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gomcp "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server may end the stream of a call and expect to be asked for the rest later. A server of the official Go SDK that
// stores events numbers them, and is asked. One that does not stores no answer either, so the call ends with an error
// that says so.
func TestServerThatEndsTheStreamOfACall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store gomcp.EventStore
		want  string // part of the answer or the error
	}{
		"events are kept":     {gomcp.NewMemoryEventStore(nil), `"text":"late"`},
		"events are not kept": {nil, "the connection ended before the answer"},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int32
			s := gomcp.NewServer(&gomcp.Implementation{Name: "polled", Version: "1"}, nil)
			gomcp.AddTool(s, &gomcp.Tool{Name: "slow"}, func(_ context.Context, r *gomcp.CallToolRequest, _ struct{}) (*gomcp.CallToolResult, any, error) {
				ran.Add(1)
				r.Extra.CloseSSEStream(gomcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
				time.Sleep(300 * time.Millisecond) // while callgate comes back
				return &gomcp.CallToolResult{Content: []gomcp.Content{&gomcp.TextContent{Text: "late"}}}, nil, nil
			})
			web := httptest.NewServer(gomcp.NewStreamableHTTPHandler(func(*http.Request) *gomcp.Server { return s }, &gomcp.StreamableHTTPOptions{EventStore: c.store}))
			t.Cleanup(web.Close)
			t.Cleanup(web.CloseClientConnections)
			u := New(Config{Name: "polled", URL: web.URL, terms: Terms{Era: Legacy}}, Options{Logger: logger(t)})
			t.Cleanup(u.Close)
			u.Start(Hello{ProtocolVersion: "2025-11-25"}) // older revisions do not poll
			m, err := u.Request(short(t), "tools/call", []byte(`{"name":"slow","arguments":{}}`))
			got := string(m.Raw)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if n := ran.Load(); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}
