package gate

import (
	"encoding/json"
	"errors"
	"time"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/permissions"
)

// Event is something that happened at the gate, for people's clients. The concrete types are Asked, Resolved, Started,
// Finished, AutonomyChanged, Recorded, SessionOpened and SessionClosed.
type Event interface{ Session() string }

// Approval is one pending question, as a person sees it. It is immutable.
type Approval struct {
	ID        string // equal to the call's ID
	SessionID string
	Worker    string
	Agent     string
	Server    string
	Tool      string // qualified name
	Own       string `json:"-"` // the server's name for it; "" for an approval of another process
	Kind      string
	Says      string // the server's description of the tool
	Arguments json.RawMessage
	Digest    string
	Analysis  *tools.Analysis
	Reason    string       // one sentence: why a person is asked
	Marks     []tools.Mark // why only a person can release it; none when a rule or the level asks
	Reasons   []Reason
	Offers    []tools.Offer
	Host      Client        // of the session
	Origin    Origin        // of the session
	Undo      *Undo         // whether its changes can be undone; nil if nobody can tell
	Redefined *Redefinition // set if the tool's definition is not the accepted one
	Rewrite   *Rewrite      // set if a hook changed the arguments
	CreatedAt time.Time
	ExpiresAt time.Time
	// AwaitsHost says that callgate was restarted and the host has to repeat the call. The answer is kept until then.
	AwaitsHost bool
	Presence   bool // a yes needs a passkey
	Approvers  int  // how many people must approve, each with a credential of their own; 0 means any one person
	ApprovedBy []string
	// Prompt is the beginning of the user's last prompt, or "" if callgate does not see prompts. It is shown and never
	// stored.
	Prompt string `json:"-"`
}

// Undo says whether a call's changes can be undone.
type Undo struct {
	Kept bool   `json:"kept"`
	Text string `json:"text"` // one line for people
}

// Reason says what the rules, a mark or the autonomy level say about one subject.
type Reason struct {
	Subject string             `json:"subject"`
	Rule    string             `json:"rule"`
	Layer   permissions.Layer  `json:"layer"`
	Action  permissions.Action `json:"action"`
}

// Asked says that an approval is pending. Later subscribers get it too.
type Asked struct{ Approval *Approval }

// Resolved says that an approval is no longer pending. Decision is approve, reject, always, timeout or withdrawn.
type Resolved struct{ SessionID, ID, Decision, By, Reason string }

// Started says that a call was allowed and is about to be forwarded.
type Started struct {
	SessionID, Agent, ID, Tool string
	Arguments                  json.RawMessage
	Risk                       permissions.Risk
	Thinks                     bool // it goes to the model of the session's host
}

// Finished says that a forwarded call ended. Result is the raw result, or nil if there is none.
type Finished struct {
	SessionID, Agent, ID, Tool string
	Duration                   time.Duration
	Result                     json.RawMessage
	IsError                    bool
}

// AutonomyChanged says that the session's level is now Level, or "NONE" if rules alone decide.
type AutonomyChanged struct{ SessionID, Level, By string }

// Recorded says that a record was written to the audit log.
type Recorded struct{ Record audit.Record }

// SessionOpened says that a session began or changed; SessionClosed says that it ended.
type (
	SessionOpened struct{ Info SessionInfo }
	SessionClosed struct{ Info SessionInfo }
)

func (e Asked) Session() string           { return e.Approval.SessionID }
func (e Resolved) Session() string        { return e.SessionID }
func (e Started) Session() string         { return e.SessionID }
func (e Finished) Session() string        { return e.SessionID }
func (e AutonomyChanged) Session() string { return e.SessionID }
func (e Recorded) Session() string        { return e.Record.SessionID }
func (e SessionOpened) Session() string   { return e.Info.ID }
func (e SessionClosed) Session() string   { return e.Info.ID }

// SessionInfo is what people see of a session.
type SessionInfo struct {
	ID        string      `json:"sessionId"`
	Worker    string      `json:"workerId"`
	Agent     string      `json:"agentId"`
	Agents    []AgentInfo `json:"agents"` // the session's own first
	Client    Client      `json:"client"`
	Autonomy  string      `json:"autonomy"` // a level, a category preset, or NONE
	Mode      string      `json:"mode"`
	Frozen    string      `json:"frozen,omitempty"` // why nothing but reading goes through
	Status    string      `json:"status"`           // idle, waiting, running or thinking
	Pending   int         `json:"pending"`
	Tools     []string    `json:"-"` // tools that the host is offered, by qualified name
	Origin    Origin      `json:"origin"`
	CreatedAt time.Time   `json:"createdAt"`
	// LastActivity is when a call last came or ended.
	LastActivity time.Time `json:"lastActivity"`
}

