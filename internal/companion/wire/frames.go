// Package wire has the frames, REST bodies and error codes of protocol version 1, for callgate and its clients. It does
// not know gates or rules, so a client needs no other package.
package wire

import (
	"encoding/json"
	"time"
)

// Version is the protocol version that every frame carries as "v".
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
	CodePresence         = "PRESENCE"       // it needs a passkey, which works only on the page
	CodeNotPending       = "NOT_PENDING"
	CodeNotApplied       = "NOT_APPLIED" // the answer came in time, but the call will not do what it says
	CodeApprovalTimeout  = "APPROVAL_TIMEOUT"
	CodeSessionNotFound  = "SESSION_NOT_FOUND"
	CodeRefused          = "REFUSED"     // the rules, a person or the host refused a question to the model
	CodeCancelled        = "CANCELLED"   // somebody withdrew it
	CodeUnavailable      = "UNAVAILABLE" // the host cannot be asked, or did not answer
	CodeEscalation       = "ESCALATION"  // a call that would raise privileges was refused
	CodeProblem          = "PROBLEM"     // calls cannot be seen here; with approve --json also damage to what callgate stores
	CodeInternal         = "INTERNAL"    // callgate failed; nothing was applied
)

// CloseProtocolMismatch is the WebSocket close code that follows PROTOCOL_MISMATCH.
const CloseProtocolMismatch = 4406

// CloseNameTaken is the WebSocket close code for a client that uses a person's name without proving it.
const CloseNameTaken = 4403

// MaxMessage bounds a client's frame or request body, in bytes. Edited arguments can be a whole file.
const MaxMessage = 4 << 20

// AllSessions subscribes to every session in Hello. No other frame may carry it.
const AllSessions = "*"

// Head starts every frame. SessionID is empty in Hello and in errors that concern no session.
type Head struct {
	V         int    `json:"v"`
	Type      string `json:"type"`
	SessionID string `json:"sessionId,omitempty"`
}

// NamedSession returns the session that a message names, or "".
func (h Head) NamedSession() string { return h.SessionID }

// Self returns the head of any frame.
func (h *Head) Self() *Head { return h }

// ClientInfo names an approver. The audit trail calls it "kind:name".
type ClientInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Kind    string `json:"kind"` // web, tui or custom
}

// Hello is the first frame of every client.
type Hello struct {
	Head
	Client   ClientInfo `json:"client"`
	Sessions []string   `json:"sessions"` // ["*"] or session ids; empty means all
}

// ToolApprove answers one approval.
type ToolApprove struct {
	Head
	ToolCallID string          `json:"toolCallId"`
	ArgsDigest string          `json:"argsDigest"`
	Decision   string          `json:"decision"`            // approve, reject or always
	Grants     []GrantChoice   `json:"grants,omitempty"`    // always: some of the offers
	Scope      string          `json:"scope,omitempty"`     // always: session or worker
	ExpiresIn  int64           `json:"expiresIn,omitempty"` // always: seconds; 0 means never
	Feedback   string          `json:"feedback,omitempty"`  // reject: text for the model
	Arguments  json.RawMessage `json:"arguments,omitempty"` // approve: replaces the arguments
	Together   bool            `json:"together,omitempty"`  // answered together with others: refused if the call must be looked at by itself
	Person     string          `json:"person,omitempty"`    // who answered, if a client speaks for several persons; the audit trail adds it to the client's name
}

// GrantChoice is an offer that an "always" takes.
type GrantChoice struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
}

// Cancel ends the running calls and pending approvals of a session.
type Cancel struct{ Head }

// SetAutonomy changes a session's level.
type SetAutonomy struct {
	Head
	Level string `json:"level"`
}

