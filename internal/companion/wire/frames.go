// Package wire has the frames, REST bodies and error codes of protocol version 1, for callgate and its clients. It
// knows no gates and rules, so a client needs no other package.
package wire

import (
	"encoding/json"
	"time"
)

// Version is the version of the protocol that every frame carries as "v".
const Version = 1

// Subprotocol is the WebSocket subprotocol of version 1.
const Subprotocol = "callgate.v1"

// Types of frames that clients send.
const (
	TypeHello       = "hello"
	TypeToolApprove = "tool_approve"
	TypeCancel      = "cancel"
	TypeSetAutonomy = "set_autonomy"
	TypeAgentAdd    = "agent_add"
	TypeAgentRemove = "agent_remove"
	TypeMCPTools    = "mcp_tools"
	TypeMCPResult   = "mcp_result"
	TypeChat        = "chat"
	TypeChatReset   = "chat_reset"
	TypeKBAdd       = "kb_add"
	TypeKBSearch    = "kb_search"
	TypeKBList      = "kb_list"
	TypeKBRemove    = "kb_remove"
)

// Types of frames that the server sends.
const (
	TypeToolStart           = "tool_start"
	TypeToolApproveRequest  = "tool_approve_request"
	TypeToolApproveResolved = "tool_approve_resolved"
	TypeToolResult          = "tool_result"
	TypeAgentState          = "agent_state"
	TypeTeamUpdate          = "team_update"
	TypeAutonomyChanged     = "autonomy_changed"
	TypeAuditEntry          = "audit_entry"
	TypeMCPCall             = "mcp_call"
	TypeMCPCancel           = "mcp_cancel"
	TypeChatAsked           = "chat_asked"
	TypeChatCleared         = "chat_cleared"
	TypeToken               = "token"
	TypeDone                = "done"
	TypeKBAdded             = "kb_added"
	TypeKBSearchResult      = "kb_search_result"
	TypeKBListResult        = "kb_list_result"
	TypeKBRemoved           = "kb_removed"
	TypeIndexStart          = "index_start"
	TypeIndexProgress       = "index_progress"
	TypeIndexDone           = "index_done"
	TypeError               = "error"
)

// Codes of error frames and of REST errors.
const (
	CodeProtocolMismatch = "PROTOCOL_MISMATCH"
	CodeUnauthorized     = "UNAUTHORIZED"
	CodeBadMessage       = "BAD_MESSAGE"
	CodeAnother          = "ANOTHER_PERSON" // the yes is on record, and another person has to say yes too
	CodePresence         = "PRESENCE"       // it needs a passkey, on the page alone
	CodeNotPending       = "NOT_PENDING"
	CodeNotApplied       = "NOT_APPLIED" // the answer came in time, and the call does not do as it says all the same
	CodeApprovalTimeout  = "APPROVAL_TIMEOUT"
	CodeSessionNotFound  = "SESSION_NOT_FOUND"
	CodeRefused          = "REFUSED"     // the rules, a person or the host said no to a question to the model
	CodeCancelled        = "CANCELLED"   // somebody took it back
	CodeUnavailable      = "UNAVAILABLE" // the host cannot be asked, or did not answer
	CodeEscalation       = "ESCALATION"  // a call that would raise privileges was refused
	CodeProblem          = "PROBLEM"     // calls that cannot be seen here; of approve --json also damage to what callgate keeps
	CodeInternal         = "INTERNAL"    // callgate failed; nothing was applied
)

// closeProtocolMismatch is the WebSocket close code that follows PROTOCOL_MISMATCH.
const CloseProtocolMismatch = 4406

// closeNameTaken is the WebSocket close code for a client that goes by the name of a person it has not proven to be.
const CloseNameTaken = 4403

// maxMessage bounds one frame or one request body of a client, in bytes: edited arguments can be a whole file.
const MaxMessage = 4 << 20

// AllSessions subscribes to every session in Hello. No other frame may carry it.
const AllSessions = "*"

// Head is what every frame begins with. SessionID is empty in Hello and in errors that concern no session.
type Head struct {
	V         int    `json:"v"`
	Type      string `json:"type"`
	SessionID string `json:"sessionId,omitempty"`
}

