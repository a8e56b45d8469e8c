package stateless

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/mark3labs/mcp-go/mcp"

	"callgate/internal/jsonx"
	"callgate/internal/rpc"
)

// Version is the first revision of MCP that has neither a handshake nor sessions. Each request carries what the
// handshake said before. Servers do not ask on their own: they answer a request with their questions, and the host
// repeats the request with the answers.
const Version = "2026-07-28"

// Members of a stateless request's _meta in which it describes itself.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaLevel        = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// Codes of errors of the stateless revisions.
const (
	codeHeaderMismatch     = -32020
	codeLacksCapability    = -32021
	codeUnsupportedVersion = -32022
)

// Exchange is one stateless request, and the way back for everything that belongs to it.
type Exchange interface {
	// Respond sends the response; nothing follows it. nil means that there is no response.
	Respond(response []byte) error
	// Reject does what Respond does for a request that the revision does not allow.
	Reject(response []byte) error
	// Notify sends a notification that belongs to the request.
	Notify(message []byte) error
	// Waits notes that the request waits for a person, which may take long.
	Waits()
}

// headed is an exchange whose transport repeats parts of the request in headers.
type headed interface {
	Header(name string) (value string, sent bool)
}

// View is the part of callgate that a host sees, as the proxy has it.
type View struct{ Server, Agent string }

// Sender identifies who sends stateless requests. Requests of one sender that say the same of their host share a
// session.
type Sender struct {
	View      View
	Principal string
	Session   string // tells the sessions of one principal apart; "" is a value like others
}

// Is reports whether a message belongs to a stateless revision. callgate decides that for each message.
func Is(m rpc.Message) bool {
	if !bytes.Contains(m.Params, []byte(metaVersion)) || m.Method == "initialize" {
		return false
	}
	return jsonx.Has(m.Params, "_meta", metaVersion)
}

// incoming is a request with what it says about itself.
type incoming struct {
	rpc.Message
	capabilities []byte // an object
	client       []byte // nil if absent, as are the next two
	level        string // the least severe log messages that it wants, or "" for none
	token        []byte // progress token as spelled
}

// statelessMethods lists the methods that a stateless host may call. callgate refuses all others, even those that a
// handshake would have allowed.
var statelessMethods = []string{
	"server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list",
	"resources/read", "completion/complete", "subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel",
}

// taskMethods lists the methods of the tasks extension.
var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

// repeatable lists the methods that may end with a question to the host instead of a result.
var repeatable = []string{"tools/call", "prompts/get", "resources/read"}

// Serve serves one stateless request. It returns at once. If ctx ends before the answer, callgate takes the request
// back.
func (all *Clients) Serve(ctx context.Context, from Sender, x Exchange, m rpc.Message) {
	r, fault := all.read(m, x)
	if fault != nil {
		all.logUnsent(x.Reject(fault))
		return
	}
	if !slices.Contains(statelessMethods, m.Method) {
		all.logUnsent(x.Respond(rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)))
		return
	}
	if !all.enter() {
		all.logUnsent(x.Respond(rpc.Error(m.ID, rpc.CodeInternal, "callgate ends")))
		return
	}
	go func() {
		defer all.work.Done()
		c, err := all.client(from, r)
		if err != nil {
			all.logUnsent(x.Respond(rpc.Error(m.ID, rpc.CodeInternal, err.Error())))
			return
		}
		defer c.leave()
		c.noteCredential(x)
		c.serve(ctx, x, r)
	}()
}

// vouched is an Exchange that knows whether its host is still let in.
type vouched interface{ Admitted() error }

// noteCredential notes the credential that the host used last.
func (c *Client) noteCredential(x Exchange) {
	if by, ok := x.(vouched); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.admitted = by.Admitted
	}
}

// Admitted returns why the host's last credential is no longer valid, or nil while it is.
func (c *Client) Admitted() error {
	c.mu.Lock()
	admitted := c.admitted
	c.mu.Unlock()
	if admitted == nil {
		return nil
	}
	return admitted()
}

