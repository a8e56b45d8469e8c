package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"callgate/internal/jsonx"
	"callgate/internal/remote"
	"callgate/internal/rpc"
	"callgate/internal/testserver/unraced"
	"callgate/internal/testserver/waits"
)

// realServer returns an mcp-go server with a tool for everything that must come through.
func realServer(cancelled chan<- struct{}) *mcpserver.MCPServer {
	s := mcpserver.NewMCPServer("real", "1", mcpserver.WithToolCapabilities(true), mcpserver.WithResourceCapabilities(true, true),
		mcpserver.WithElicitation(), mcpserver.WithLogging(), mcpserver.WithInstructions("Be careful."))
	s.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText(r.GetString("text", "")), nil
	})
	s.AddTool(mcp.NewTool("progress"), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 3 {
			err := s.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": r.Params.Meta.ProgressToken, "progress": i})
			if err != nil {
				return nil, err
			}
			time.Sleep(30 * time.Millisecond) // mcp-go loses what comes close to the answer
		}
		return mcp.NewToolResultText("done"), nil
	})
	s.AddTool(mcp.NewTool("wait"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-ctx.Done()
		cancelled <- struct{}{}
		return nil, ctx.Err()
	})
	s.AddTool(mcp.NewTool("confirm"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := r.Params.InputResponses["sure"]; ok {
			text, err := json.Marshal(answer)
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultText(fmt.Sprintf("answered %s with state %q", text, r.Params.RequestState)), nil
		}
		return mcpserver.NewInputRequestBuilder(`s"t`).Elicit("sure", mcp.ElicitationParams{
			Message: "Sure?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"type": "string"}}},
		}).ToolResult(), nil
	})
	return s
}

// reached is a server at an address.
type reached struct {
	name      string
	transport remote.Transport
	only      Era // the Era in Config
	era       Era // the era that is spoken
	serve     func(*mcpserver.MCPServer) http.Handler
}

var addresses = []reached{
	{"streamable, legacy", remote.Detect, Legacy, Legacy, func(s *mcpserver.MCPServer) http.Handler {
		return mcpserver.NewStreamableHTTPServer(s, mcpserver.WithStateful(true))
	}},
	{"streamable, modern", remote.Detect, AnyEra, Modern, func(s *mcpserver.MCPServer) http.Handler {
		return mcpserver.NewStreamableHTTPServer(s, mcpserver.WithStateLess(true))
	}},
	{"sse", remote.SSE, AnyEra, Legacy, func(s *mcpserver.MCPServer) http.Handler {
		return mcpserver.NewSSEServer(s, mcpserver.WithSSEEndpoint("/"))
	}},
	{"sse, detected", remote.Detect, AnyEra, Legacy, func(s *mcpserver.MCPServer) http.Handler {
		return mcpserver.NewSSEServer(s, mcpserver.WithSSEEndpoint("/"))
	}},
}

// reach serves s and returns an upstream for it.
func (a reached) reach(t *testing.T, h *host, s *mcpserver.MCPServer) *Upstream {
	t.Helper()
	web := httptest.NewServer(a.serve(s))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	u := New(Config{Name: "real", URL: web.URL + "/", terms: Terms{Transport: a.transport, Era: a.only}}, Options{Events: h.events(), Logger: logger(t)})
	t.Cleanup(u.Close)
	u.Start(Hello{ProtocolVersion: "2025-11-25", Capabilities: []byte(`{"elicitation":{}}`), ClientInfo: hello.ClientInfo})
	return u
}