// NamedSession is the session that a message names, if it does.
func (h Head) NamedSession() string { return h.SessionID }

// Self is the head of any frame.
func (h *Head) Self() *Head { return h }

// ClientInfo names an approver. It is what the audit trail calls it, "kind:name".
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Kind    string `json:"kind"` // web, tui or custom
}

// Hello is the first frame of every client.
type Hello struct {
	Head
	Client   ClientInfo `json:"client"`
	Sessions []string   `json:"sessions"` // ["*"] or names of sessions; none means all
}

// ToolApprove answers one approval.
type ToolApprove struct {
	Head
	ToolCallID string          `json:"toolCallId"`
	ArgsDigest string          `json:"argsDigest"`
	Decision   string          `json:"decision"`            // approve, reject or always
	Grants     []GrantChoice   `json:"grants,omitempty"`    // always: of the offered ones
	Scope      string          `json:"scope,omitempty"`     // always: session or worker
	ExpiresIn  int64           `json:"expiresIn,omitempty"` // always: seconds; 0 means never
	Feedback   string          `json:"feedback,omitempty"`  // reject: what the model is told
	Arguments  json.RawMessage `json:"arguments,omitempty"` // approve: replaces the arguments
	Together   bool            `json:"together,omitempty"`  // one of several answered at once: refused for what has to be looked at by itself
	Person     string          `json:"person,omitempty"`    // who answered, where a client speaks for several; the audit trail adds it to the client's name
}

// GrantChoice is one of the offers that an "always" takes.
type GrantChoice struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
}

// Cancel ends running calls and pending approvals of a session.
type Cancel struct{ Head }

// SetAutonomy changes a session's level.
type SetAutonomy struct {
	Head
	Level string `json:"level"`
}

// AgentAdd registers a subagent profile for a session. A call that names the id in its _meta "callgate/agent"
// is judged under the profile's permissions too; its id comes back in team_update.
type AgentAdd struct {
	Head
	Role        string          `json:"role"`
	Name        string          `json:"name,omitempty"`
	Goal        string          `json:"goal,omitempty"`
	Domain      string          `json:"domain,omitempty"`
	Provider    string          `json:"provider,omitempty"`
	Model       string          `json:"model,omitempty"`
	Roles       []AgentRole     `json:"roles,omitempty"`
	Permissions json.RawMessage `json:"permissions,omitempty"` // rules as in permissions.jsonc; absent adds none
}

// AgentRole is one of several roles of an agent.
type AgentRole struct {
	Name   string `json:"name"`
	Goal   string `json:"goal"`
	Domain string `json:"domain"`
}

// AgentRemove ends a registered profile.
type AgentRemove struct {
	Head
	AgentID string `json:"agentId"`
}

// MCPTools lists all tools that the client runs itself for one session. It takes back tools that only an earlier frame
// named. callgate offers each to the host as {server}_{name}.
type MCPTools struct {
	Head
	Tools []MCPTool `json:"tools"`
}

// MCPTool is one tool of a client.
type MCPTool struct {
	Server      string          `json:"server"` // alias: no configured server's
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`           // JSON Schema of an object
	Annotations json.RawMessage `json:"annotations,omitempty"` // as in MCP; they can raise the risk, never lower it
}

// MCPResult answers an MCPCall, once.
type MCPResult struct {
	Head
	ToolCallID string          `json:"toolCallId"`
	Result     json.RawMessage `json:"result,omitempty"` // that of tools/call, {"content": [...]}, or a text
	Error      string          `json:"error,omitempty"`  // instead of a result: what the model is told
}

// MCPCall has the client run one of its tools. It was judged and released.
type MCPCall struct {
	Head
	ToolCallID string          `json:"toolCallId"` // of this run; MCPResult names it
	Server     string          `json:"server"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
}

// MCPCancel: nobody waits for the result of an MCPCall any more.
type MCPCancel struct {
	Head
	ToolCallID string `json:"toolCallId"`
}

