package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/testserver/features"
)

// sdkClient is a client on an SDK.
type sdkClient struct {
	name  string
	work  func(t *testing.T, node string, doors []sdkDoor) []sdkOutcome
	deaf  []string // transports over which it cannot be asked
	codes bool     // it keeps the code and data of errors
	hasty bool     // it loses progress that it reads together with the result, which can be all of it on a busy machine
}

var sdkClients = []sdkClient{
	{name: "Go SDK", work: eachDoor(workGoSDK), codes: true},
	{name: "mcp-go", work: eachDoor(workMCPGo), deaf: []string{"sse"}},
	{name: "TypeScript SDK 1", work: workTypeScript("1"), codes: true, hasty: true},
	{name: "TypeScript SDK 2", work: workTypeScript("2"), codes: true, hasty: true},
}

// sdkCell bounds what one client does at one door.
const sdkCell = patience

// eachDoor lets a client work at several doors at once.
func eachDoor(work func(ctx context.Context, door sdkDoor) ([]sdkResult, error)) func(*testing.T, string, []sdkDoor) []sdkOutcome {
	return func(t *testing.T, _ string, doors []sdkDoor) []sdkOutcome {
		outcomes := make([]sdkOutcome, len(doors))
		busy := make(chan struct{}, 4)
		var working sync.WaitGroup
		for i, door := range doors {
			working.Go(func() {
				busy <- struct{}{}
				defer func() { <-busy }()
				ctx, cancel := context.WithTimeout(t.Context(), sdkCell)
				defer cancel()
				results, err := work(ctx, door)
				outcomes[i].Results = results
				if err != nil {
					outcomes[i].Failed = err.Error()
				}
			})
		}
		working.Wait()
		return outcomes
	}
}

// untilOffered lists until the door's tools are there, because some servers start slowly.
func (d sdkDoor) untilOffered(ctx context.Context, list func() ([]string, error)) error {
	for {
		names, err := list()
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(d.Calls, func(c sdkCall) bool { return !slices.Contains(names, d.Prefix+c.Tool) }) {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the tools are not offered: %q", names)
		}
	}
}

// workGoSDK runs a host on the official Go SDK, in 2026-07-28 if the transport has that revision.
func workGoSDK(ctx context.Context, d sdkDoor) ([]sdkResult, error) {
	client := &http.Client{Transport: bearer{d.Token, "go-sdk"}}
	var way sdk.Transport
	era := features.Modern
	switch d.Kind {
	case "stdio":
		way = &sdk.CommandTransport{Command: exec.CommandContext(ctx, d.Command[0], d.Command[1:]...)}
	case "http":
		way = &sdk.StreamableClientTransport{Endpoint: d.URL, HTTPClient: client}
	case "sse":
		way, era = &sdk.SSEClientTransport{Endpoint: d.URL, HTTPClient: client}, features.Legacy
	}
	h, err := connectHost(ctx, era, d.Prefix, way)
	if err != nil {
		return nil, err
	}
	defer h.session.Close()
	err = d.untilOffered(ctx, func() (names []string, err error) {
		list, err := h.session.ListTools(ctx, nil)
		if err != nil {
			return nil, err
		}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return names, nil
	})
	if err != nil {
		return nil, err
	}
	var results []sdkResult
	for _, c := range d.Calls {
		r := sdkResult{}
		result, err := h.session.CallTool(ctx, &sdk.CallToolParams{Name: d.Prefix + c.Tool, Arguments: c.Arguments, Meta: sdk.Meta{"progressToken": c.Tool}})
		var failure *jsonrpc.Error
		switch {
		case errors.As(err, &failure):
			r.Error, r.Code = failure.Message, int(failure.Code)
			if failure.Data != nil {
				if err := json.Unmarshal(failure.Data, &r.Data); err != nil {
					return nil, err
				}
			}
		case err != nil:
			return nil, fmt.Errorf("%s: %w", c.Tool, err)
		default:
			content, err := json.Marshal(result.Content)
			if err != nil {
				return nil, err
			}
			r.Content = string(content)
		}
		if err := h.until(ctx, "progress of "+c.Tool, func() bool { return len(h.progress[c.Tool]) >= len(c.steps) }); err != nil {
			return nil, err
		}
		h.note(func() { r.Progress = slices.Clone(h.progress[c.Tool]) })
		results = append(results, r)
	}
	return results, nil
}

