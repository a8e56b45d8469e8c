//nolint:staticcheck // Logging, sampling and roots are deprecated and still to be relayed.
package command

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/testserver/features"
)

// end is one side of a connection in the matrix: its era and its transport.
type end struct{ era, transport string }

// Transports.
const (
	overStdio = "stdio"
	overHTTP  = "Streamable HTTP"
	overSSE   = "HTTP+SSE"
)

// ends lists all sides. HTTP+SSE is older than the modern era, which does not have it.
var ends = []end{
	{features.Legacy, overStdio}, {features.Legacy, overHTTP}, {features.Legacy, overSSE},
	{features.Modern, overStdio}, {features.Modern, overHTTP},
}

func (e end) String() string { return e.era + " over " + e.transport }

// matrixHost is a host on the official Go SDK that remembers what it was told.
type matrixHost struct {
	session *sdk.ClientSession
	prefix  string // of the names that it sees

	mu       sync.Mutex
	progress map[any][]float64 // by token
	logged   []any
	relisted int
	updated  []string
	asked    []*sdk.ElicitParams
	changed  chan struct{}
}

// What the host answers when a server asks.
const (
	answeredName   = "Ada"
	answeredSample = "sampled"
	answeredRoot   = "file:///srv/project"
)

// connectHost connects a host of that era over the transport.
func connectHost(ctx context.Context, era, prefix string, transport sdk.Transport) (*matrixHost, error) {
	h := &matrixHost{prefix: prefix, progress: map[any][]float64{}, changed: make(chan struct{})}
	client := sdk.NewClient(&sdk.Implementation{Name: "matrix", Version: "1"}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{
			RootsV2:     &sdk.RootCapabilities{ListChanged: true},
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			h.note(func() { h.asked = append(h.asked, r.Params) })
			if r.Params.Mode == "url" {
				return &sdk.ElicitResult{Action: "accept"}, nil
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"name": answeredName}}, nil
		},
		CreateMessageHandler: func(context.Context, *sdk.CreateMessageRequest) (*sdk.CreateMessageResult, error) {
			return &sdk.CreateMessageResult{Role: "assistant", Model: "none", Content: &sdk.TextContent{Text: answeredSample}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			h.note(func() {
				h.progress[r.Params.ProgressToken] = append(h.progress[r.Params.ProgressToken], r.Params.Progress)
			})
		},
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			h.note(func() { h.logged = append(h.logged, r.Params.Data) })
		},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { h.note(func() { h.relisted++ }) },
		ResourceUpdatedHandler: func(_ context.Context, r *sdk.ResourceUpdatedNotificationRequest) {
			h.note(func() { h.updated = append(h.updated, r.Params.URI) })
		},
	})
	client.AddRoots(&sdk.Root{URI: answeredRoot, Name: "project"})
	var err error
	if h.session, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: era}); err != nil {
		return nil, err
	}
	if got := h.session.InitializeResult().ProtocolVersion; got != era {
		return nil, fmt.Errorf("the host speaks %s instead of %s", got, era)
	}
	return h, nil
}

// note changes what is remembered, and wakes those who wait for it.
func (h *matrixHost) note(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
	close(h.changed)
	h.changed = make(chan struct{})
}

// until waits until found returns true. found is called under the lock.
func (h *matrixHost) until(ctx context.Context, what string, found func() bool) error {
	for {
		h.mu.Lock()
		ok, changed := found(), h.changed
		h.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("no %s: %w", what, ctx.Err())
		}
	}
}

// call calls a tool and returns its text.
func (h *matrixHost) call(ctx context.Context, tool string, arguments map[string]any, meta sdk.Meta) (string, error) {
	result, err := h.session.CallTool(ctx, &sdk.CallToolParams{Name: h.prefix + tool, Arguments: arguments, Meta: meta})
	if err != nil {
		return "", err
	}
	if len(result.Content) != 1 || result.IsError {
		return "", fmt.Errorf("%s was answered with %+v", tool, result)
	}
	said, ok := result.Content[0].(*sdk.TextContent)
	if !ok {
		return "", fmt.Errorf("%s was answered with %T", tool, result.Content[0])
	}
	return said.Text, nil
}

