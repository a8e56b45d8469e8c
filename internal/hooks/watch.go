package hooks

import (
	"cmp"
	"time"

	"callgate/gate"
)

// watched lists the events that come from the gate itself.
var watched = []string{SessionStart, SessionEnd, ApprovalAsked, ApprovalResolved}

// Watch fires events about the gate's sessions and approvals, until the gate or r closes. It does nothing if no hook
// wants them.
func (r *Runner) Watch(g *gate.Gate) {
	wanted := false
	for _, event := range watched {
		wanted = wanted || r.Wants(event)
	}
	if !wanted {
		return
	}
	w := watcher{runner: r, sessions: map[string]gate.SessionInfo{}, asked: map[string]*gate.Approval{}}
	subscription := g.SubscribeQuestions()
	r.watching.Go(func() {
		for {
			ended := make(chan struct{})
			go func() {
				select {
				case <-r.unwatch:
					subscription.Close()
				case <-ended:
				}
			}()
			for e := range subscription.Events { // events that are left when it closes come too
				w.follow(e)
			}
			close(ended)
			select {
			case <-r.unwatch:
				return
			case <-time.After(time.Second): // too slow: the replay says what exists now
				subscription = g.SubscribeQuestions()
			}
		}
	})
}

// watcher tracks what it has already reported.
type watcher struct {
	runner   *Runner
	sessions map[string]gate.SessionInfo
	asked    map[string]*gate.Approval
}

func (w *watcher) follow(e gate.Event) {
	switch e := e.(type) {
	case gate.SessionOpened: // comes again once the host has named itself, and with a new subscription
		_, known := w.sessions[e.Info.ID]
		if w.sessions[e.Info.ID] = e.Info; !known {
			w.runner.Fire(w.about(SessionStart, e.Info.ID))
		}
	case gate.SessionClosed:
		event := w.about(SessionEnd, e.Info.ID)
		delete(w.sessions, e.Info.ID)
		w.runner.Fire(event)
	case gate.Asked: // comes again when an approver changes the arguments, and with a new subscription
		_, known := w.asked[e.Approval.ID]
		if w.asked[e.Approval.ID] = e.Approval; !known {
			w.runner.Fire(w.approval(ApprovalAsked, e.Approval))
		}
	case gate.Resolved:
		if a := w.asked[e.ID]; a != nil {
			delete(w.asked, e.ID)
			event := w.approval(ApprovalResolved, a)
			event.Decision, event.By, event.Error = e.Decision, e.By, ""
			w.runner.Fire(event)
		}
	}
}

// about returns a new event of a session.
func (w *watcher) about(name, sessionID string) Event {
	info := w.sessions[sessionID]
	return Event{Name: name, SessionID: sessionID, Agent: info.Agent, Host: info.Client.Name}
}

func (w *watcher) approval(name string, a *gate.Approval) Event {
	e := w.about(name, a.SessionID)
	e.CallID, e.Server, e.Tool, e.ToolName, e.Kind, e.Agent = a.ID, a.Server, a.Tool, cmp.Or(a.Own, a.Tool), a.Kind, a.Agent
	e.Arguments, e.Risk, e.Category, e.Detail = a.Arguments, a.Analysis.Risk.String(), a.Analysis.Category, a.Reason
	return e
}