type answering struct{}

func (answering) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionAccept, Content: map[string]any{"name": answeredName}}}, nil
}

// workMCPGo runs a host on mcp-go, in 2026-07-28 if the transport has that revision.
func workMCPGo(ctx context.Context, d sdkDoor) (results []sdkResult, err error) {
	headers := map[string]string{"Authorization": "Bearer " + d.Token, "Callgate-Session": "mcp-go"}
	var way transport.Interface
	switch d.Kind {
	case "stdio":
		way = transport.NewStdio(d.Command[0], os.Environ(), d.Command[1:]...)
	case "http":
		way, err = transport.NewStreamableHTTP(d.URL, transport.WithHTTPHeaders(headers))
	case "sse":
		way, err = transport.NewSSE(d.URL, transport.WithHeaders(headers))
	}
	if err != nil {
		return nil, err
	}
	c := mcpgo.NewClient(way, mcpgo.WithElicitationHandler(answering{}))
	defer c.Close()
	h := &matrixHost{progress: map[any][]float64{}, changed: make(chan struct{})}
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if value, ok := n.Params.AdditionalFields["progress"].(float64); ok && n.Method == "notifications/progress" {
			token := n.Params.AdditionalFields["progressToken"]
			h.note(func() {
				h.progress[token] = append(h.progress[token], value)
				slices.Sort(h.progress[token]) // it hands notifications to goroutines
			})
		}
	})
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ClientInfo = mcp.Implementation{Name: "mcp-go", Version: "1"}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, err
	}
	err = d.untilOffered(ctx, func() (names []string, err error) {
		list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return nil, err
		}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		return names, nil
	})
	if err != nil {
		return nil, err
	}
	for _, call := range d.Calls {
		r := mcp.CallToolRequest{}
		r.Params.Name, r.Params.Arguments = d.Prefix+call.Tool, call.Arguments
		r.Params.Meta = &mcp.Meta{ProgressToken: call.Tool}
		result, err := c.CallTool(ctx, r)
		if err != nil {
			results = append(results, sdkResult{Error: err.Error()})
			continue
		}
		if err := h.until(ctx, "progress of "+call.Tool, func() bool { return len(h.progress[call.Tool]) >= len(call.steps) }); err != nil {
			return nil, err
		}
		content, err := json.Marshal(result.Content)
		if err != nil {
			return nil, err
		}
		done := sdkResult{Content: string(content)}
		h.note(func() { done.Progress = slices.Clone(h.progress[call.Tool]) })
		results = append(results, done)
	}
	return results, nil
}

// workTypeScript runs hosts on a version of the TypeScript SDK, the second in 2026-07-28 if the transport has that.
func workTypeScript(version string) func(*testing.T, string, []sdkDoor) []sdkOutcome {
	return func(t *testing.T, node string, doors []sdkDoor) (outcomes []sdkOutcome) {
		wanted, err := json.Marshal(doors)
		if err != nil {
			t.Error(err)
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*sdkCell)
		defer cancel()
		cmd := exec.CommandContext(ctx, node, filepath.Join("..", "..", "testdata", "npm", "client.mjs"), version)
		cmd.Stdin = bytes.NewReader(wanted)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err == nil {
			err = json.Unmarshal(out, &outcomes)
		}
		if err != nil {
			t.Errorf("%v: %s", err, &said)
		}
		return outcomes
	}
}