// bearer adds a token to requests, and a session name for revisions without sessions.
type bearer struct{ token, session string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	r.Header.Set("Callgate-Session", b.session)
	return http.DefaultTransport.RoundTrip(r)
}

// gates holds the running callgates of the matrix.
type gates struct {
	t        *testing.T
	served   *served
	programs string // folder with callgate and features
}

// newGates prepares the programs, but starts none.
func newGates(t *testing.T) *gates {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g := &gates{t: t, programs: t.TempDir()}
	// The test binary is features under this name.
	for name, program := range map[string]string{"callgate": callgateProgram(t), "features": executable} {
		if err := os.Symlink(program, filepath.Join(g.programs, name)); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// startGates starts callgate serve, with one server for each pair of a host over HTTP and a server.
func startGates(t *testing.T) *gates {
	t.Helper()
	g := newGates(t)
	g.served = serveConfigured(t, g.config())
	return g
}

// config returns the configuration of callgate serve.
func (g *gates) config() string {
	var config strings.Builder
	fmt.Fprintln(&config, "servers:")
	for h, host := range ends {
		for u, upstream := range ends {
			if host.transport != overStdio {
				fmt.Fprintf(&config, "  - %s\n", g.entry(pairName(h, u), upstream))
				fmt.Fprintf(&config, "  - %s\n", g.entry(tasksPrefix+pairName(h, u), upstream))
			}
		}
	}
	return config.String()
}

// pairName returns the name of a pair's server in the configuration.
func pairName(host, upstream int) string { return fmt.Sprintf("h%du%d", host, upstream) }

// tasksPrefix begins the names of the servers of tasks.
const tasksPrefix = "tasks-"

// entry returns the configuration of a separate server.
func (g *gates) entry(name string, upstream end) string {
	arg, handler, path, era := upstream.era, features.Handler, "", "auto"
	switch tasks := strings.HasPrefix(name, tasksPrefix); {
	case tasks && upstream.era == features.Modern:
		arg, handler = features.ExtensionArg, func(string, bool) http.Handler { return features.ExtensionHandler() }
	case tasks:
		arg, handler, era = features.TasksArg, func(_ string, old bool) http.Handler { return features.TasksHandler(old) }, "legacy"
		if upstream.transport == overSSE {
			path = "/sse"
		}
	}
	if upstream.transport == overStdio {
		return fmt.Sprintf("{name: %s, command: %q, args: [%q], era: %s}", name, filepath.Join(g.programs, "features"), arg, era)
	}
	server := httptest.NewServer(handler(upstream.era, upstream.transport == overSSE))
	g.t.Cleanup(func() {
		server.CloseClientConnections() // streams stay open as long as somebody reads them
		server.Close()
	})
	kind := map[string]string{overHTTP: "http", overSSE: "sse"}[upstream.transport]
	return fmt.Sprintf("{name: %s, url: %q, type: %s, era: %s}", name, server.URL+path, kind, era)
}

// transport returns the host's connection to the gate in front of that server, and the prefix of names there.
func (g *gates) transport(name string, host, upstream int) (transport sdk.Transport, prefix string) {
	client := &http.Client{Transport: bearer{g.served.token, name}}
	switch ends[host].transport {
	case overHTTP:
		return &sdk.StreamableClientTransport{Endpoint: g.served.url + "/" + name, HTTPClient: client}, ""
	case overSSE:
		return &sdk.SSEClientTransport{Endpoint: strings.TrimSuffix(g.served.url, "/mcp") + "/sse/" + name, HTTPClient: client}, ""
	}
	data := g.t.TempDir()
	write(g.t, filepath.Join(data, "workers", "default", "permissions.jsonc"), allowAll)
	config := filepath.Join(data, "callgate.yaml")
	write(g.t, config, "servers:\n  - "+g.entry(name, ends[upstream])+"\n")
	cmd := exec.Command(filepath.Join(g.programs, "callgate"), "run", "--config", config, "--data-dir", data, "--listen", "off", "--log-level", "warn")
	cmd.Env = append(slices.Clone(os.Environ()), "CALLGATE_CONFIG=")
	return &sdk.CommandTransport{Command: cmd}, name + "_"
}
