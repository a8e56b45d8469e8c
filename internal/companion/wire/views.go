package wire

import "time"

// States of an upstream.
const (
	UpstreamIdle     = "idle" // nobody needs it now: the next host or call starts it
	UpstreamStarting = "starting"
	UpstreamUp       = "up"
	UpstreamDown     = "down"
)

// UpstreamState is what people see of one MCP server behind callgate.
type UpstreamState struct {
	Name  string `json:"name"`
	State string `json:"state"` // idle, starting, up or down
	Tools int    `json:"tools"`
	Error string `json:"error,omitempty"` // why it is down
	Guard string `json:"guard,omitempty"` // what keeps its process from callgate: namespaces, landlock, or none and why

	Process int `json:"process"` // id of the callgate that it is behind; the server fills it in
}

// HostState is one thing that is known of an LLM host on this machine, as "callgate doctor" says it.
type HostState struct {
	Host  string `json:"host"`
	State string `json:"state"` // ok, warning or broken
	Text  string `json:"text"`
	Cure  string `json:"cure,omitempty"` // a command
}

// ToolsView is what one session is offered.
type ToolsView struct {
	SessionID string       `json:"sessionId"` // "" while no host is connected: tools are shown as they were accepted last
	Servers   []ServerView `json:"servers"`
}

// ServerView is one MCP server with its tools.
type ServerView struct {
	UpstreamState
	Offered []ToolView `json:"offered"`
}

// ToolView is one tool. Everything that its server says of it is a claim.
type ToolView struct {
	Tool        string            `json:"tool"` // what rules see
	Name        string            `json:"name"` // the server's own
	Description string            `json:"description"`
	Kind        string            `json:"kind,omitempty"`
	Bound       bool              `json:"bound"`              // the kind is certain: it counts for allow rules
	Why         string            `json:"why"`                // how the kind was found
	Subjects    map[string]string `json:"subjects,omitempty"` // argument → role, for the arguments that are judged
	Verdict     string            `json:"verdict"`            // of a call with values that no pattern is about
	Rule        string            `json:"rule"`               // which gives it
	Patterns    int               `json:"patterns"`           // rules for this tool that look at values
	Hash        string            `json:"hash"`               // of the definition
	// Labels say what it returns and does; nil for a tool that nobody labelled. Draft is then what callgate would suggest,
	// and Arguments are the names that it may use. A draft lets nothing run.
	Labels    *Labels  `json:"labels,omitempty"`
	Draft     *Labels  `json:"draft,omitempty"`
	Arguments []string `json:"arguments,omitempty"`
	// DefinitionChanged holds the definition as it was accepted and as it is; nil when they are the same.
	DefinitionChanged *Redefinition `json:"definitionChanged,omitempty"`
}

// Labels are those of a tool, as the configuration spells them.
type Labels struct {
	Effect      string   `json:"effect"`
	Returns     []string `json:"returns,omitempty"`
	Destination []string `json:"destination,omitempty"`
	Content     []string `json:"content,omitempty"`
}

// Redefinition is two definitions as JSON text: a client that decodes it itself loses nothing.
type Redefinition struct {
	Old string `json:"old,omitempty"` // "" for a tool that was never accepted
	New string `json:"new"`
	Why string `json:"why"`
}

// OwnCommand is a shell command that a person runs on their own machine, outside the gate. It is put on record before
// it runs, and again with its outcome.
type OwnCommand struct {
	Command  string `json:"command"`
	Dir      string `json:"dir,omitempty"`
	Outcome  string `json:"outcome,omitempty"`  // "ended with exit code 0"; "" before it runs
	Duration *int64 `json:"duration,omitempty"` // milliseconds
}

// FreezeRequest is the body of PUT and DELETE /api/freeze.
type FreezeRequest struct {
	SessionID string    `json:"sessionId,omitempty"` // "" for all sessions of all processes
	Until     time.Time `json:"until,omitzero"`      // zero until somebody ends it
	Reason    string    `json:"reason,omitempty"`
}

// PromptTold is the body of POST /api/sessions/{id}/prompt.
type PromptTold struct {
	SessionID string `json:"sessionId,omitempty"`
	Prompt    string `json:"prompt"`
}

func (p PromptTold) NamedSession() string { return p.SessionID }

// ProcessInfo is what people see of one callgate.
type ProcessInfo struct {
	PID      int    `json:"pid"`               // 0 for a replica elsewhere
	Replica  string `json:"replica,omitempty"` // of a cluster
	Worker   string `json:"workerId"`          // "" for one that judges nothing
	Version  string `json:"version"`
	Hub      bool   `json:"hub"`
	Sessions int    `json:"sessions"`
	Silent   bool   `json:"silent,omitempty"` // it joined and does not answer
}

// ReplicaInfo is one replica of a cluster.
type ReplicaInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"` // up or silent
	Rules   uint64 `json:"rules"` // revision that it goes by
	Self    bool   `json:"self,omitempty"`
}

// PairRequest is what POST /api/pair takes.
type PairRequest struct {
	Credential string `json:"credential"` // approve or view; none means view
	Name       string `json:"name"`       // of the person, for the audit trail
}

// PairCode is what it answers.
type PairCode struct {
	Code      string `json:"code"`
	ExpiresIn int    `json:"expiresIn"`      // seconds
	Host      string `json:"host,omitempty"` // that the page is to be opened at, when passkeys need another than the address
}

// Kinds of tools whose calls can be compared with files on the disk.
const (
	KindWriteFile = "write_file"
	KindEditFile  = "edit_file"
)

// FileChange is what a call would make of one file, as far as its arguments tell: servers have the last word.
type FileChange struct {
	Path   string `json:"path"`  // absolute, links resolved
	State  string `json:"state"` // new, changed, same or unknown
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Why    string `json:"why,omitempty"` // why it is not known, or what else is to be said
}

// States of a FileChange.
const (
	ChangeNew     = "new"     // there is no such file yet
	ChangeEdited  = "changed" // it becomes After
	ChangeNone    = "same"    // it has that content already
	ChangeUnknown = "unknown" // see Why
)
