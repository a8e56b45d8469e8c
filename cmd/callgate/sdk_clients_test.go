package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"callgate/internal/testserver/features"
)

// seen is what a client saw of the server with one tool for each feature.
type seen struct {
	Listed   bool           `json:"listed"`
	Echoed   string         `json:"echoed"`
	Failed   map[string]any `json:"failed"` // code and data of the error
	Worked   string         `json:"worked"`
	Progress []float64      `json:"progress"`
	Elicited map[string]any `json:"elicited"`
	Large    int            `json:"large"`
}

// clientSees is what every client has to see.
var clientSees = seen{
	Listed: true, Echoed: `{"text":"é"}`, Failed: map[string]any{"code": float64(features.Failure), "data": map[string]any{"why": "asked to"}},
	Worked: "done", Progress: []float64{1, 2, 3}, Elicited: map[string]any{"name": answeredName}, Large: features.Size,
}

// doors are the transports by which a client reaches callgate, with a server of its own behind each.
func (g *gates) doors(upstream end) (doors map[string][]string) {
	data := g.t.TempDir()
	write(g.t, filepath.Join(data, "workers", "default", "permissions.jsonc"), allowAll)
	config := filepath.Join(data, "callgate.yaml")
	write(g.t, config, "servers:\n  - "+g.entry("s", upstream)+"\n")
	g.served = serveConfigured(g.t, "servers:\n  - "+g.entry("http", upstream)+"\n  - "+g.entry("sse", upstream)+"\n")
	return map[string][]string{ // kind → prefix of names, and where callgate is
		"stdio": {"s_", filepath.Join(g.programs, "callgate"), "run", "--config", config, "--data-dir", data, "--listen", "off"},
		"http":  {"", g.served.url + "/http"},
		"sse":   {"", strings.TrimSuffix(g.served.url, "/mcp") + "/sse/sse"},
	}
}

// TestClientMCPGo is a host on mcp-go, which speaks 2026-07-28 where it can, on all transports. The client of the
// official Go SDK is in TestMatrix.
func TestClientMCPGo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	t.Parallel()
	g := newGates(t)
	for kind, door := range g.doors(end{features.Legacy, overStdio}) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			headers := map[string]string{"Authorization": "Bearer " + g.served.token}
			var way transport.Interface
			var err error
			switch kind {
			case "stdio":
				way = transport.NewStdio(door[1], os.Environ(), door[2:]...)
			case "http":
				way, err = transport.NewStreamableHTTP(door[1], transport.WithHTTPHeaders(headers))
			case "sse":
				way, err = transport.NewSSE(door[1], transport.WithHeaders(headers))
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			want := clientSees
			want.Failed = nil // mcp-go's client keeps neither code nor data
			if _, ok := way.(transport.BidirectionalInterface); !ok {
				want.Elicited = nil // over HTTP+SSE it hears no requests
			}
			got, version, err := seeMCPGo(ctx, way, door[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in %s (-want +got):\n%s", version, diff)
			}
		})
	}
}

type answering struct{}

func (answering) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": answeredName}}}, nil
}

// seeMCPGo does one of everything as a host on mcp-go.
func seeMCPGo(ctx context.Context, way transport.Interface, prefix string) (s seen, version string, err error) {
	c := mcpgo.NewClient(way, mcpgo.WithElicitationHandler(answering{}))
	defer c.Close()
	var mu sync.Mutex
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if value, ok := n.Params.AdditionalFields["progress"].(float64); ok && n.Method == "notifications/progress" {
			mu.Lock()
			defer mu.Unlock()
			s.Progress = append(s.Progress, value)
		}
	})
	if err := c.Start(ctx); err != nil {
		return s, "", err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1"}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	greeted, err := c.Initialize(ctx, hello)
	if err != nil {
		return s, "", err
	}
	tools, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return s, "", err
	}
	s.Listed = slices.ContainsFunc(tools.Tools, func(t mcp.Tool) bool { return t.Name == prefix+"echo" })
	call := func(name string) (string, error) {
		r := mcp.CallToolRequest{}
		r.Params.Name, r.Params.Arguments = prefix+name, map[string]any{"text": "é"}
		r.Params.Meta = &mcp.Meta{ProgressToken: name}
		result, err := c.CallTool(ctx, r)
		if err != nil {
			return "", err
		}
		said, ok := result.Content[0].(mcp.TextContent)
		if !ok {
			return "", fmt.Errorf("%s was answered with %+v", name, result)
		}
		return said.Text, nil
	}
	if _, err := call("fail"); err == nil || !strings.Contains(err.Error(), "it fails") {
		return s, "", fmt.Errorf("the error arrived as %v", err)
	}
	var large string
	for name, to := range map[string]*string{"echo": &s.Echoed, "progress": &s.Worked, "large": &large} {
		if *to, err = call(name); err != nil {
			return s, "", fmt.Errorf("%s: %w", name, err)
		}
	}
	s.Large = len(large)
	if _, ok := way.(transport.BidirectionalInterface); ok {
		elicited, err := call("ask_form")
		if err != nil {
			return s, "", fmt.Errorf("ask_form: %w", err)
		}
		var answer struct{ Content map[string]any }
		if err := json.Unmarshal([]byte(elicited), &answer); err != nil {
			return s, "", err
		}
		s.Elicited = answer.Content
	}
	for range 100 { // its client hands notifications to goroutines
		mu.Lock()
		n := len(s.Progress)
		mu.Unlock()
		if n >= 3 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(s.Progress)
	return s, greeted.ProtocolVersion, nil
}

// TestClientTypeScript is a host on the TypeScript SDK on all transports.
func TestClientTypeScript(t *testing.T) {
	t.Parallel()
	node := npmServer(t, "server-everything")[0]
	script, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm", "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	g := newGates(t)
	for kind, door := range g.doors(end{features.Modern, overHTTP}) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, append([]string{script, kind}, door...)...)
			cmd.Env = append(os.Environ(), "CALLGATE_TEST_TOKEN="+g.served.token)
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, &said)
			}
			var got seen
			if err := json.Unmarshal(out, &got); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if diff := cmp.Diff(clientSees, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
