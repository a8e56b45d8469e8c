package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"callgate/internal/testserver/features"
)

// sdkCall is a call that a client makes to a server through callgate, with the expected result.
type sdkCall struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`

	want  string    // pattern for the content; "" if the call fails
	code  int       // of the error, with the data {"why":"asked to"}; 0 means any
	steps []float64 // with which progress begins; none if a busy server loses some
	asks  bool      // the server asks the client in the middle of it
}

// sdkUpstream is a server on an SDK over one transport.
type sdkUpstream struct {
	name  string
	entry func(g *gates, alias string) string // in callgate's configuration
	calls []sdkCall
}

// sdkDoor is a client's connection to callgate with one of the servers behind it, and the calls to make there.
type sdkDoor struct {
	Kind    string    `json:"kind"` // stdio, http or sse
	Command []string  `json:"command,omitempty"`
	URL     string    `json:"url,omitempty"`
	Token   string    `json:"token,omitempty"`
	Prefix  string    `json:"prefix"` // of the names of tools
	Calls   []sdkCall `json:"calls"`
}

// sdkOutcome holds the results of a client's calls, in order.
type sdkOutcome struct {
	Results []sdkResult `json:"results"`
	Failed  string      `json:"failed"` // why there are no results
}

type sdkResult struct {
	Content  string         `json:"content"` // JSON
	Progress []float64      `json:"progress"`
	Error    string         `json:"error"`
	Code     int            `json:"code"`
	Data     map[string]any `json:"data"`
}

// sdkKinds lists the transports between a client and callgate.
var sdkKinds = []string{"stdio", "http", "sse"}

// everythingCalls lists the calls of the reference server of the TypeScript SDK.
var everythingCalls = []sdkCall{
	{Tool: "echo", Arguments: map[string]any{"message": "é"}, want: "Echo: é"},
	{Tool: "get-tiny-image", Arguments: map[string]any{}, want: `"image/png"`},
	{Tool: "trigger-long-running-operation", Arguments: map[string]any{"duration": 0.3, "steps": 3}, want: "completed", steps: []float64{1, 2}}, // the third arrives together with the result
	{Tool: "trigger-elicitation-request", Arguments: map[string]any{}, want: answeredName, asks: true},
}

// featuresCalls returns the calls of the servers in internal/testserver/features. code is that of one call's error, and
// asks tells whether the server can ask its client.
func featuresCalls(code int, asks bool) []sdkCall {
	calls := []sdkCall{
		{Tool: "echo", Arguments: map[string]any{"text": "é"}, want: "é"},
		{Tool: "fail", Arguments: map[string]any{}, code: code},
		{Tool: "progress", Arguments: map[string]any{}, want: "done", steps: []float64{1, 2, 3}},
		{Tool: "large", Arguments: map[string]any{}, want: "(0123456789abcdef){1000}"},
	}
	if asks {
		calls = append(calls, sdkCall{Tool: "ask_form", Arguments: map[string]any{}, want: answeredName, asks: true})
	}
	return calls
}

// withoutSteps returns the calls for a server that loses or reorders progress on a busy machine.
func withoutSteps(calls []sdkCall) []sdkCall {
	for i := range calls {
		calls[i].steps = nil
	}
	return calls
}

// sdkUpstreams returns the servers. command is that of the reference server of the TypeScript SDK.
func sdkUpstreams(t *testing.T, command []string) []sdkUpstream {
	env := environment(t)
	listens := func(command []string, transport, path string) func(*gates, string) string {
		address := listening(t, append(slices.Clone(command), transport), env)
		return func(_ *gates, alias string) string {
			return fmt.Sprintf("{name: %s, url: %q}", alias, "http://"+address+path)
		}
	}
	handled := func(handler http.Handler, path string) func(*gates, string) string {
		server := httptest.NewServer(handler)
		t.Cleanup(func() {
			server.CloseClientConnections() // streams stay open as long as somebody reads them
			server.Close()
		})
		return func(_ *gates, alias string) string { return fmt.Sprintf("{name: %s, url: %q}", alias, server.URL+path) }
	}
	started := func(command ...string) func(*gates, string) string {
		return func(g *gates, alias string) string {
			program, args := command[0], command[1:]
			if program == "features" {
				program = filepath.Join(g.programs, program)
			}
			arguments, err := json.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("{name: %s, command: %q, args: %s}", alias, program, arguments)
		}
	}
	script, err := filepath.Abs(filepath.Join("..", "..", "testdata", "npm", "server.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	second := []string{command[0], script}
	return []sdkUpstream{
		{"server-everything, stdio", started(command...), everythingCalls},
		{"server-everything, Streamable HTTP", listens(command, "streamableHttp", "/mcp"), everythingCalls},
		{"server-everything, HTTP+SSE", listens(command, "sse", "/sse"), everythingCalls},
		{"TypeScript SDK 2, stdio", started(second...), featuresCalls(features.Failure, true)},
		{"TypeScript SDK 2, Streamable HTTP", listens(second, "http", "/"), featuresCalls(features.Failure, true)},
		{"mcp-go, stdio", started("features", features.MCPGoArg), featuresCalls(0, true)},
		{"mcp-go, Streamable HTTP", handled(features.MCPGoHandler(false), ""), withoutSteps(featuresCalls(0, true))},
		{"mcp-go, HTTP+SSE", handled(features.MCPGoHandler(true), "/sse"), withoutSteps(featuresCalls(0, false))},
		{"Go SDK, stateless", handled(features.Handler(features.Modern, false), ""), featuresCalls(features.Failure, true)},
	}
}

// newSDKGates starts callgate serve, through serve, with all the servers behind it.
func newSDKGates(t *testing.T, upstreams []sdkUpstream, serve func(config string) *served) *gates {
	g := newGates(t)
	config := "servers:\n"
	for i, u := range upstreams {
		config += "  - " + u.entry(g, fmt.Sprintf("u%d", i)) + "\n"
	}
	g.served = serve(config)
	return g
}

// sdkDoors returns a client's doors to every server over those transports, ordered by transport.
func sdkDoors(g *gates, c sdkClient, upstreams []sdkUpstream, kinds ...string) []sdkDoor {
	var doors []sdkDoor
	for _, kind := range kinds {
		for i, u := range upstreams {
			door, alias := sdkDoor{Kind: kind, Calls: slices.Clone(u.calls)}, fmt.Sprintf("u%d", i)
			if slices.Contains(c.deaf, kind) {
				door.Calls = slices.DeleteFunc(door.Calls, func(call sdkCall) bool { return call.asks })
			}
			switch kind {
			case "stdio":
				data := g.t.TempDir()
				write(g.t, filepath.Join(data, "workers", "default", "permissions.jsonc"), allowAll)
				config := filepath.Join(data, "callgate.yaml")
				write(g.t, config, "servers:\n  - "+u.entry(g, alias)+"\n")
				door.Command = []string{filepath.Join(g.programs, "callgate"), "run", "--config", config, "--data-dir", data, "--listen", "off", "--log-level", "warn"}
				door.Prefix = alias + "_"
			case "http":
				door.URL, door.Token = g.served.url+"/"+alias, g.served.token
			case "sse":
				door.URL, door.Token = strings.TrimSuffix(g.served.url, "/mcp")+"/sse/"+alias, g.served.token
			}
			doors = append(doors, door)
		}
	}
	return doors
}

// TestSDKs has clients of the SDKs work with servers of the SDKs, over every transport on either side, and compares
// docs/sdks.md with the result.
func TestSDKs(t *testing.T) {
	t.Parallel()
	if elsewhere(t) {
		return
	}
	upstreams, cells := workSDKs(t, sdkKinds, func(config string) *served { return serveConfigured(t, config) })
	holdPage(t, "sdks.md", sdkPage(upstreams, cells))
}

// TestSDKsOfThree does the same with the clients over HTTP, through three replicas behind a balancer.
func TestSDKsOfThree(t *testing.T) {
	conformance(t)
	t.Parallel()
	if elsewhere(t) {
		return
	}
	workSDKs(t, sdkKinds[1:], func(config string) *served { return servedByThree(t, config) })
}

// workSDKs has every client work with every server over those transports. The cells of a client are in the order of its
// doors.
func workSDKs(t *testing.T, kinds []string, serve func(config string) *served) (upstreams []sdkUpstream, cells [][]string) {
	command := npmServer(t, "server-everything")
	upstreams = sdkUpstreams(t, command)
	g := newSDKGates(t, upstreams, serve)
	cells = make([][]string, len(sdkClients))
	var working sync.WaitGroup
	for i, c := range sdkClients {
		doors := sdkDoors(g, c, upstreams, kinds...)
		working.Go(func() {
			outcomes := c.work(t, command[0], doors)
			if len(outcomes) != len(doors) {
				t.Errorf("%s was at %d of %d doors", c.name, len(outcomes), len(doors))
			}
			for j, o := range outcomes {
				cell := "ok"
				if err := o.judge(doors[j].Calls, c); err != nil {
					t.Errorf("%s over %s, %s: %v", c.name, doors[j].Kind, upstreams[j%len(upstreams)].name, err)
					cell = "fails"
				}
				cells[i] = append(cells[i], cell)
			}
		})
	}
	working.Wait()
	return upstreams, cells
}

// sdkPage returns docs/sdks.md. The cells of a client are in the order of its doors.
func sdkPage(upstreams []sdkUpstream, cells [][]string) string {
	var b strings.Builder
	fmt.Fprint(&b, sdkHead+"\n| client |")
	for _, u := range upstreams {
		fmt.Fprintf(&b, " %s |", u.name)
	}
	fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("---|", len(upstreams)))
	for c, client := range sdkClients {
		fmt.Fprintf(&b, "| %s |", client.name)
		for u := range upstreams {
			works := 0
			for transport := range sdkKinds {
				if i := transport*len(upstreams) + u; i < len(cells[c]) && cells[c][i] == "ok" {
					works++
				}
			}
			fmt.Fprintf(&b, " %d |", works)
		}
		fmt.Fprintln(&b)
	}
	return b.String() + sdkFoot
}

const sdkHead = `# SDKs with SDKs

