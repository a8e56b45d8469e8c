package app

import (
	"context"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion"
	"callgate/internal/companion/wire"
	"callgate/internal/upstream"
	"callgate/permissions"
)

// backend shows the sidecar to the companion.
type backend struct{ s *Sidecar }

var (
	_ companion.Backend = backend{}
	_ companion.Changes = backend{}
)

func (b backend) Subscribe() gate.Subscription { return b.s.Gate.Subscribe() }

func (b backend) Answer(_ context.Context, id string, a gate.Answer) (bool, error) {
	err := b.s.Gate.Answer(id, a)
	return err == nil, err
}

func (b backend) SetAutonomy(sessionID, level string, who audit.Author) error {
	return b.s.Gate.SetAutonomy(sessionID, level, who)
}

func (b backend) Cancel(sessionID string, who audit.Author) error {
	return b.s.Gate.Cancel(sessionID, who)
}

var _ companion.Prompter = backend{}

func (b backend) Prompt(sessionID, text string) error { return b.s.Gate.Prompt(sessionID, text) }

func (b backend) AddAgent(sessionID string, profile permissions.Agent, info gate.AgentInfo, who audit.Author) (string, error) {
	return b.s.Gate.AddAgent(sessionID, profile, info, who)
}

func (b backend) RemoveAgent(sessionID, id string, who audit.Author) error {
	return b.s.Gate.RemoveAgent(sessionID, id, who)
}

func (b backend) Sessions() []gate.SessionInfo { return b.s.Gate.Sessions() }

func (b backend) Pending() []*gate.Approval { return b.s.Gate.Pending() }

func (b backend) Changes(id string) ([]tools.FileChange, error) { return b.s.Gate.Changes(id) }

func (b backend) Note(summary string, who audit.Author) error { return b.s.Gate.Note("", who, summary) }

func (b backend) Upstreams() []wire.UpstreamState {
	var states []wire.UpstreamState
	if b.s.onlooker {
		return nil
	}
	for _, u := range b.s.Proxy.Upstreams() {
		state := wire.UpstreamStarting
		switch u.State {
		case upstream.Ready:
			state = wire.UpstreamUp
		case upstream.Idle:
			if state = wire.UpstreamIdle; u.Resting {
				state = wire.UpstreamUp
			}
		case upstream.Down, upstream.Closed:
			state = wire.UpstreamDown
		}
		states = append(states, wire.UpstreamState{Name: u.Name, State: state, Tools: u.Tools, Error: u.Reason, Guard: u.Guard})
	}
	return states
}

func (b backend) Audit(q companion.AuditQuery) ([]companion.AuditRecord, string, error) {
	return auditRecords(b.s.config.DataDir, q)
}

// auditRecords reads the trail that all processes of a data directory write.
func auditRecords(dataDir string, q companion.AuditQuery) ([]companion.AuditRecord, string, error) {
	return companion.ReadAudit(audit.Read(audit.Dir(dataDir), audit.Filter{SessionID: q.SessionID, Tool: q.Tool, Since: q.Since}), q)
}
