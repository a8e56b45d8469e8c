package companion

import (
	"errors"
	"fmt"
	"net/http"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/wire"
	"callgate/permissions"
)

// controlAPI serves what people do to a session over REST.
type controlAPI struct{ api }

// routes adds the routes that do what the frames set_autonomy, cancel, agent_add and agent_remove do. The process that
// has the session answers.
func (s controlAPI) routes(path func(string, methods)) {
	path("/api/sessions/{id}/prompt", methods{"POST": s.may.prompter(s.reply.of(ofSession(s.prompt)), s.approver(ofSession(s.prompt)))})
	path("/api/sessions/{id}/autonomy", methods{"PUT": s.proved(ofSession(s.autonomy))})
	path("/api/sessions/{id}/cancel", methods{"POST": s.approver(ofSession(s.cancel))})
	path("/api/commands", methods{"POST": s.approver(reading(s.ownCommand))})
	path("/api/sessions/{id}/agents", methods{"POST": s.proved(ofSession(s.addAgent))})
	path("/api/sessions/{id}/agents/{agent}", methods{"DELETE": s.proved(s.removeAgent)})
}

// maxOwnCommand bounds each text of an OwnCommand, in bytes.
const maxOwnCommand = 16 << 10

// ownCommand records a command that a person runs themselves. It does not run the command.
func (s controlAPI) ownCommand(r *http.Request, f wire.OwnCommand) (any, error) {
	if f.Command == "" || len(f.Command) > maxOwnCommand || len(f.Dir) > maxOwnCommand || len(f.Outcome) > maxOwnCommand {
		return nil, badMessage("command is missing, or a text is larger than 16 KiB")
	}
	summary := fmt.Sprintf("A person runs a shell command of their own, outside the gate: %q in %q.", f.Command, f.Dir)
	if f.Outcome != "" {
		summary = fmt.Sprintf("A person's own shell command %s: %q.", f.Outcome, f.Command)
		if f.Duration != nil {
			summary = fmt.Sprintf("A person's own shell command %s after %d ms: %q.", f.Outcome, *f.Duration, f.Command)
		}
	}
	return map[string]bool{"recorded": true}, s.backend.Gate.Note(summary, authorOf(r))
}

// autonomy takes the members of set_autonomy without v and type.
func (s controlAPI) autonomy(r *http.Request, id string, f wire.SetAutonomy) (any, error) {
	return map[string]string{"sessionId": id, "level": f.Level}, s.backend.Gate.SetAutonomy(id, f.Level, authorOf(r))
}

// cancel ends the running calls of a session and withdraws its pending approvals.
func (s controlAPI) cancel(r *http.Request, id string, _ wire.Cancel) (any, error) {
	return map[string]string{"sessionId": id}, s.backend.Gate.Cancel(id, authorOf(r))
}

// addAgent takes the members of agent_add without v and type, and answers with the agent's id.
func (s controlAPI) addAgent(r *http.Request, id string, f wire.AgentAdd) (any, error) {
	profile, info, refused := profileOf(&f)
	if refused != nil {
		return nil, refused
	}
	agent, err := s.backend.Gate.AddAgent(id, profile, info, authorOf(r))
	return map[string]string{"sessionId": id, "agentId": agent}, err
}

// removeAgent ends a registered profile.
func (s controlAPI) removeAgent(r *http.Request) (any, error) {
	id, agent := r.PathValue("id"), r.PathValue("agent")
	return map[string]string{"sessionId": id, "agentId": agent}, s.backend.Gate.RemoveAgent(id, agent, authorOf(r))
}

// maxDescribed bounds the description of one agent, in bytes. Everybody who watches gets it with each change of a team.
const maxDescribed = 16 << 10

func described(f *wire.AgentAdd) int {
	size := len(f.Name) + len(f.Role) + len(f.Goal) + len(f.Domain) + len(f.Provider) + len(f.Model)
	for _, r := range f.Roles {
		size += len(r.Name) + len(r.Goal) + len(r.Domain) + len(`{"name":"","goal":"","domain":""}`)
	}
	return size
}

