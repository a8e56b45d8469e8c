// Package audit is a durable, tamper-evident, append-only record of every decision and outcome.
//
// Append returns once a record is in the file and chained to the records before it. Read returns records, and Verify
// names the first one that somebody changed. What cannot be appended MUST NOT happen.
package audit

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"
)

// Event is what a record is about.
type Event string

const (
	Asked    Event = "asked"    // written before a person is asked about a call
	Decision Event = "decision" // written before a call is forwarded, for every refusal, and when a person answers a call that its host gave up
	Outcome  Event = "outcome"  // written when a forwarded call ended
	Control  Event = "control"  // anything but a call: a session, an autonomy level, a grant or a rule changed, …
)

// Subject is one judged (tool, value) pair, with enough detail to judge it again later.
type Subject struct {
	Tool   string `json:"tool"`
	Kind   string `json:"kind,omitempty"`
	Value  string `json:"value,omitempty"`
	Action string `json:"action"`
	Rule   string `json:"rule,omitempty"` // `shell_exec "git push *" deny (permissions.jsonc:12, file)`
	Risk   string `json:"risk"`
}

// Author is the person or program that acts: By and From of a Record.
type Author struct {
	By, From string
	Presence string // proof that they are present, see Record.Presence; "" for none
}

// Record is one line of the log. Append sets Seq, Time, Prev and Hash.
type Record struct {
	Seq       uint64    `json:"seq"`
	Time      time.Time `json:"time"`
	Event     Event     `json:"event"`
	CallID    string    `json:"callId,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
	Worker    string    `json:"worker,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Host      string    `json:"host,omitempty"`      // decision: the host's own name
	Principal string    `json:"principal,omitempty"` // whose credential the host presented
	Project   string    `json:"project,omitempty"`   // decision: the folder that the host works in
	Server    string    `json:"server,omitempty"`
	Tool      string    `json:"tool,omitempty"` // qualified name
	Kind      string    `json:"kind,omitempty"`
	// Decision is auto_approved, approved, rejected, trusted, timeout, denied, cancelled, pending or limited.
	Decision  string    `json:"decision,omitempty"`
	Risk      string    `json:"risk,omitempty"`     // class, "WRITE"
	Category  string    `json:"category,omitempty"` // decision: what the autonomy presets go by, "git-write"
	By        string    `json:"by,omitempty"`       // "rule", "grant", "autonomy:SUPERVISED", "web:alice", …
	From      string    `json:"from,omitempty"`     // where a person acted from: the client's address, or "elicitation"
	Rule      string    `json:"rule,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Summary   string    `json:"summary,omitempty"`
	Digest    string    `json:"digest,omitempty"`   // of the arguments, before redaction
	Arguments []byte    `json:"-"`                  // raw JSON; Append writes it redacted as "arguments"
	Approval  string    `json:"approval,omitempty"` // decision: the approved call that this one repeats
	Edited    bool      `json:"edited,omitempty"`   // decision: a person changed the arguments before approving
	Subjects  []Subject `json:"subjects,omitempty"`
	// Omitted is how many subjects Append left out to keep the record under the limit.
	Omitted  int     `json:"subjectsOmitted,omitempty"`
	IsError  bool    `json:"isError,omitempty"`     // outcome: the tool reported an error
	Result   int     `json:"resultBytes,omitempty"` // outcome: the size of the result
	Error    string  `json:"error,omitempty"`       // outcome: why there is no result
	Duration float64 `json:"durationMs,omitempty"`  // outcome
	// Presence is one line of JSON: the signature by which a person proved their presence.
	Presence json.RawMessage `json:"presence,omitempty"`
	Prev     string          `json:"prev"` // hash of the previous record
	Hash     string          `json:"hash"` // of this line without the hash
}

// TrialFolder is the prefix of the temporary folders in which "callgate doctor" makes its calls.
const TrialFolder = "callgate-doctor-"

// Trial reports whether "callgate doctor" made the call. Reports leave out such calls.
func (r *Record) Trial() bool { return strings.HasPrefix(filepath.Base(r.Project), TrialFolder) }
