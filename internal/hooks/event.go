package hooks

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/audit"
	"callgate/gate/tools"
)

// The events that hooks can follow.
const (
	SessionStart     = "session.start"
	SessionEnd       = "session.end"
	ToolRequested    = "tool.requested" // a call came; nothing has been decided
	ToolExecute      = "tool.execute"   // a call is allowed and about to be forwarded
	ToolStarted      = "tool.started"   // the same moment, under the name that webhooks know
	ToolCompleted    = "tool.completed" // a call ran
	ToolFailed       = "tool.failed"    // a call ran, and the tool or the server reported a failure
	ApprovalAsked    = "approval.requested"
	ApprovalResolved = "approval.resolved"
	AgentError       = "agent.error" // a call of the agent did not run: it was refused, or could not be read
	UpstreamDown     = "upstream.down"
	UpstreamUp       = "upstream.up"
	IndexDone        = "index.done"
	ToolTest         = "tool.test" // somebody tests the hook
)

// Events lists all events that a hook can be for.
var Events = []string{
	SessionStart, SessionEnd, ToolRequested, ToolExecute, ToolStarted, ToolCompleted, ToolFailed,
	ApprovalAsked, ApprovalResolved, AgentError, UpstreamDown, UpstreamUp, IndexDone,
}

// Event is what a hook is told. Fields that do not apply are empty.
type Event struct {
	Name      string // one of Events
	Time      time.Time
	Worker    string
	SessionID string
	Agent     string
	Host      string // the host's name for itself
	CallID    string
	Server    string // alias
	Tool      string // qualified name
	plain     string // the name that rules use if several tools would share a name
	ToolName  string // the server's own name for it
	Kind      string
	Arguments []byte // raw JSON object; nil if there is none
	Risk      string // its class
	Category  string // what the autonomy presets go by
	Decision  string
	By        string // who or what decided
	Error     string // why it failed, was refused, or is down
	Result    []byte // raw tool result; nil if there is none
	Ended     bool   // the call ran; Error is not "" if it failed
	Duration  time.Duration
	Detail    string // further details, such as the folder of an index
}

// Limits for an event from which secrets are removed.
const (
	maxString    = 64 << 10 // bytes of one string
	maxArguments = 1 << 20  // bytes of all arguments
	maxOutput    = 64 << 10 // bytes of a result's text
)

// message is the JSON form of an event: what a program reads from standard input, and what a webhook posts.
type message struct {
	Event      string          `json:"event"`
	Timestamp  time.Time       `json:"timestamp"`
	Hook       string          `json:"hook"`
	Tool       *messageTool    `json:"tool,omitempty"`
	Result     *messageResult  `json:"result,omitempty"`
	Session    *messageSession `json:"session,omitempty"`
	Upstream   string          `json:"upstream,omitempty"`
	Worker     string          `json:"worker"`
	Risk       string          `json:"risk,omitempty"`
	Category   string          `json:"category,omitempty"`
	Decision   string          `json:"decision,omitempty"`
	By         string          `json:"by,omitempty"`
	Error      string          `json:"error,omitempty"`
	Detail     string          `json:"detail,omitempty"`
	DurationMs float64         `json:"durationMs,omitzero"`
}

type messageTool struct {
	ID         string         `json:"id"`   // qualified name, as rules spell it
	Name       string         `json:"name"` // the server's own name for it
	CallID     string         `json:"callId,omitempty"`
	Server     string         `json:"server,omitempty"`
	Kind       string         `json:"kind,omitempty"`
	Parameters jsontext.Value `json:"parameters,omitzero"`
}

type messageResult struct {
	Success bool   `json:"success"`
	Output  string `json:"output,omitempty"`
}

type messageSession struct {
	ID    string `json:"id"`
	Agent string `json:"agent,omitempty"`
	Host  string `json:"host,omitempty"`
}

// message returns the event for a hook. Text that looks like a secret is removed, unless the hook may have secrets.
func (e *Event) message(h *hook) ([]byte, error) {
	m := message{
		Event: e.Name, Timestamp: e.Time.UTC(), Hook: h.name, Worker: e.Worker, Risk: e.Risk, Category: e.Category, Decision: e.Decision, By: e.By,
		Error: h.text(e.Error), Detail: e.Detail, DurationMs: milliseconds(e.Duration),
	}
	if e.Tool != "" {
		m.Tool = &messageTool{ID: e.Tool, Name: e.ToolName, CallID: e.CallID, Server: e.Server, Kind: e.Kind, Parameters: h.json(e.Arguments)}
	} else if e.Server != "" {
		m.Upstream = e.Server
	}
	if e.Ended {
		m.Result = &messageResult{Success: e.Error == "", Output: h.text(resultText(e.Result))}
	}
	if e.SessionID != "" {
		m.Session = &messageSession{ID: e.SessionID, Agent: e.Agent, Host: e.Host}
	}
	return json.Marshal(m, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// json returns raw arguments as the hook may see them.
func (h *hook) json(raw []byte) []byte {
	if h.secrets || raw == nil {
		return raw
	}
	return audit.RedactJSON(raw, maxString, maxArguments)
}

// text returns a text as the hook may see it.
func (h *hook) text(s string) string {
	if h.secrets {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return audit.RedactText(s, maxOutput)
}

// resultText returns the texts in a tool result's content, or the whole result if there are none.
func resultText(result []byte) string {
	var r struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if result == nil || json.Unmarshal(result, &r) != nil {
		return string(result)
	}
	var texts []string
	for _, c := range r.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	if texts == nil {
		return string(result)
	}
	return strings.Join(texts, "\n")
}

// FailureOf returns why a call that ran has failed: failure, or the text of an error result; "" if it has not.
func FailureOf(result []byte, isError bool, failure string) string {
	switch {
	case failure != "":
		return failure
	case isError:
		return "the tool says: " + resultText(result)
	}
	return ""
}

// About fills in the tool that an event is about; nil leaves the event unchanged.
func (e *Event) About(tool *tools.Tool) {
	if tool != nil {
		e.Server, e.Tool, e.plain, e.ToolName, e.Kind = tool.Server, tool.Qualified, tool.Plain, tool.Name, tool.Kind
	}
}

// safeName makes s safe as a program's argument: it is one word and never an option.
func safeName(s string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.', r == ':':
			return r
		}
		return '_'
	}, s)
	if strings.HasPrefix(clean, "-") {
		return "_" + clean[1:]
	}
	return clean
}

// TestEvent returns an event about a call that nobody made.
func TestEvent(by string) Event {
	return Event{
		Name: ToolTest, SessionID: "s-test", Agent: "default", Host: "callgate hooks test", CallID: "call_test",
		Server: "filesystem", Tool: "filesystem_write_file", ToolName: "write_file", Kind: "write_file",
		Arguments: []byte(`{"path":"src/auth.ts","content":"example"}`), Risk: "WRITE", Decision: "approved", By: by,
		Ended: true, Result: []byte(`{"content":[{"type":"text","text":"File written successfully"}]}`), Duration: 12 * time.Millisecond,
	}
}
