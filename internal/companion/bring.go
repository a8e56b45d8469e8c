package companion

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/lazyregexp"
)

// Bringer lets clients add their own tools to sessions.
type Bringer interface {
	// Bring makes a client's server an upstream of one session. The caller MUST call Leave on the visit. Errors are
	// gate.ErrSession and gate.ErrAnswer.
	Bring(sessionID string, s Brought) (Visit, error)
}

// Brought is a server whose tools a client runs.
type Brought struct {
	Server string
	By     string   // the client's name in the audit trail
	Tools  [][]byte // definitions in MCP's format

	// Call has the client run a tool and returns the raw result of tools/call. The model reads the text of an error.
	Call func(ctx context.Context, tool string, arguments []byte) (result []byte, err error)
}

// Visit is a brought server's stay in one session.
type Visit interface {
	Offer(tools [][]byte) // replaces its tools
	Over() bool           // reports whether the session has ended
	Leave(reason string)  // ends the visit; running calls fail with the reason
}

// Bounds of what one client may bring.
const (
	maxVisits      = 64        // servers, in all sessions together
	maxBrought     = 128       // tools of one server in one session
	maxDefinition  = 64 << 10  // bytes of one tool's definition
	maxBroughtCall = 64        // calls that one client runs at once
	maxResultSent  = maxResult // bytes of one result
)

// toolbox holds what one client brought. Any goroutine may call its methods, except take, give and close: those are for
// the goroutine that reads the client's frames.
type toolbox struct {
	bringer Bringer
	by      string
	answer  time.Duration // how long a call may take
	out     chan any      // frames for the client
	gone    chan struct{} // closed when the client has disconnected

	visits map[visitKey]Visit // only for the reading goroutine

	mu    sync.Mutex
	calls map[string]brought // by id
}

type visitKey struct{ session, server string }

// brought is a call that the client runs. done has room for its only answer.
type brought struct {
	session string
	done    chan outcomeOfCall
}

type outcomeOfCall struct {
	result []byte
	err    error
}

func newToolbox(b Bringer, by string, answer time.Duration) *toolbox {
	return &toolbox{
		bringer: b, by: by, answer: answer, out: make(chan any, maxBroughtCall), gone: make(chan struct{}),
		visits: map[visitKey]Visit{}, calls: map[string]brought{},
	}
}

// close takes all tools back and returns when none of them runs any more.
func (b *toolbox) close() {
	close(b.gone)
	for _, visit := range b.visits {
		visit.Leave(fmt.Sprintf("The client %s, which ran this tool, has disconnected.", b.by))
	}
}

// take handles mcp_tools: it replaces the tools that the client has in one session.
func (b *toolbox) take(f wire.MCPTools) error {
	servers, definitions, refused := definitionsOf(f.Tools)
	if refused != nil {
		return refused
	}
	for key, visit := range b.visits {
		switch {
		case visit.Over():
			visit.Leave("The session has ended.")
			delete(b.visits, key)
		case key.session == f.SessionID && definitions[key.server] == nil:
			visit.Leave(fmt.Sprintf("The client %s took this tool back.", b.by))
			delete(b.visits, key)
		}
	}
	more := 0
	for _, server := range servers {
		if b.visits[visitKey{f.SessionID, server}] == nil {
			more++
		}
	}
	if len(b.visits)+more > maxVisits {
		return wire.Refuse(wire.CodeBadMessage, "a client brings at most %d servers", maxVisits)
	}
	for _, server := range servers {
		key := visitKey{f.SessionID, server}
		if visit := b.visits[key]; visit != nil {
			visit.Offer(definitions[server])
			continue
		}
		visit, err := b.bringer.Bring(f.SessionID, Brought{
			Server: server, By: b.by, Tools: definitions[server],
			Call: func(ctx context.Context, tool string, arguments []byte) ([]byte, error) {
				return b.call(ctx, key, tool, arguments)
			},
		})
		if err != nil {
			return err
		}
		b.visits[key] = visit
	}
	return nil
}

// toolName matches the tool names that MCP allows.
var toolName = lazyregexp.New(`^[A-Za-z0-9_.-]{1,128}$`)

// definitionsOf returns MCP's definitions of the tools by server. servers keeps the order of the frame.
func definitionsOf(tools []wire.MCPTool) (servers []string, definitions map[string][][]byte, _ *wire.Refusal) {
	definitions = map[string][][]byte{}
	names := map[visitKey]bool{}
	for i, tool := range tools {
		name := visitKey{tool.Server, tool.Name}
		switch {
		case tool.Server == "":
			return nil, nil, wire.Refuse(wire.CodeBadMessage, "tools[%d]: server is missing", i)
		case !toolName.MatchString(tool.Name):
			return nil, nil, wire.Refuse(wire.CodeBadMessage, "tools[%d]: the name has to be 1 to 128 letters, digits, _, - and .", i)
		case names[name]:
			return nil, nil, wire.Refuse(wire.CodeBadMessage, "tools[%d]: %s has two tools %q", i, tool.Server, tool.Name)
		case !bytes.HasPrefix(tool.InputSchema, []byte("{")):
			return nil, nil, wire.Refuse(wire.CodeBadMessage, "tools[%d]: inputSchema has to be a JSON Schema of an object", i)
		}
		names[name] = true
		definition, err := wire.Encode(struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			InputSchema json.RawMessage `json:"inputSchema"`
			Annotations json.RawMessage `json:"annotations,omitempty"`
		}{tool.Name, tool.Description, tool.InputSchema, tool.Annotations})
		if err != nil {
			return nil, nil, wire.Refuse(wire.CodeBadMessage, "tools[%d]: %v", i, err)
		}
		if len(definition) > maxDefinition {
			return nil, nil, wire.Refuse(wire.CodeBadMessage, "tools[%d]: the definition is larger than %d bytes", i, maxDefinition)
		}
		if definitions[tool.Server] == nil {
			servers = append(servers, tool.Server)
		}
		if definitions[tool.Server] = append(definitions[tool.Server], definition); len(definitions[tool.Server]) > maxBrought {
			return nil, nil, wire.Refuse(wire.CodeBadMessage, "%s has more than %d tools", tool.Server, maxBrought)
		}
	}
	return servers, definitions, nil
}

