package companion

import (
	"errors"
	"net/http"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Changes compares what a pending call would write with the files on the disk. It
// MUST be safe for concurrent use.
type Changes interface {
	// Changes returns gate.ErrNotPending when the approval with that id is over, and nothing for a call that writes
	// no file that can be compared.
	Changes(id string) ([]tools.FileChange, error)
}

// approvalAPI answers REST about what waits, and in which sessions.
type approvalAPI struct {
	api
	hub processes
}

func (s approvalAPI) routes(path func(string, methods)) {
	path("/api/approvals", methods{"GET": s.may.viewer(s.handleApprovals)})
	path("/api/approvals/{id}", methods{"POST": s.may.approver(s.handleAnswer)})
	path("/api/sessions", methods{"GET": s.may.prompter(s.handleSessions, s.may.viewer(s.handleSessions))})
	path("/api/approvals/{id}/changes", methods{"GET": s.may.approver(s.handleChanges)})
}

func (s approvalAPI) handleApprovals(w http.ResponseWriter, _ *http.Request) {
	pending := s.backend.Gate.Pending()
	frames := make([]wire.ToolApproveRequest, 0, len(pending))
	for _, a := range pending {
		frames = append(frames, approveRequest(a))
	}
	rest.WriteList(w, "approvals", frames, s.hub.Problems())
}

// handleAnswer takes the members of tool_approve, without v and type. toolCallId may be left out: the
// path has it.
func (s approvalAPI) handleAnswer(w http.ResponseWriter, r *http.Request) {
	var f wire.ToolApprove
	if !s.reply.body(w, r, &f) {
		return
	}
	id := r.PathValue("id")
	if f.ToolCallID != "" && f.ToolCallID != id {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "toolCallId is not the approval in the path")
		return
	}
	f.ToolCallID = id
	for _, a := range s.backend.Gate.Pending() { // its id alone says which one is meant
		if f.SessionID == "" && a.ID == id {
			f.SessionID = a.SessionID
		}
	}
	if f.SessionID == "" {
		s.reply.fail(w, r, gate.ErrNotPending)
		return
	}
	answer, refused := answerOf(&f, authorOf(r))
	if refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return
	}
	given, err := givenOf(r)
	if err != nil {
		s.reply.fail(w, r, err)
		return
	}
	answer.Presence = given
	applied, err := s.backend.Gate.Answer(r.Context(), id, answer)
	switch {
	case err == nil && applied:
		rest.WriteJSON(w, http.StatusOK, map[string]bool{"applied": true})
	case err == nil, errors.Is(err, gate.ErrNotPending):
		notApplied(w, http.StatusNotFound, gate.ErrNotPending)
	case errors.Is(err, gate.ErrAnother):
		notApplied(w, http.StatusAccepted, err)
	case errors.Is(err, gate.ErrRefused):
		notApplied(w, http.StatusConflict, err)
	default:
		s.reply.fail(w, r, err)
	}
}

func notApplied(w http.ResponseWriter, status int, err error) {
	refused := refusalOf(err)
	rest.WriteJSON(w, status, struct {
		Applied bool           `json:"applied"`
		Error   wire.RestError `json:"error"`
	}{false, wire.RestError{Code: refused.Code, Message: refused.Message}})
}

func (s approvalAPI) handleSessions(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, http.StatusOK, map[string]any{"sessions": wire.List(s.backend.Gate.Sessions())})
}

func (s approvalAPI) handleChanges(w http.ResponseWriter, r *http.Request) {
	if !s.backend.offers(w, partChanges) {
		return
	}
	changes, err := s.backend.Changes.Changes(r.PathValue("id"))
	s.reply.answer(w, r, map[string]any{"changes": wire.List(changes)}, err)
}