// profileOf reads an agent's profile and description from the frame.
func profileOf(f *wire.AgentAdd) (permissions.Agent, gate.AgentInfo, *wire.Refusal) {
	profile, info := permissions.Agent{}, gate.AgentInfo{
		Name: f.Name,
		Role: f.Role, Goal: f.Goal, Domain: f.Domain, Provider: f.Provider, Model: f.Model, Roles: converted(f.Roles, func(r wire.AgentRole) gate.AgentRole { return gate.AgentRole(r) }),
	}
	if f.Role == "" {
		return profile, info, wire.Refuse(wire.CodeBadMessage, "agent_add needs a role")
	}
	if size := described(f); size > maxDescribed {
		return profile, info, wire.Refuse(wire.CodeBadMessage, "what describes the agent is %d bytes; at most %d are kept", size, maxDescribed)
	}
	profile, err := permissions.ParseProfile(f.Name, wire.TypeAgentAdd, string(f.Permissions))
	if err != nil {
		return profile, info, wire.Refuse(wire.CodeBadMessage, "permissions: %v", err)
	}
	return profile, info, nil
}

// Prompter takes the prompts that users give to the model.
type Prompter interface {
	// Prompt notes a prompt of a session. It returns gate.ErrSession if there is no such session.
	Prompt(sessionID, text string) error
}

const promptOnly = "the prompt credential tells what the user said, and neither watches nor answers"

// prompt takes a prompt. callgate keeps only fingerprints of it, in memory.
func (s controlAPI) prompt(_ *http.Request, id string, f wire.PromptTold) (any, error) {
	if f.Prompt == "" || s.backend.Prompts == nil {
		return nil, badMessage("prompt is missing: the text that the user gave to the model")
	}
	return map[string]string{"sessionId": id}, s.backend.Prompts.Prompt(id, f.Prompt)
}

// Freezer blocks everything but reads, in one session or in all processes of the data directory.
type Freezer interface {
	Frozen() ([]gate.Freeze, error)
	Freeze(one gate.Freeze, who audit.Author) error
	// Unfreeze ends the freeze of a session; "" ends the freeze of all sessions.
	Unfreeze(sessionID string, who audit.Author) error
}

// Frozen is the answer of /api/freeze: the current freezes.
type Frozen struct {
	Frozen  []gate.Freeze `json:"frozen"`
	Unknown string        `json:"unknown,omitempty"` // why there may be more; until that is known only reads run
}

// Err returns Unknown as an error, or nil if it is empty.
func (f Frozen) Err() error {
	if f.Unknown == "" {
		return nil
	}
	return errors.New(f.Unknown)
}

// freezeAPI serves freezes over REST.
type freezeAPI struct{ api }

// routes adds the routes of freezes. Any process can answer for all, because they share the file of freezes.
func (s freezeAPI) routes(path func(string, methods)) {
	if s.backend.Freezer == nil {
		return
	}
	path("/api/freeze", methods{"GET": s.viewer(s.frozen), "PUT": s.may.approver(s.handleFreeze), "DELETE": s.proved(reading(s.unfreeze))})
}

func (s freezeAPI) frozen(*http.Request) (any, error) {
	frozen, err := s.backend.Freezer.Frozen()
	said := Frozen{Frozen: wire.List(frozen)}
	if err != nil {
		s.reply.log.Warn("companion: cannot tell what is frozen", "error", err)
		said.Unknown = "what is frozen cannot be read; callgate's log says why"
	}
	return said, nil
}

// handleFreeze needs a proof of presence if there is a freeze already, because the new one could end that sooner.
func (s freezeAPI) handleFreeze(w http.ResponseWriter, r *http.Request) {
	serve := s.reply.of(reading(s.freeze))
	if frozen, err := s.backend.Freezer.Frozen(); err != nil || len(frozen) > 0 {
		serve = s.may.proved(serve)
	}
	serve(w, r)
}

func (s freezeAPI) freeze(r *http.Request, f wire.FreezeRequest) (any, error) {
	if err := s.backend.Freezer.Freeze(gate.Freeze{SessionID: f.SessionID, Until: f.Until, Reason: f.Reason}, authorOf(r)); err != nil {
		return nil, err
	}
	return s.frozen(r)
}

func (s freezeAPI) unfreeze(r *http.Request, f wire.FreezeRequest) (any, error) {
	if err := s.backend.Freezer.Unfreeze(f.SessionID, authorOf(r)); err != nil {
		return nil, err
	}
	return s.frozen(r)
}
