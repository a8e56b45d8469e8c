package backend

import (
	"errors"
	"fmt"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion"
	"callgate/internal/companion/wire"
	"callgate/permissions"
	"callgate/proxy"
)

// toolsPart serves the tools of sessions, and those of the configured servers while no host is connected.
type toolsPart struct{ b *Backend }

func (p toolsPart) Tools(sessionID string) (wire.ToolsView, error) {
	if p.b.Proxy == nil {
		if sessionID != "" {
			return wire.ToolsView{}, gate.ErrSession
		}
		servers, err := p.accepted()
		return wire.ToolsView{Servers: servers}, err
	}
	session, standings, err := p.b.Proxy.Standings(sessionID)
	if err != nil {
		return wire.ToolsView{}, err
	}
	view := wire.ToolsView{SessionID: session}
	for _, u := range p.b.Upstreams() {
		view.Servers = append(view.Servers, wire.ServerView{UpstreamState: u})
	}
	if session == "" {
		return view, p.remember(view.Servers)
	}
	see, err := p.sight(session)
	if err != nil {
		return wire.ToolsView{}, err
	}
	for _, standing := range standings {
		for i := range view.Servers {
			if view.Servers[i].Name == standing.Tool.Server {
				view.Servers[i].Offered = append(view.Servers[i].Offered, see(standing))
			}
		}
	}
	return view, nil
}

// remember gives each server the tools that were accepted last, for the time when no host is connected.
func (p toolsPart) remember(servers []wire.ServerView) error {
	accepted, err := p.accepted()
	if err != nil {
		return err
	}
	for i := range servers {
		for _, s := range accepted {
			if s.Name == servers[i].Name {
				servers[i].Tools, servers[i].Offered = s.Tools, s.Offered
			}
		}
	}
	return nil
}

// accepted lists the configured servers with the tools that were accepted last, and the rules' present verdicts.
func (p toolsPart) accepted() ([]wire.ServerView, error) {
	checker, err := p.b.Checker()
	if err != nil {
		return nil, err
	}
	policy, fault := checker.Policy()
	see := seen(policy, fault, checker.Judge.Mode, checker.Judge.Autonomy.String())
	var all []proxy.Offered
	views := make([]wire.ServerView, len(checker.Servers))
	for i, s := range checker.Servers {
		views[i].UpstreamState = wire.UpstreamState{Name: s.Tools.Name, State: wire.UpstreamIdle}
		if p.b.Pins == nil {
			continue
		}
		offered, err := proxy.Accepted(s, p.b.Pins)
		if err != nil {
			return nil, err
		}
		views[i].Tools = len(offered)
		all = append(all, offered...)
	}
	for _, t := range proxy.Name(all) {
		for i := range views {
			if views[i].Name == t.Server {
				views[i].Offered = append(views[i].Offered, see(proxy.Standing{Tool: t}))
			}
		}
	}
	return views, nil
}

// sight returns a function that shows a tool to people as the session's rules see it. Rules that cannot be read deny.
func (p toolsPart) sight(session string) (func(proxy.Standing) wire.ToolView, error) {
	policy, fault := p.b.Gate.Controls.Policy(session)
	if errors.Is(fault, gate.ErrSession) {
		return nil, fault
	}
	level := gate.AutonomyNone.String()
	for _, s := range p.b.Gate.Sessions() {
		if s.ID == session {
			level = s.Autonomy
		}
	}
	return seen(policy, fault, p.b.Config.GateMode, level), nil
}

// seen returns a function that shows a tool under a policy. With a fault, policy is nil, and every tool is denied.
func seen(policy *permissions.Policy, fault error, mode gate.Mode, level string) func(proxy.Standing) wire.ToolView {
	return func(standing proxy.Standing) wire.ToolView {
		t := standing.Tool
		view := wire.ToolView{
			Tool: t.Qualified, Name: t.Name, Description: t.Description(), Kind: t.Kind, Bound: t.Bound, Why: t.Why,
			Subjects: Judged(t), Hash: t.Hash, Verdict: permissions.Deny.String(),
		}
		if t.Labels.Effect != "" {
			view.Labels = labelsOf(t.Labels)
		} else if !t.Bound || t.Kind == "" {
			view.Draft, view.Arguments = labelsOf(t.Draft()), t.Arguments()
		}
		if r := standing.Redefined; r != nil {
			view.DefinitionChanged = &wire.Redefinition{Old: string(r.Old), New: string(r.New), Why: r.Why}
		}
		if fault != nil {
			view.Rule = fault.Error()
			return view
		}
		o := OutlookOf(policy, t, mode, level)
		view.Verdict, view.Rule, view.Patterns = o.Verdict, o.Rule, o.Patterns
		return view
	}
}

func labelsOf(l tools.Labels) *wire.Labels {
	return &wire.Labels{Effect: l.Effect, Returns: l.Returns, Destination: l.Destination, Content: l.Content}
}

func (p toolsPart) AcceptTool(sessionID, tool, hash string, who audit.Author) error {
	if p.b.Proxy == nil {
		return companion.ErrNoTool
	}
	if _, standings, err := p.b.Proxy.Standings(sessionID); err != nil {
		return err
	} else if err := acceptable(standings, tool, hash); err != nil {
		return err
	}
	return p.b.change(sessionID, who, fmt.Sprintf("Accepted the definition of %s with hash %s.", tools.Visible(tool), hash), func() error {
		return p.b.Proxy.Accept(sessionID, tool, hash)
	})
}

// acceptable returns why a definition cannot be accepted. It is called first, so that nothing impossible is recorded.
func acceptable(standings []proxy.Standing, tool, hash string) error {
	for _, s := range standings {
		switch {
		case s.Tool.Qualified != tool:
		case s.Tool.Hash != hash:
			return companion.ErrDefinition
		default:
			return nil
		}
	}
	return companion.ErrNoTool
}

// change records a change by a person, then applies it. What cannot be recorded is not applied.
func (b *Backend) change(sessionID string, who audit.Author, summary string, apply func() error) error {
	if err := b.Gate.Controls.Note(sessionID, who, summary); err != nil {
		return fmt.Errorf("the change could not be recorded, so nothing was changed: %w", err)
	}
	err := apply()
	if err == nil {
		return nil
	}
	return errors.Join(err, b.Gate.Controls.Note(sessionID, who, "Not done: "+summary))
}