// AgentAdd registers a subagent profile for a session. A call that names the agent's id in its _meta "callgate/agent"
// is also judged by the profile's permissions. The id comes in a team_update.
type AgentAdd struct {
	Head
	Role        string          `json:"role"`
	Name        string          `json:"name,omitempty"`
	Goal        string          `json:"goal,omitempty"`
	Domain      string          `json:"domain,omitempty"`
	Provider    string          `json:"provider,omitempty"`
	Model       string          `json:"model,omitempty"`
	Roles       []AgentRole     `json:"roles,omitempty"`
	Permissions json.RawMessage `json:"permissions,omitempty"` // rules as in permissions.jsonc; may be absent
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

// MCPTools lists all tools that the client runs itself for one session. It replaces earlier lists. callgate offers each
// tool to the host as {server}_{name}.
type MCPTools struct {
	Head
	Tools []MCPTool `json:"tools"`
}

// MCPTool is one tool of a client.
type MCPTool struct {
	Server      string          `json:"server"` // alias; MUST NOT be a configured server's
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"`           // JSON Schema of an object
	Annotations json.RawMessage `json:"annotations,omitempty"` // as in MCP; they can raise the risk, never lower it
}

// MCPResult answers an MCPCall, once.
type MCPResult struct {
	Head
	ToolCallID string          `json:"toolCallId"`
	Result     json.RawMessage `json:"result,omitempty"` // the result of tools/call, {"content": [...]}, or a text
	Error      string          `json:"error,omitempty"`  // instead of a result: text for the model
}

// MCPCall has the client run one of its tools. The call was judged and allowed.
type MCPCall struct {
	Head
	ToolCallID string          `json:"toolCallId"` // of this run; MCPResult repeats it
	Server     string          `json:"server"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
}

// MCPCancel means that nobody waits for the result of an MCPCall any more.
type MCPCancel struct {
	Head
	ToolCallID string `json:"toolCallId"`
}

// ToolStart means that a call was allowed and goes to its upstream.
type ToolStart struct {
	Head
	AgentID    string          `json:"agentId"`
	ToolCallID string          `json:"toolCallId"`
	Tool       string          `json:"tool"`
	Args       json.RawMessage `json:"args"`
	Risk       string          `json:"risk"` // class
	RiskLabel  string          `json:"riskLabel"`
}

// ToolApproveRequest means that a call waits for a person.
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
	Reason     string          `json:"reason"` // why a person is asked, in one sentence
	Reasons    []Reason        `json:"reasons"`
	Commands   []Command       `json:"commands,omitempty"`
	Always     []Offer         `json:"always"`
	// Description is the server's own description of the tool: a claim.
	Description string `json:"description,omitempty"`
	// DefinitionChanged holds the tool's accepted and current definitions; nil if they are the same.
	DefinitionChanged *DefinitionChange `json:"definitionChanged,omitempty"`
	// Rewritten holds the original arguments if a hook changed them; otherwise nil.
	Rewritten *Rewrite  `json:"rewritten,omitempty"`
	Marks     []Mark    `json:"marks,omitempty"`
	Undo      *Undo     `json:"undo,omitempty"` // whether its changes can be undone; nil if not known
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt"`
	// AwaitsHost means that callgate was restarted: the host has to repeat the call, and the answer is kept for it.
	AwaitsHost bool `json:"awaitsHost,omitempty"`
	Presence   bool `json:"presence,omitempty"` // a yes needs a passkey: answer on the page
	// Approvers is how many persons must approve, each with their own credential; 0 means one, with any credential.
	Approvers  int      `json:"approvers,omitempty"`
	ApprovedBy []string `json:"approvedBy,omitempty"`
	// Prompt is the start of the user's last prompt to the model; "" if callgate does not get prompts.
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
	Old json.RawMessage `json:"old,omitempty"` // the accepted one; nil if none was accepted
	New json.RawMessage `json:"new"`
	Why string          `json:"why"`
}

// Rewrite means that a hook changed the arguments of a call.
type Rewrite struct {
	By       string          `json:"by"`
	Original json.RawMessage `json:"original"` // the original arguments; null if there were none
}

// Undo says whether the changes of a call can be undone.
type Undo struct {
	Kept bool   `json:"kept"`
	Text string `json:"text"` // one line for people
}

// Widening counts the commands that a grant would newly allow, with examples.
type Widening struct {
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// Risk is a risk class with its label and category.
type Risk struct {
	Class    string `json:"class"`
	Label    string `json:"label"` // low, medium, high or critical
	Category string `json:"category"`
}

// Reason says how the rules, a mark or the autonomy level judge one subject.
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

// Offer is a grant that "always" may choose. The offers for one subject go from narrow to broad.
type Offer struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Risk    string `json:"risk"`    // the grant's ceiling
	Subject int    `json:"subject"` // index of the call's subject that it is for
	Default bool   `json:"default"`
	// NewlyAllows counts known commands that the grant would newly allow; nil if there are none.
	NewlyAllows *Widening `json:"newlyAllows,omitempty"`
	// Approved counts earlier approvals in the project that the grant would have made unnecessary.
	Approved int `json:"approved,omitzero"`
}

// Mark is a reason why only a person can release the call.
type Mark struct {
	Code string `json:"code"`
	Text string `json:"text"`
	// Quote holds the words of the arguments that a flow mark is about; From is the result that they came from.
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

// ToolApproveResolved means that an approval is over, no matter who or what ended it.
type ToolApproveResolved struct {
	Head
	ToolCallID string `json:"toolCallId"`
	Decision   string `json:"decision"` // approve, reject, always, timeout or withdrawn
	By         string `json:"by"`
	Reason     string `json:"reason"`
}

// ToolResult means that a call has returned. A result that is too large to show is left out, and its size is given.
type ToolResult struct {
	Head
	AgentID    string          `json:"agentId"`
	ToolCallID string          `json:"toolCallId"`
	Tool       string          `json:"tool"`
	Duration   int64           `json:"duration"` // milliseconds
	Result     json.RawMessage `json:"result"`   // null if there is none, or if Omitted is set
	Omitted    int             `json:"omittedBytes,omitempty"`
	IsError    bool            `json:"isError"`
}

// AgentState says what an agent of a session is doing. The session's own agent, the first of the roster, does what the
// whole session does.
type AgentState struct {
	Head
	AgentID  string `json:"agentId"`
	Status   string `json:"status"` // idle, waiting, running or thinking
	Role     string `json:"role"`
	Provider string `json:"provider,omitempty"` // as described in agent_add, like the model
	Model    string `json:"model,omitempty"`
}

// TeamUpdate is the roster of a session. It is empty if the session has ended.
type TeamUpdate struct {
	Head
	Agents   []TeamAgent `json:"agents"`
	Strategy string      `json:"strategy"` // single: the host's own agent works alone; delegate: other agents are registered too
}

// TeamAgent is one agent in the roster: the session's own, or one registered with agent_add, as it was described.
type TeamAgent struct {
	AgentID     string      `json:"agentId"`
	Name        string      `json:"name,omitempty"`
	Role        string      `json:"role"`
	Goal        string      `json:"goal,omitempty"`
	Domain      string      `json:"domain,omitempty"`
	Provider    string      `json:"provider,omitempty"`
	Model       string      `json:"model,omitempty"`
	Roles       []AgentRole `json:"roles,omitempty"`
	Tools       []string    `json:"tools"` // qualified names of the tools offered to the host
	Client      Host        `json:"client"`
	Permissions string      `json:"permissions"` // the mode of the session's gate
}

// AutonomyChanged is the session's level; NONE if rules alone decide.
type AutonomyChanged struct {
	Head
	Level string `json:"level"`
	By    string `json:"by"`
}

// AuditEntry is one decision from the audit log.
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
	From       string    `json:"from,omitempty"` // the address from which a person decided
	Rule       string    `json:"rule"`
	Digest     string    `json:"digest"`
}

// Error says what was wrong with a frame, that an approval timed out, or what a person should know.
type Error struct {
	Head
	Message    string `json:"message"`
	Code       string `json:"code,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
}
