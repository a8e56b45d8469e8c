package wire

import "time"

// States of an upstream.
const (
	UpstreamIdle     = "idle" // not in use: the next host or call starts it
	UpstreamStarting = "starting"
	UpstreamUp       = "up"
	UpstreamDown     = "down"
)

// UpstreamState is the state of one MCP server behind callgate, for people.
type UpstreamState struct {
	Name  string `json:"name"`
	State string `json:"state"` // idle, starting, up or down
	Tools int    `json:"tools"`
	Error string `json:"error,omitempty"` // why it is down
	Guard string `json:"guard,omitempty"` // what separates its process from callgate: namespaces, landlock, or none and why

	Process int `json:"process"` // id of the callgate process in front of it; the server fills it in
}

// HostState is one finding about an LLM host on this machine, as in "callgate doctor".
type HostState struct {
	Host  string `json:"host"`
	State string `json:"state"` // ok, warning or broken
	Text  string `json:"text"`
	Cure  string `json:"cure,omitempty"` // a command that helps
}

// ToolsView lists the tools offered to one session.
type ToolsView struct {
	SessionID string       `json:"sessionId"` // "" while no host is connected: then tools are shown as last accepted
	Servers   []ServerView `json:"servers"`
}

// ServerView is one MCP server with its tools.
type ServerView struct {
	UpstreamState
	Offered []ToolView `json:"offered"`
}

// ToolView is one tool. Everything that its server says about it is a claim.
type ToolView struct {
	Tool        string            `json:"tool"` // the name that rules see
	Name        string            `json:"name"` // the server's name for it
	Description string            `json:"description"`
	Kind        string            `json:"kind,omitempty"`
	Bound       bool              `json:"bound"`              // the kind is certain, so it counts for allow rules
	Why         string            `json:"why"`                // how the kind was found
	Subjects    map[string]string `json:"subjects,omitempty"` // argument → role, for judged arguments
	Verdict     string            `json:"verdict"`            // of a call whose values match no pattern
	Rule        string            `json:"rule"`               // the rule that gives the verdict
	Patterns    int               `json:"patterns"`           // number of rules for this tool that look at values
	Hash        string            `json:"hash"`               // of the definition
	// Labels say what the tool returns and does; nil if nobody has labelled it. Then Draft is callgate's suggestion,
	// and Arguments are the names that it may use. A draft allows nothing.
	Labels    *Labels  `json:"labels,omitempty"`
	Draft     *Labels  `json:"draft,omitempty"`
	Arguments []string `json:"arguments,omitempty"`
	// DefinitionChanged holds the accepted and the current definition; nil if they are the same.
	DefinitionChanged *Redefinition `json:"definitionChanged,omitempty"`
}

// Labels are the labels of a tool, spelled as in the configuration.
type Labels struct {
	Effect      string   `json:"effect"`
	Returns     []string `json:"returns,omitempty"`
	Destination []string `json:"destination,omitempty"`
	Content     []string `json:"content,omitempty"`
}

// Redefinition holds two definitions as JSON text, so that a client that decodes them loses nothing.
type Redefinition struct {
	Old string `json:"old,omitempty"` // "" if the tool was never accepted
	New string `json:"new"`
	Why string `json:"why"`
}

// OwnCommand is a shell command that a person runs on their own machine, outside the gate. It is recorded before it
// runs, and again with its outcome.
type OwnCommand struct {
	Command  string `json:"command"`
	Dir      string `json:"dir,omitempty"`
	Outcome  string `json:"outcome,omitempty"`  // such as "ended with exit code 0"; "" before it runs
	Duration *int64 `json:"duration,omitempty"` // milliseconds
}

// FreezeRequest is the body of PUT and DELETE /api/freeze.
type FreezeRequest struct {
	SessionID string    `json:"sessionId,omitempty"` // "" means all sessions of all processes
	Until     time.Time `json:"until,omitzero"`      // if zero, until somebody ends it
	Reason    string    `json:"reason,omitempty"`
}

// PromptTold is the body of POST /api/sessions/{id}/prompt.
type PromptTold struct {
	SessionID string `json:"sessionId,omitempty"`
	Prompt    string `json:"prompt"`
}

func (p PromptTold) NamedSession() string { return p.SessionID }

// ProcessInfo describes one callgate process for people.
type ProcessInfo struct {
	PID      int    `json:"pid"`               // 0 for a replica elsewhere
	Replica  string `json:"replica,omitempty"` // its name in a cluster
	Worker   string `json:"workerId"`          // "" if it judges nothing
	Version  string `json:"version"`
	Hub      bool   `json:"hub"`
	Sessions int    `json:"sessions"`
	Silent   bool   `json:"silent,omitempty"` // it joined but does not answer
}

// ReplicaInfo is one replica of a cluster.
type ReplicaInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"` // up or silent
	Rules   uint64 `json:"rules"` // revision of the rules that it follows
	Self    bool   `json:"self,omitempty"`
}

// PairRequest is the body of POST /api/pair.
type PairRequest struct {
	Credential string `json:"credential"` // approve or view; "" means view
	Name       string `json:"name"`       // the person's name in the audit trail
}

// PairCode is the answer of POST /api/pair.
type PairCode struct {
	Code      string `json:"code"`
	ExpiresIn int    `json:"expiresIn"`      // seconds
	Host      string `json:"host,omitempty"` // host name at which to open the page, if passkeys need one
}

// Kinds of tools whose calls can be compared with files on disk.
const (
	KindWriteFile = "write_file"
	KindEditFile  = "edit_file"
)

// FileChange is what a call would do to one file, judging by its arguments. The server may do something else.
type FileChange struct {
	Path   string `json:"path"`  // absolute, links resolved
	State  string `json:"state"` // new, changed, same or unknown
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Why    string `json:"why,omitempty"` // why it is not known, or a remark
}

// States of a FileChange.
const (
	ChangeNew     = "new"     // the file does not exist yet
	ChangeEdited  = "changed" // the file becomes After
	ChangeNone    = "same"    // the file already has that content
	ChangeUnknown = "unknown" // see Why
)