// ToolStart: a call was allowed and goes to its upstream.
type ToolStart struct {
	Head
	AgentID    string          `json:"agentId"`
	ToolCallID string          `json:"toolCallId"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
	Risk       string          `json:"risk"` // class
	RiskLabel  string          `json:"riskLabel"`
}

// ToolApproveRequest: a call waits for a person.
type ToolApproveRequest struct {
	Head
	AgentID    string          `json:"agentId"`
	ToolCallID string          `json:"toolCallId"`
	ApprovalID string          `json:"approvalId"` // equal to ToolCallID
	WorkerID   string          `json:"workerId"`
	Server     string          `json:"server"`
	Tool       string          `json:"tool"`
	Kind       string          `json:"kind"`
	Args       json.RawMessage `json:"args"`
	ArgsDigest string          `json:"argsDigest"`
	Summary    string          `json:"summary"`
	Risk       Risk            `json:"risk"`
	Client     Host            `json:"client"` // the host's own name for itself
	Origin     Origin          `json:"origin"` // where the host works
	Reason     string          `json:"reason"` // one sentence: why a person is asked
	Reasons    []Reason        `json:"reasons"`
	Commands   []Command       `json:"commands,omitempty"`
	Always     []Offer         `json:"always"`
	// Description is what the tool's server says of it: a claim.
	Description string `json:"description,omitempty"`
	// DefinitionChanged holds the tool's definition as it was accepted and as it is; nil when they are the same.
	DefinitionChanged *DefinitionChange `json:"definitionChanged,omitempty"`
	// Rewritten holds the arguments as they came when a hook changed them; nil when args are what came.
	Rewritten *Rewrite  `json:"rewritten,omitempty"`
	Marks     []Mark    `json:"marks,omitempty"`
	Undo      *Undo     `json:"undo,omitempty"` // whether what it changes can be brought back; nil when nobody can tell
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	// AwaitsHost says that callgate was restarted since: the host has to repeat the call, and the answer is kept for it.
	AwaitsHost bool `json:"awaitsHost,omitempty"`
	Presence   bool `json:"presence,omitempty"` // a yes needs a passkey: answer on the page
	// Approvers is how many persons have to approve, each with a credential of their own; 0 is one, whoever it is.
	Approvers  int      `json:"approvers,omitempty"`
	ApprovedBy []string `json:"approvedBy,omitempty"`
	// Prompt is the beginning of what the user asked the model for last; "" where callgate does not hear it.
	Prompt string `json:"prompt,omitempty"`
}

// Host is how the program that made a call names itself: a claim.
type Host struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Principal string `json:"principal,omitempty"`
}

// Origin is where a host works, as far as callgate can tell.
type Origin struct {
	Folder   string `json:"folder,omitempty"`
	Branch   string `json:"branch,omitempty"`
	Terminal string `json:"terminal,omitempty"`
}

// DefinitionChange holds two definitions of a tool as JSON.
type DefinitionChange struct {
	Old json.RawMessage `json:"old,omitempty"` // as it was accepted; nil when it never was
	New json.RawMessage `json:"new"`
	Why string          `json:"why"`
}

// Rewrite says that a hook changed the arguments of a call.
type Rewrite struct {
	By       string          `json:"by"`
	Original json.RawMessage `json:"original"` // as they came; null when there were none
}

// Undo says whether what a call changes can be brought back.
type Undo struct {
	Kept bool   `json:"kept"`
	Text string `json:"text"` // one line for people
}

// Widening counts commands that a grant would newly allow, with examples.
type Widening struct {
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// Risk is a class with what people read of it.
type Risk struct {
	Class    string `json:"class"`
	Label    string `json:"label"` // low, medium, high or critical
	Category string `json:"category"`
}

// Reason says what the rules, a mark or the autonomy level say of one subject.
type Reason struct {
	Subject string `json:"subject"`
	Rule    string `json:"rule"`
	Layer   string `json:"layer"`
	Action  string `json:"action"`
}

// Command is one effective command of a shell text.
type Command struct {
	Argv   []string `json:"argv"`
	Via    []string `json:"via,omitempty"`
	Writes []string `json:"writes,omitempty"`
	Reads  []string `json:"reads,omitempty"`
	Risk   string   `json:"risk"`
}

// Offer is one grant that "always" may choose; they go from narrow to broad within a subject.
type Offer struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Risk    string `json:"risk"`    // ceiling that the grant would have
	Subject int    `json:"subject"` // which of the call's subjects it is for
	Default bool   `json:"default"`
	// NewlyAllows counts known commands that the grant would allow from now on; nil when there are none.
	NewlyAllows *Widening `json:"newlyAllows,omitempty"`
	// Approved counts earlier approvals in the project that the grant would have answered.
	Approved int `json:"approved,omitzero"`
}

// Mark is a reason why only a person can release the call.
type Mark struct {
	Code string `json:"code"`
	Text string `json:"text"`
	// Quote are the words of the arguments that it speaks of, From the result that they are known from; of flow.
	Quote string  `json:"quote,omitempty"`
	From  *Source `json:"from,omitempty"`
}

// Source is the result of an earlier call.
type Source struct {
	ToolCallID string    `json:"toolCallId"`
	Tool       string    `json:"tool"`
	Server     string    `json:"server"`
	At         time.Time `json:"at"`
}

// ToolApproveResolved: an approval is over, whoever or whatever ended it.
type ToolApproveResolved struct {
	Head
	ToolCallID string `json:"toolCallId"`
	Decision   string `json:"decision"` // approve, reject, always, timeout or withdrawn
	By         string `json:"by"`
	Reason     string `json:"reason"`
}

// ToolResult: a call came back. A result larger than the server shows is left out and counted.
type ToolResult struct {
	Head
	AgentID    string          `json:"agentId"`
	ToolCallID string          `json:"toolCallId"`
	Tool       string          `json:"tool"`
	Duration   int64           `json:"duration"` // milliseconds
	Result     json.RawMessage `json:"result"`   // null when there is none, or when Omitted is set
	Omitted    int             `json:"omittedBytes,omitempty"`
	IsError    bool            `json:"isError"`
}

// AgentState: what an agent of a session does now. What the session's own, the first of the roster, does is what
// the whole session does.
type AgentState struct {
	Head
	AgentID  string `json:"agentId"`
	Status   string `json:"status"` // idle, waiting, running or thinking
	Role     string `json:"role"`
	Provider string `json:"provider,omitempty"` // as agent_add described it, and so is the model
	Model    string `json:"model,omitempty"`
}

// TeamUpdate is the roster of a session. It is empty when the session has ended.
type TeamUpdate struct {
	Head
	Agents   []TeamAgent `json:"agents"`
	Strategy string      `json:"strategy"` // single: the host's own agent works alone; delegate: others are registered beside it
}

// TeamAgent is one agent in the roster: the session's own, or one that agent_add registered, as it was described.
type TeamAgent struct {
	AgentID     string      `json:"agentId"`
	Name        string      `json:"name,omitempty"`
	Role        string      `json:"role"`
	Goal        string      `json:"goal,omitempty"`
	Domain      string      `json:"domain,omitempty"`
	Provider    string      `json:"provider,omitempty"`
	Model       string      `json:"model,omitempty"`
	Roles       []AgentRole `json:"roles,omitempty"`
	Tools       []string    `json:"tools"` // that the host is offered, by qualified name
	Client      Host        `json:"client"`
	Permissions string      `json:"permissions"` // the mode of the session's gate
}

// AutonomyChanged: the session's level, NONE when rules alone decide.
type AutonomyChanged struct {
	Head
	Level string `json:"level"`
	By    string `json:"by"`
}

// AuditEntry is one decision as the audit log has it.
type AuditEntry struct {
	Head
	ToolCallID string    `json:"toolCallId"`
	AgentID    string    `json:"agentId"`
	Tool       string    `json:"tool"`
	Risk       string    `json:"risk"` // class
	RiskLabel  string    `json:"riskLabel"`
	Decision   string    `json:"decision"`
	Timestamp  time.Time `json:"timestamp"`
	Summary    string    `json:"summary"`
	By         string    `json:"by"`
	From       string    `json:"from,omitempty"` // where a person decided from
	Rule       string    `json:"rule"`
	Digest     string    `json:"digest"`
}

// Error says what was wrong with a frame, or that an approval timed out.
type Error struct {
	Head
	Message    string `json:"message"`
	Code       string `json:"code,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
}
