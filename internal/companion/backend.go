// Package companion serves the clients of approvers: WebSocket, REST and a page on this machine, and the hub.
//
// It does not decide about calls. The server translates between the wire and one Backend, and guards the border: who
// may connect, who may only watch, and which browser requests are refused. Strings from servers or the model stay data:
// they are never turned into HTML.
package companion

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/wire"
	"callgate/permissions"
)

// Backend is all that the companion knows of the rest of callgate, in parts. Gate is required; a nil part is not
// offered to people. All methods MUST be safe for concurrent use.
type Backend struct {
	Gate        Gate
	Prompts     Prompter
	Changes     Changes
	Rules       Rules
	Suggestions Suggestions
	Reports     Reports
	Pusher      Pusher
	Tools       Tools
	Hooks       Hooks
	Freezer     Freezer
	Checkpoints Checkpoints
	Chatter     Chatter
	Bringer     Bringer
	Retrieval   Retrieval
	Hosts       func() []wire.HostState // on this machine
}

// part is a part of a Backend, with the text for people when it is missing.
type part struct {
	offered func(*Backend) bool
	absent  string
}

var (
	partChanges     = part{func(b *Backend) bool { return b.Changes != nil }, "this callgate does not compare files"}
	partRules       = part{func(b *Backend) bool { return b.Rules != nil }, "this callgate does not show its rules"}
	partReports     = part{func(b *Backend) bool { return b.Reports != nil }, "this callgate makes no reports"}
	partPusher      = part{func(b *Backend) bool { return b.Pusher != nil }, "no channel of the kind push is configured"}
	partTools       = part{func(b *Backend) bool { return b.Tools != nil }, "this callgate does not show its tools"}
	partHooks       = part{func(b *Backend) bool { return b.Hooks != nil }, "this callgate does not show its hooks"}
	partCheckpoints = part{func(b *Backend) bool { return b.Checkpoints != nil }, "checkpoints are off: set checkpoints.storage to disk or memory"}
	partChatter     = part{func(b *Backend) bool { return b.Chatter != nil }, "this callgate does not pass on chats"}
	partBringer     = part{func(b *Backend) bool { return b.Bringer != nil }, "this callgate takes no tools from clients"}
	partRetrieval   = part{func(b *Backend) bool { return b.Retrieval != nil }, "search is off: set rag.enabled in the configuration"}
	partKnowledge   = part{func(b *Backend) bool { return b.Retrieval != nil }, "knowledge bases are off: set rag.enabled in the configuration"}
	partHosts       = part{func(b *Backend) bool { return b.Hosts != nil }, "this callgate does not look for hosts"}
)

// absent returns the refusal for a missing part, or nil if the part is offered.
func (b *Backend) absent(p part) *wire.Refusal {
	if p.offered(b) {
		return nil
	}
	return wire.Refuse(wire.CodeBadMessage, "%s", p.absent)
}

// Gate holds the approvals that wait for people, and takes their answers. Callers compare errors of Answer, SetAutonomy
// and Cancel with gate.ErrNotPending, gate.ErrDigest, gate.ErrSession and gate.ErrAnswer using errors.Is. Any other
// error is a failure of callgate itself, and the answer is not reported as applied.
type Gate interface {
	// Subscribe starts a stream of events. The stream MUST begin with a replay: SessionOpened for every session, then
	// Asked for every pending approval. Its Events channel is closed when the subscriber is too slow or the gate
	// closes. To go on, subscribe again.
	Subscribe() gate.Subscription

	// Answer answers one pending approval. applied is true for exactly one answer of each approval.
	Answer(ctx context.Context, id string, a gate.Answer) (applied bool, err error)

	// SetAutonomy sets the level of one session. level is a level, a category preset, or NONE.
	SetAutonomy(sessionID, level string, who audit.Author) error

	// Cancel ends the running calls and withdraws the pending approvals of one session.
	Cancel(sessionID string, who audit.Author) error

	// AddAgent registers a subagent profile in one session and returns its id; RemoveAgent ends it.
	AddAgent(sessionID string, profile permissions.Agent, info gate.AgentInfo, who audit.Author) (id string, err error)
	RemoveAgent(sessionID, id string, who audit.Author) error

	// Sessions returns the open sessions; Pending returns the pending approvals, oldest first.
	Sessions() []gate.SessionInfo
	Pending() []*gate.Approval

	// Note records what a person did outside the gate.
	Note(summary string, who audit.Author) error

	// Upstreams returns the state of each MCP server behind callgate.
	Upstreams() []wire.UpstreamState

	// Audit returns the records that match f, newest first, and the Before that continues the list: "" at the end.
	Audit(f AuditQuery) (records []AuditRecord, next string, err error)
}

// AuditQuery selects audit records. Empty fields do not restrict.
type AuditQuery struct {
	SessionID string
	Decision  string
	Tool      string    // qualified name
	Text      string    // found anywhere in the record, ignoring case
	Since     time.Time // records at or after this time
	Before    string    // hash of a record: only older ones
	Calls     bool      // one record for each call, with its outcome, and nothing else
	Limit     int       // at most this many, always positive
}

// AuditRecord is an audit record as people read it.
type AuditRecord struct {
	audit.Record
	Arguments json.RawMessage `json:"arguments,omitempty"` // without secrets
	RiskLabel string          `json:"riskLabel,omitempty"`
	Outcome   *audit.Record   `json:"outcome,omitempty"` // the call's outcome, if AuditQuery.Calls is set; nil if there is none yet
}

// ReadAudit picks the records that q selects from a trail, newest first. A call's newer records come before its older
// ones, so the outcome is known when its decision is reached.
func ReadAudit(trail iter.Seq2[audit.Record, error], q AuditQuery) (records []AuditRecord, next string, err error) {
	outcomes, seen := map[string]audit.Record{}, map[string]bool{}
	text, skipping := strings.ToLower(q.Text), q.Before != ""
	for r, err := range trail {
		if err != nil {
			return records, "", err
		}
		shown := AuditRecord{Record: r, Arguments: r.Arguments, RiskLabel: labelOf(r.Risk)}
		if q.Calls {
			if r.Event == audit.Outcome {
				outcomes[r.CallID] = r
			}
			if r.Event != audit.Decision && r.Event != audit.Asked || seen[r.CallID] {
				continue
			}
			seen[r.CallID] = true
			if o, ok := outcomes[r.CallID]; ok {
				shown.Outcome = &o
				delete(outcomes, r.CallID)
			}
		}
		if skipping {
			skipping = r.Hash != q.Before
			continue
		}
		if q.Decision != "" && r.Decision != q.Decision || text != "" && !shown.holds(text) {
			continue
		}
		if len(records) == q.Limit {
			return records, records[len(records)-1].Hash, nil
		}
		records = append(records, shown)
	}
	return records, "", nil
}

// holds reports whether the record contains text, which MUST be in lower case.
func (r *AuditRecord) holds(text string) bool {
	return r.Record.Holds(text) || r.Outcome != nil && strings.Contains(strings.ToLower(r.Outcome.Error), text)
}
