package gate

import (
	"runtime/debug"

	"callgate/gate/internal/facts"
	"callgate/gate/tools"
	"callgate/internal/jsonx"
)

// noteStart notes what an allowed call is about to return, and the files that it makes.
func (s *Session) noteStart(call Call, v *Verdict) {
	if s.flow.Off || v.Analysis == nil {
		return
	}
	s.flow.Before(call.ID, call.facts(), v.Analysis)
	if v.Decision == DecidedApproved {
		s.flow.Approved(call.facts(), v.Analysis)
	}
}

// learn returns a function that remembers the credentials of a result, and where its values came from. It runs once the
// host has its answer, and the next call waits for it.
func (s *Session) learn(id string, tool *tools.Tool, call *facts.Call, result []byte) (learn func()) {
	o := s.flow.Taken(id)
	if len(result) == 0 {
		return func() {}
	}
	s.secrets.Begin()
	s.flow.Memory.Begin()
	return func() {
		defer s.secrets.End()
		defer s.learned(tool)
		func() {
			defer s.flow.Memory.End()
			defer s.learned(tool)
			if !s.flow.Off {
				s.flow.Saw(id, call, o, result)
			}
		}()
		place := "result of " + tool.Qualified
		for text := range jsonx.SharedStrings(result) {
			s.secrets.Learn(text, place)
		}
	}
}

// learned, which MUST be deferred, recovers from a panic while learning. Reading a hostile result MUST NOT end the
// process. What the result held is then unknown, so every later call of the session is marked.
func (s *Session) learned(tool *tools.Tool) {
	if p := recover(); p != nil {
		s.unlearned.Store(true)
		s.gate.journal.o.Logger.Error("a result could not be learned, so all calls of its session ask: please report this", "tool", tool.Qualified, "session", s.id, "panic", p, "stack", string(debug.Stack()))
	}
}

// Heard takes a prompt that the user gave to the host of a session. It counts for all sessions in the same folder,
// because a host has one session for its built-in tools and one for MCP.
func (g *Gate) Heard(s *Session, text string) {
	s.Prompt(text)
	folder := s.Origin().Folder
	g.registry.opening.Lock()
	defer g.registry.opening.Unlock()
	for _, other := range g.registry.sessions {
		if other != s && folder != "" && other.Origin().Folder == folder {
			other.Prompt(text)
		}
	}
}

// Prompt is Session.Prompt for the session with that id.
func (g *Gate) Prompt(sessionID, text string) error {
	s, err := g.registry.session(sessionID)
	if err == nil {
		s.Prompt(text)
	}
	return err
}

// Prompt tells the session what its user said to the model. Data may go to the places that the user names.
func (s *Session) Prompt(text string) { s.flow.Prompted(text) }
