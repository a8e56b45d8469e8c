package companion

import (
	"net/http"

	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Prompter takes what the user of a session said to the model. A Backend that is none takes no prompts.
type Prompter interface {
	// Prompt notes a prompt. The error is gate.ErrSession when there is no such session.
	Prompt(sessionID, text string) error
}

const promptOnly = "the prompt credential tells what the user said, and neither watches nor answers"

// handlePrompt takes a prompt. Nothing of it is kept but fingerprints, in memory.
func (s *Server) handlePrompt(w http.ResponseWriter, r *http.Request) {
	var f wire.PromptTold
	id, ok := s.ofSession(w, r, &f, &f.SessionID)
	if !ok {
		return
	}
	p, takes := s.options.Backend.(Prompter)
	if f.Prompt == "" || !takes {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "prompt is missing: the text that the user gave to the model")
		return
	}
	if err := p.Prompt(id, f.Prompt); err != nil {
		s.fail(w, r, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, map[string]string{"sessionId": id})
}
