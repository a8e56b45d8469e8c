// Package backend connects a running callgate to the companion. It defines what approvers' clients see and can do.
package backend

import (
	"context"
	"log/slog"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/checkpoint"
	"callgate/internal/companion"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/retrieval"
	"callgate/internal/rulebook"
	"callgate/internal/upstream"
	"callgate/permissions"
	"callgate/permissions/store"
	"callgate/proxy"
)

// Backend is what the companion shows to people. Its fields are set before first use and never change.
type Backend struct {
	Config    *config.Config
	Log       *slog.Logger
	Gate      *gate.Gate
	Proxy     *proxy.Proxy // nil if no host is served
	Store     *store.Store
	Retrieval *retrieval.Service                // nil if search is off
	Checker   func() (*rulebook.Checker, error) // returns a checker that judges as the configuration says
	Pins      *tools.Pins                       // the accepted tool definitions; nil if they cannot be read

	suggestions suggestions
	indexing    indexing
	checked     checkedRules
}

// Parts returns what the companion serves. Without a Proxy, the parts that need one are left out. kept may be nil: then
// there are no checkpoints.
func (b *Backend) Parts(kept *checkpoint.Store, hosts func() []wire.HostState) companion.Backend {
	parts := companion.Backend{
		Gate: b, Prompts: b, Rules: rulesPart{b}, Suggestions: trailPart{b}, Reports: trailPart{b}, Pusher: b.pusher(), Hooks: hooksPart{b},
		Freezer: b.Gate.Controls, Hosts: hosts, Tools: toolsPart{b},
	}
	if kept != nil {
		parts.Checkpoints = checkpoints{b, kept}
	}
	if b.Proxy != nil {
		parts.Changes, parts.Bringer, parts.Chatter, parts.Retrieval = b, clientPart{b}, clientPart{b}, b.indexes()
	}
	return parts
}

func (b *Backend) Subscribe() gate.Subscription { return b.Gate.Subscribe() }

func (b *Backend) Answer(_ context.Context, id string, a gate.Answer) (bool, error) {
	err := b.Gate.Answer(id, a)
	return err == nil, err
}

func (b *Backend) SetAutonomy(sessionID, level string, who audit.Author) error {
	return b.Gate.Controls.SetAutonomy(sessionID, level, who)
}

func (b *Backend) Cancel(sessionID string, who audit.Author) error {
	return b.Gate.Controls.Cancel(sessionID, who)
}

var _ companion.Prompter = (*Backend)(nil)

func (b *Backend) Prompt(sessionID, text string) error { return b.Gate.Prompt(sessionID, text) }

func (b *Backend) AddAgent(sessionID string, profile permissions.Agent, info gate.AgentInfo, who audit.Author) (string, error) {
	return b.Gate.Controls.AddAgent(sessionID, profile, info, who)
}

func (b *Backend) RemoveAgent(sessionID, id string, who audit.Author) error {
	return b.Gate.Controls.RemoveAgent(sessionID, id, who)
}

func (b *Backend) Sessions() []gate.SessionInfo { return b.Gate.Sessions() }

func (b *Backend) Pending() []*gate.Approval { return b.Gate.Pending() }

func (b *Backend) Changes(id string) ([]tools.FileChange, error) { return b.Gate.Files.Changes(id) }

func (b *Backend) Note(summary string, who audit.Author) error {
	return b.Gate.Controls.Note("", who, summary)
}

func (b *Backend) Upstreams() []wire.UpstreamState {
	var states []wire.UpstreamState
	if b.Proxy == nil {
		return nil
	}
	for _, u := range b.Proxy.Upstreams() {
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