func (all *Clients) logUnsent(err error) {
	if err != nil {
		all.o.Logger.Debug("message to the host not sent", "error", err)
	}
}

// read reads what the request says about itself. It returns an error response if that is missing or differs from the
// headers.
func (all *Clients) read(m rpc.Message, x Exchange) (r incoming, fault []byte) {
	invalid := func(format string, args ...any) (incoming, []byte) {
		return r, rpc.Error(m.ID, rpc.CodeInvalidParams, fmt.Sprintf(format, args...))
	}
	r.Message = m
	var meta [1]jsonx.Member
	if m.Params == nil {
		return invalid("requests of this revision need params with a _meta")
	}
	if err := jsonx.Members(m.Params, []string{"_meta"}, meta[:]); err != nil {
		return invalid("%v", err)
	}
	if meta[0].Value == nil {
		return invalid("requests of this revision need a _meta")
	}
	var said [5]jsonx.Member
	if err := jsonx.Members(meta[0].Value, []string{metaVersion, metaCapabilities, metaClient, metaLevel, "progressToken"}, said[:]); err != nil {
		return invalid("_meta: %v", err)
	}
	version, ok := jsonx.String(said[0].Value)
	if !ok {
		return invalid("_meta has no %q", metaVersion)
	}
	if h, ok := x.(headed); ok {
		if err := headersAgree(h, m, version); err != nil {
			return r, rpc.Error(m.ID, codeHeaderMismatch, err.Error())
		}
	}
	if version != Version {
		supported, _ := json.Marshal(all.supported()) // cannot fail: they are strings
		return r, errorWithData(m.ID, codeUnsupportedVersion, "unsupported protocol version", fmt.Appendf(nil, `{"supported":%s,"requested":%s}`, supported, jsonx.Quote(version)))
	}
	if r.capabilities = said[1].Value; r.capabilities == nil || r.capabilities[0] != '{' {
		return invalid("_meta has no %q", metaCapabilities)
	}
	r.client, r.token = said[2].Value, said[4].Value
	r.level, _ = jsonx.String(said[3].Value)
	return r, nil
}

// headersAgree returns an error if a header differs from the request.
func headersAgree(h headed, m rpc.Message, version string) error {
	if value, _ := h.Header(mcp.HeaderProtocolVersion); value != version {
		return fmt.Errorf("the header %s is %q, the request says %q", mcp.HeaderProtocolVersion, value, version)
	}
	get := func(name string) string { value, _ := h.Header(name); return value }
	if value, sent := h.Header(mcp.HeaderName); sent && slices.Contains(taskMethods, m.Method) {
		id, _ := jsonx.String(jsonx.At(m.Params, "taskId")) // without an id the request will be refused
		if name, ok := mcp.DecodeHeaderValue(value); !ok || name != id {
			return fmt.Errorf("the header %s is %q, the request's taskId is %q", mcp.HeaderName, value, id)
		}
	}
	return mcp.ValidateStandardHeaders(get, version, mcp.MCPMethod(m.Method), m.Params)
}

// argumentHeadersAgree returns an error if a header differs from the argument that the tool wants to see in it.
func argumentHeadersAgree(h headed, definition []byte, params []byte) error {
	if !bytes.Contains(definition, []byte("x-mcp-header")) {
		return nil
	}
	var tool mcp.Tool
	if err := json.Unmarshal(definition, &tool); err != nil {
		return errors.New("the tool's definition cannot be read")
	}
	return mcp.ValidateParamHeadersLookup(h.Header, &tool, params)
}

// supported returns all revisions that hosts can speak with callgate, newest first.
func (all *Clients) supported() []string {
	versions := append(slices.Clone(all.o.Versions), Version)
	slices.Reverse(versions)
	return versions
}

// errorWithData does what rpc.Error does and adds data, which is raw JSON.
func errorWithData(id []byte, code int, message string, data []byte) []byte {
	whole := rpc.Error(id, code, message)
	whole = append(whole[:len(whole)-2], `,"data":`...)
	return append(append(whole, data...), "}}"...)
}