// Client is how a host describes itself. It is shown and never trusted; Principal alone is authenticated.
type Client struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Principal string `json:"principal,omitempty"` // its authenticated identity; "" if there is none
}

// Answer is an approver's answer to one pending approval.
type Answer struct {
	SessionID string          // must be the approval's
	Digest    string          // of the arguments that the approver saw
	Decision  string          // approve, reject or always
	Together  bool            // one of several answers given at once; a call that needs an answer of its own is refused then
	Feedback  string          // reject: goes to the model
	Grants    []GrantChoice   // always: which offers; empty means the default of each subject
	Scope     string          // always: session or worker, default worker
	ExpiresIn time.Duration   // always: 0 means never
	Arguments json.RawMessage // approve: replaces the arguments; judged again first
	Presence  PresenceGiven   // the proof that the approver is there
	By        string          // who answered, for the record: "web:alice"
	From      string          // where from, for the record: "127.0.0.1:50844", "elicitation"
}

// PresenceGiven is what an answer brings to prove who the person is, and that they are there.
type PresenceGiven struct {
	Page      string // origin of the web page that the answer came from; "" if it came from none
	Person    string // person whose credential was shown; "" if it is nobody's own
	Assertion []byte // JSON; nil if the page has not asked for it yet
}

// Presence checks proofs that a person is there. Its methods may be called concurrently.
type Presence interface {
	// Needs reports whether a yes to a call of that risk needs a proof.
	Needs(risk permissions.Risk, marked bool) bool
	// Check returns the proof as the audit trail keeps it. runs is the digest of the arguments that the yes releases.
	// Check returns ErrPresence if the answer lacks a proof. Any error leaves the approval pending.
	Check(a *Approval, answer Answer, runs string) (proof []byte, err error)
}

// GrantChoice names an offered grant.
type GrantChoice struct {
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
}

// Origin is where a session's host works, as far as callgate can tell. It helps people to tell windows of a host apart.
// It is trusted for one thing only: which sessions hear a prompt.
type Origin struct {
	Folder   string `json:"folder,omitempty"`   // of the project
	Branch   string `json:"branch,omitempty"`   // checked out there when the session begins or its folder changes
	Terminal string `json:"terminal,omitempty"` // or the program whose window it is: "iTerm.app", "tmux %3", "/dev/pts/4"
}

// SetOrigin sets where the host works.
func (s *Session) SetOrigin(o Origin) {
	if before := s.origin.Swap(&o); *before == o {
		return
	}
	s.gate.journal.publishSession(s)
}

// Origin returns where the host works; the zero value for a session that was not opened here.
func (s *Session) Origin() Origin {
	if o := s.origin.Load(); o != nil {
		return *o
	}
	return Origin{}
}

// Errors of requests to a host's model; freezes return ErrUnavailable too. The wrapping error says why.
var (
	ErrDeclined    = errors.New("refused")
	ErrCancelled   = errors.New("cancelled")
	ErrUnavailable = errors.New("not possible")
)

// Errors of Answer, SetAutonomy and Cancel. Callers tell them apart with errors.Is.
var (
	ErrNotPending = errors.New("no such approval is pending: it was answered, cancelled or timed out")
	ErrDigest     = errors.New("the answer is for other arguments than the pending call has: look at the call again")
	ErrSession    = errors.New("no such session")
	ErrAnswer     = errors.New("invalid answer") // matches every error from Invalid
	ErrPresence   = errors.New("the answer needs a passkey")
	ErrAnother    = errors.New("another person has to approve") // the yes is on record, and the call waits on
	ErrRefused    = errors.New("the answer was not applied")    // the approval has ended, but not as the person said
)

// Invalid makes err an ErrAnswer and leaves its text unchanged.
func Invalid(err error) error { return invalid{err} }

type invalid struct{ error }

func (i invalid) Is(target error) bool { return target == ErrAnswer }
func (i invalid) Unwrap() error        { return i.error }