func TestRealServersBehindAddresses(t *testing.T) {
	t.Parallel()
	for _, a := range addresses {
		t.Run(a.name, func(t *testing.T) {
			cancelled := make(chan struct{}, 1)
			h, s := newHost(t), realServer(cancelled)
			u := a.reach(t, h, s)
			info, err := u.Ready(short(t))
			if err != nil {
				t.Fatal(err)
			}
			if modern := info.ProtocolVersion == modernVersion; modern != (a.era == Modern) {
				t.Errorf("it speaks %s", info.ProtocolVersion)
			}
			if !strings.Contains(string(info.Instructions), "Be careful.") {
				t.Errorf("instructions %s", info.Instructions)
			}
			if list, err := u.Lists.Fresh(short(t), Tools); err != nil || keys(list) != "confirm,echo,progress,wait" {
				t.Errorf("tools %s, %v", keys(list), err)
			}

			if got := call(t, u, "tools/call", `{"name":"echo","arguments":{"text":"ä\n1"}}`); !strings.Contains(got, `"text":"ä\n1"`) {
				t.Errorf("echo %s", got)
			}
			call(t, u, "tools/call", `{"name":"progress","_meta":{"progressToken":"p1"}}`)
			for i := range 3 {
				if all := strings.Join(h.all(), "\n"); a.era == Modern && !strings.Contains(all, fmt.Sprintf(`"progress":%d`, i)) {
					t.Errorf("progress %d did not come before the answer: %s", i, all)
				}
				h.wait("notification notifications/progress") // mcp-go's legacy servers send some of it late
			}

			m, err := u.Request(short(t), "tools/call", []byte(`{"name":"nothing"}`))
			if err != nil || !strings.Contains(string(m.Error), `"code":-32602`) {
				t.Errorf("unknown tool: %s, %v", m.Raw, err)
			}

			ctx, cancel := context.WithCancel(short(t))
			time.AfterFunc(100*time.Millisecond, cancel)
			if _, err := u.Request(ctx, "tools/call", []byte(`{"name":"wait"}`)); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled call: %v", err)
			}
			select {
			case <-cancelled:
			case <-time.After(waits.Limit):
				t.Error("the cancellation did not reach the server")
			}

			h.wait("list tools")
			time.Sleep(300 * time.Millisecond) // the announcements' stream opens in parallel
			s.AddTool(mcp.NewTool("zz"), nil)
			if line := h.wait("list tools"); line != "list tools confirm,echo,progress,wait,zz" {
				t.Error(line)
			}
		})
	}
}

func TestQuestionsInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	for _, a := range addresses {
		if strings.HasPrefix(a.name, "sse") {
			continue // mcp-go's servers do not ask over SSE
		}
		t.Run(a.name, func(t *testing.T) {
			h := newHost(t)
			u := a.reach(t, h, realServer(nil))
			if _, err := u.Ready(short(t)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond) // mcp-go asks only over the announcements' stream
			go func() {
				line := h.wait("request")
				id := strings.Fields(line)[1]
				u.Reply(rpc.Result([]byte(id), []byte(`{"action":"accept","content":{"x":"yes"}}`)))
			}()
			got := call(t, u, "tools/call", `{"name":"confirm"}`)
			if !strings.Contains(got, `yes`) || a.era == Modern && !strings.Contains(got, `s\\\"t`) {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestModernRequestsSayWhoAsks(t *testing.T) {
	t.Parallel()
	c := newModern(Hello{Capabilities: []byte(`{"roots":{}}`), ClientInfo: []byte(`{"name":"h","version":"1"}`)})
	const own = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}`
	for params, want := range map[string]string{
		``:                               `{"_meta":{` + own + `}}`,
		`{}`:                             `{"_meta":{` + own + `}}`,
		`{"name":"x"}`:                   `{"_meta":{` + own + `},"name":"x"}`,
		`{"_meta":null,"name":"x"}`:      `{"_meta":{` + own + `},"name":"x"}`,
		`{"name":"x","_meta":[{"a":1}]}`: `{"name":"x","_meta":{` + own + `}}`,
		`{"name":"x","_meta":{"progressToken":1e2}}`: `{"name":"x","_meta":{` + own + `,"progressToken":1e2}}`,
		`{"_meta":{"io.modelcontextprotocol/logLevel":"debug","io.modelcontextprotocol/protocolVersion":"1","a":1},"b":2}`: `{"_meta":{` + own + `,"a":1},"b":2}`,
		`{"_meta":{"io.modelcontextprotocol\/protocolVersion":"9"}}`:                                                       `{"_meta":{` + own + `}}`,
	} {
		var raw []byte
		if params != "" {
			raw = []byte(params)
		}
		got := c.describe(raw)
		if string(got) != want {
			t.Errorf("%s\n got %s\nwant %s", params, got, want)
		}
		if err := jsonx.Check(got); err != nil {
			t.Errorf("%s: %v", got, err)
		}
	}
}

func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(nil)
	web.Close()
	u := open(t, Config{Name: "gone", URL: web.URL}, Options{})
	_, err := u.Ready(short(t))
	var down *DownError
	if !errors.As(err, &down) || !strings.Contains(err.Error(), "cannot be reached") {
		t.Fatal(err)
	}
}

// In the modern era over HTTP, headers repeat the arguments that the schema names, and the server compares them.
func TestArgumentsInHeaders(t *testing.T) {
	t.Parallel()
	s := mcpserver.NewMCPServer("real", "1", mcpserver.WithToolCapabilities(true))
	s.AddTool(mcp.NewToolWithRawSchema("at", "", []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)),
		func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("in " + r.Header.Get("Mcp-Param-Region")), nil
		})
	modern := addresses[1]
	u := modern.reach(t, newHost(t), s)
	if _, err := u.Lists.Fresh(short(t), Tools); err != nil {
		t.Fatal(err)
	}
	if got := call(t, u, "tools/call", `{"name":"at","arguments":{"region":"eu"}}`); !strings.Contains(got, "in eu") {
		t.Error(got)
	}
}

func TestToolsWithImpossibleHeadersAreDropped(t *testing.T) {
	t.Parallel()
	list := List{Items: []Item{
		{Key: "good", Raw: []byte(`{"name":"good","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}`)},
		{Key: "plain", Raw: []byte(`{"name":"plain"}`)},
		{Key: "bad", Raw: []byte(`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}}`)},
		{Key: "worse", Raw: []byte(`{"name":"worse","inputSchema":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A b\r\nX: 1"}}}}`)},
	}}
	for want, era := range map[string]*modern{"good,plain,bad,worse": nil, "good,plain": newModern(hello)} {
		in := &incarnation{u: New(Config{URL: "http://x"}, Options{}), modern: era}
		got := List{Items: append([]Item(nil), list.Items...)}
		if in.dropUncallable(&got); keys(got) != want {
			t.Errorf("%s, want %s", keys(got), want)
		}
	}
}

// 64 MiB come through if the configuration allows it, as one body and as one event.
func TestLargeResults(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("moves 128 MiB")
	}
	if unraced.Elsewhere(t) {
		return
	}
	const size = 64 << 20
	text := strings.Repeat("x", size)
	for _, stream := range []bool{false, true} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			m, parseErr := rpc.Parse(body)
			if err != nil || parseErr != nil || m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			result := `{"protocolVersion":"2025-11-25","capabilities":{}}`
			if m.Method == "tools/call" {
				result = `{"content":[{"type":"text","text":"` + text + `"}]}`
			}
			answer := rpc.Result(m.ID, []byte(result))
			if stream {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: %s\n\n", answer)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(answer)
		}))
		for limit, ok := range map[int]bool{0: false, 65 << 20: true} {
			u := open(t, Config{Name: "large", URL: web.URL, terms: Terms{Era: Legacy}, MaxMessage: limit}, Options{})
			m, err := u.Request(short(t), "tools/call", []byte(`{"name":"x"}`))
			if ok != (err == nil) || ok && len(m.Result) < size || !ok && !strings.Contains(err.Error(), "too long") {
				t.Errorf("stream %v, limit %d: %d bytes, %v", stream, limit, len(m.Result), err)
			}
			u.Close()
		}
		web.Close()
	}
}