// mcpTools takes in a client's tools. It needs the tools credential, which opens nothing else. An approver must not
// bring the tools that it approves, or the reverse, unless the person gave out both credentials.
func (c *socket) mcpTools(data []byte) *wire.Refusal {
	var f wire.MCPTools
	if refused := c.brings(data, &f); refused != nil {
		return refused
	}
	return c.change(f.SessionID, func() error { return c.toolbox.take(f) })
}

func (c *socket) mcpResult(data []byte) *wire.Refusal {
	var f wire.MCPResult
	if refused := c.brings(data, &f); refused != nil {
		return refused
	}
	return c.toolbox.give(f)
}

// brings decodes a frame of a client that may bring tools.
func (c *socket) brings(data []byte, f any) *wire.Refusal {
	if c.may() != credentials.Tools {
		return wire.Refuse(wire.CodeUnauthorized, "only the tools credential can bring tools")
	}
	if refused := c.server.backend.absent(partBringer); refused != nil {
		return refused
	}
	return rest.Decode(data, f)
}

// call has the client run a tool and waits for the answer.
func (b *toolbox) call(ctx context.Context, key visitKey, tool string, arguments []byte) ([]byte, error) {
	id := "run_" + rand.Text()
	call := brought{key.session, make(chan outcomeOfCall, 1)}
	if !b.begin(id, call) {
		return nil, fmt.Errorf("the client %s runs %d calls already, which is the limit", b.by, maxBroughtCall)
	}
	defer b.end(id)
	select {
	case b.out <- wire.MCPCall{Head: wire.NewHead(wire.TypeMCPCall, key.session), ToolCallID: id, Server: key.server, Tool: tool, Args: wire.Object(arguments)}:
	default:
		return nil, fmt.Errorf("the client %s, which runs this tool, does not read", b.by)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, b.answer, fmt.Errorf("the client %s, which runs this tool, did not answer within %s", b.by, b.answer))
	defer cancel()
	select {
	case o := <-call.done:
		return o.result, o.err
	case <-ctx.Done():
		select {
		case b.out <- wire.MCPCancel{Head: wire.NewHead(wire.TypeMCPCancel, key.session), ToolCallID: id}:
		default: // it does not read, so it will find out when it answers
		}
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			return nil, err
		}
		return nil, ctx.Err()
	case <-b.gone:
		return nil, fmt.Errorf("the client %s, which ran this tool, has disconnected", b.by)
	}
}

func (b *toolbox) begin(id string, call brought) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.calls) == maxBroughtCall {
		return false
	}
	b.calls[id] = call
	return true
}

func (b *toolbox) end(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.calls, id)
}

// give handles mcp_result. A client can answer only calls that were sent to it, each once.
func (b *toolbox) give(f wire.MCPResult) *wire.Refusal {
	outcome, refused := outcomeOfFrame(f)
	if refused != nil {
		return refused
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	call, ok := b.calls[f.ToolCallID]
	if !ok || call.session != f.SessionID {
		return wire.Refuse(wire.CodeNotPending, "no call of that id waits for this client: it was answered, cancelled, or sent to somebody else")
	}
	delete(b.calls, f.ToolCallID)
	call.done <- outcome
	return nil
}

// outcomeOfFrame checks a client's result and converts it. A plain text becomes a result with one text item.
func outcomeOfFrame(f wire.MCPResult) (o outcomeOfCall, _ *wire.Refusal) {
	switch {
	case (len(f.Result) == 0) == (f.Error == ""):
		return o, wire.Refuse(wire.CodeBadMessage, "mcp_result needs either result or error")
	case f.Error != "":
		return outcomeOfCall{err: errors.New(f.Error)}, nil
	case len(f.Result) > maxResultSent:
		return outcomeOfCall{err: fmt.Errorf("the result is larger than %d bytes", maxResultSent)}, nil
	}
	var text string
	if json.Unmarshal(f.Result, &text) == nil {
		result, err := wire.Encode(map[string]any{"content": []map[string]string{{"type": "text", "text": text}}})
		if err != nil {
			return o, wire.Refuse(wire.CodeBadMessage, "result: %v", err)
		}
		return outcomeOfCall{result: result}, nil
	}
	var result struct {
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(f.Result, &result); err != nil || !bytes.HasPrefix(result.Content, []byte("[")) {
		return o, wire.Refuse(wire.CodeBadMessage, `result has to be a text, or that of tools/call, as in {"content": [{"type": "text", "text": "done"}]}`)
	}
	return outcomeOfCall{result: slices.Clone(f.Result)}, nil
}
