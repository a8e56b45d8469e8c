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

// Version is the first revision of MCP that has neither a handshake nor sessions. Every request says
// of itself what the handshake said before, and servers ask nothing by themselves: what they need to know is
// the result of a request, which the host then repeats with the answer.
const Version = "2026-07-28"

// What a stateless request says of itself is in these members of its _meta.
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

// Exchange is one stateless request, and the way back for what belongs to it.
type Exchange interface {
	// Respond sends the response; nothing follows it. A nil response says that there is none.
	Respond(response []byte) error
	// Reject is Respond for a request that is not one of the revision.
	Reject(response []byte) error
	// Notify sends a notification that belongs to the request.
	Notify(message []byte) error
	// Waits says that the request waits for a person, which may take long.
	Waits()
}

// headed is an exchange whose transport repeats in headers what the request says.
type headed interface {
	Header(name string) (value string, sent bool)
}

// View is what of callgate a host is shown, as the proxy has it.
type View struct{ Server, Agent string }

// Sender is whoever sends stateless requests: those of one sender that say the same of their host share a session.
type Sender struct {
	View      View
	Principal string
	Session   string // by which one principal tells its sessions apart; "" is one like others
}

// Is reports whether a message is of a stateless revision. It is decided for each message anew.
func Is(m rpc.Message) bool {
	if !bytes.Contains(m.Params, []byte(metaVersion)) || m.Method == "initialize" {
		return false
	}
	return jsonx.Has(m.Params, "_meta", metaVersion)
}

// incoming is a request with what it says of itself.
type incoming struct {
	rpc.Message
	capabilities []byte // an object
	client       []byte // nil when absent, as what follows
	level        string // the least severe log messages that it wants, "" for none
	token        []byte // progress token as spelled
}

// statelessMethods are those that a stateless host may call. What is not here is refused, also where a
// handshake would have allowed it.
var statelessMethods = []string{
	"server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list", "resources/templates/list",
	"resources/read", "completion/complete", "subscriptions/listen", "tasks/get", "tasks/update", "tasks/cancel",
}

// taskMethods are those of the extension for tasks.
var taskMethods = []string{"tasks/get", "tasks/update", "tasks/cancel"}

// repeatable are the methods that may end with a question to the host instead of a result.
var repeatable = []string{"tools/call", "prompts/get", "resources/read"}

// Serve serves one stateless request. It returns at once; the request is taken back when ctx ends before
// it is answered.
func (all *Clients) Serve(ctx context.Context, from Sender, x Exchange, m rpc.Message) {
	r, fault := all.read(m, x)
	if fault != nil {
		all.told(x.Reject(fault))
		return
	}
	if !slices.Contains(statelessMethods, m.Method) {
		all.told(x.Respond(rpc.Error(m.ID, rpc.CodeMethodNotFound, "method not found: "+m.Method)))
		return
	}
	if !all.enter() {
		all.told(x.Respond(rpc.Error(m.ID, rpc.CodeInternal, "callgate ends")))
		return
	}
	go func() {
		defer all.work.Done()
		c, err := all.client(from, r)
		if err != nil {
			all.told(x.Respond(rpc.Error(m.ID, rpc.CodeInternal, err.Error())))
			return
		}
		defer c.leave()
		c.came(x)
		c.serve(ctx, x, r)
	}()
}

// vouched is an Exchange that knows whether its host is still let in.
type vouched interface{ Admitted() error }

// came notes by which credential the host came last.
func (c *Client) came(x Exchange) {
	if by, ok := x.(vouched); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.admitted = by.Admitted
	}
}

// Admitted says why the host's last credential is not good any more; nil while it is.
func (c *Client) Admitted() error {
	c.mu.Lock()
	admitted := c.admitted
	c.mu.Unlock()
	if admitted == nil {
		return nil
	}
	return admitted()
}

func (all *Clients) told(err error) {
	if err != nil {
		all.o.Logger.Debug("message to the host not sent", "error", err)
	}
}

// read reads what the request says of itself, and composes the error for one that does not say it, or
// whose headers say something else.
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
		supported, _ := json.Marshal(all.supported()) // strings
		return r, errorWithData(m.ID, codeUnsupportedVersion, "unsupported protocol version", fmt.Appendf(nil, `{"supported":%s,"requested":%s}`, supported, jsonx.Quote(version)))
	}
	if r.capabilities = said[1].Value; r.capabilities == nil || r.capabilities[0] != '{' {
		return invalid("_meta has no %q", metaCapabilities)
	}
	r.client, r.token = said[2].Value, said[4].Value
	r.level, _ = jsonx.String(said[3].Value)
	return r, nil
}

// headersAgree says what a header says unlike the request.
func headersAgree(h headed, m rpc.Message, version string) error {
	if value, _ := h.Header(mcp.HeaderProtocolVersion); value != version {
		return fmt.Errorf("the header %s is %q, the request says %q", mcp.HeaderProtocolVersion, value, version)
	}
	get := func(name string) string { value, _ := h.Header(name); return value }
	if value, sent := h.Header(mcp.HeaderName); sent && slices.Contains(taskMethods, m.Method) {
		id, _ := jsonx.String(jsonx.At(m.Params, "taskId")) // without one the request is refused
		if name, ok := mcp.DecodeHeaderValue(value); !ok || name != id {
			return fmt.Errorf("the header %s is %q, the request's taskId is %q", mcp.HeaderName, value, id)
		}
	}
	return mcp.ValidateStandardHeaders(get, version, mcp.MCPMethod(m.Method), m.Params)
}

// argumentHeadersAgree says which argument of a tool that wants to see it in a header is another there.
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

// supported are all revisions that hosts can speak with callgate, the newest first.
func (all *Clients) supported() []string {
	versions := append(slices.Clone(all.o.Versions), Version)
	slices.Reverse(versions)
	return versions
}

// errorWithData is rpc.Error with data, which is raw JSON.
func errorWithData(id []byte, code int, message string, data []byte) []byte {
	whole := rpc.Error(id, code, message)
	whole = append(whole[:len(whole)-2], `,"data":`...)
	return append(append(whole, data...), "}}"...)
}