Most hosts and servers are built on one of these SDKs. A test connects their clients through callgate to their servers,
over stdio, Streamable HTTP and HTTP+SSE. Each client lists the tools and calls them: text, an image or 2 MiB, an error,
progress, and an elicitation in the middle of a call. Each cell says over how many of the three transports everything works:
`

const sdkFoot = `
The clients are the official Go SDK v1.8.0, mcp-go v1.2.1, and the TypeScript SDK 1.32.2 and 2.4.0, each in its newest
revision for the transport. The servers are ` + "`server-everything`" + ` 2026.8.31, and servers on the TypeScript SDK 2.4.0, mcp-go
v1.2.1 and, without sessions, the Go SDK v1.8.0.

- Elicitation is left out with mcp-go over HTTP+SSE: its client hears no requests there, and its server sends none.
- Progress is left out with mcp-go's server over HTTP: it sends progress beside the answer, on a busy machine after it.

The CLI of the MCP Inspector 2.12.0 lists and calls tools in all 27 combinations too (` + "`TestInspector`, in `make conformance`" + `).

A test writes this page and fails when a cell fails or the page differs:

` + "```sh\ngo test ./internal/command -run TestSDKs -update\n```\n"

// judge returns what is wrong with the results of the client's calls.
func (o sdkOutcome) judge(calls []sdkCall, client sdkClient) error {
	if o.Failed != "" || len(o.Results) != len(calls) {
		return fmt.Errorf("%d results: %s", len(o.Results), o.Failed)
	}
	for i, c := range calls {
		r := o.Results[i]
		steps := min(len(r.Progress), len(c.steps))
		switch {
		case c.want == "" && r.Error == "":
			return fmt.Errorf("%s did not fail", c.Tool)
		case c.want == "" && client.codes && c.code != 0 && (r.Code != c.code || r.Data["why"] != "asked to"):
			return fmt.Errorf("%s failed with %d %v: %s", c.Tool, r.Code, r.Data, r.Error)
		case c.want != "" && r.Error != "":
			return fmt.Errorf("%s: %s", c.Tool, r.Error)
		case c.want != "" && !regexp.MustCompile(c.want).MatchString(r.Content):
			return fmt.Errorf("%s was answered with %.200s", c.Tool, r.Content)
		case steps < len(c.steps) && !client.hasty, !slices.Equal(r.Progress[:steps], c.steps[:steps]):
			return fmt.Errorf("%s made progress %v", c.Tool, r.Progress)
		}
	}
	return nil
}

// holdPage compares the page in docs with the new one, or writes it.
func holdPage(t *testing.T, name, page string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", name)
	if *updatePages {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != page {
		t.Errorf("%s is not what was found: run `go test ./internal/command -run %s -update`\n%s", path, t.Name(), page)
	}
}
