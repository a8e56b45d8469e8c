package hooks

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"callgate/audit"
	"callgate/gate/tools"
)

// Events are what hooks can follow.
const (
	SessionStart     = "session.start"
	SessionEnd       = "session.end"
	ToolRequested    = "tool.requested" // a call came; nobody has decided about it
	ToolExecute      = "tool.execute"   // a call is allowed and about to be forwarded
	ToolStarted      = "tool.started"   // the same moment, by the name that webhooks know
	ToolCompleted    = "tool.completed" // a call ran
	ToolFailed       = "tool.failed"    // a call ran, and the tool or the server says that it failed
	ApprovalAsked    = "approval.requested"
	ApprovalResolved = "approval.resolved"
	AgentError       = "agent.error" // a call of the agent did not run: it was refused, or could not be read
	UpstreamDown     = "upstream.down"
	UpstreamUp       = "upstream.up"
	IndexDone        = "index.done"
	ToolTest         = "tool.test" // somebody tests the hook
)

// Events are all names that a hook can be for.
var Events = []string{
	SessionStart, SessionEnd, ToolRequested, ToolExecute, ToolStarted, ToolCompleted, ToolFailed,
	ApprovalAsked, ApprovalResolved, AgentError, UpstreamDown, UpstreamUp, IndexDone,
}

// Event is something that hooks follow. Fields that do not apply are empty.
type Event struct {
	Name      string // one of Events
	Time      time.Time
	Worker    string
	SessionID string
	Agent     string
	Host      string // how the host names itself
	CallID    string
	Server    string // alias
	Tool      string // qualified name
	plain     string // the name that rules know it by where several tools would share one
	ToolName  string // the server's own
	Kind      string
	Arguments []byte // raw JSON object, nil without
	Risk      string // class
	Category  string // what the presets of autonomy go by
	Decision  string
	By        string // who or what decided
	Error     string // why it failed, was refused, or is down
	Result    []byte // raw tool result, nil without
	Ended     bool   // the call ran; Error says that it failed
	Duration  time.Duration
	Detail    string // what else there is to say: the folder of an index
}

// Limits for an event from which secrets are removed.
const (
	maxString    = 64 << 10 // bytes of one string
	maxArguments = 1 << 20  // bytes of all
	maxOutput    = 64 << 10 // bytes of a result's text
)

// message is the JSON form of an event: what a program reads from its standard input, and a webhook posts.
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
	ID         string         `json:"id"`   // qualified, as rules spell it
	Name       string         `json:"name"` // the server's own
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

// message renders the event for a hook: without what looks like a secret, unless the hook is given those.
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

// resultText is what a tool result says: the texts of its content, or all of it when it has none.
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

// FailureOf says why a call that ran has failed, from its result or from the reason why it has none.
func FailureOf(result []byte, isError bool, failure string) string {
	switch {
	case failure != "":
		return failure
	case isError:
		return "the tool says: " + resultText(result)
	}
	return ""
}

// About fills in which tool an event is about.
func (e *Event) About(tool *tools.Tool) {
	if tool != nil {
		e.Server, e.Tool, e.plain, e.ToolName, e.Kind = tool.Server, tool.Qualified, tool.Plain, tool.Name, tool.Kind
	}
}

// name is a name as it can be an argument of a program: never an option, and one word.
func name(s string) string {
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

// TestEvent is about a call that nobody made.
func TestEvent(by string) Event {
	return Event{
		Name: ToolTest, SessionID: "s-test", Agent: "default", Host: "callgate hooks test", CallID: "call_test",
		Server: "filesystem", Tool: "filesystem_write_file", ToolName: "write_file", Kind: "write_file",
		Arguments: []byte(`{"path":"src/auth.ts","content":"example"}`), Risk: "WRITE", Decision: "approved", By: by,
		Ended: true, Result: []byte(`{"content":[{"type":"text","text":"File written successfully"}]}`), Duration: 12 * time.Millisecond,
	}
}
