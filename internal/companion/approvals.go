package companion

import (
	"errors"
	"net/http"

	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Changes compares what a pending call would write with the files on disk. It MUST be safe for concurrent use.
type Changes interface {
	// Changes returns gate.ErrNotPending if the approval is over, and nothing if no file can be compared.
	Changes(id string) ([]tools.FileChange, error)
}

// approvalAPI serves the pending approvals and the sessions over REST.
type approvalAPI struct {
	api
	hub processes
}

func (s approvalAPI) routes(path func(string, methods)) {
	path("/api/approvals", methods{"GET": s.viewer(s.approvals)})
	path("/api/approvals/{id}", methods{"POST": s.approver(s.answer)})
	path("/api/sessions", methods{"GET": s.may.prompter(s.reply.of(s.sessions), s.viewer(s.sessions))})
	path("/api/approvals/{id}/changes", methods{"GET": s.approver(s.with(partChanges, s.changes))})
}

func (s approvalAPI) approvals(*http.Request) (any, error) {
	return rest.Listed("approvals", wire.List(converted(s.backend.Gate.Pending(), approveRequest)), s.hub.Problems()), nil
}

// answer takes the members of tool_approve without v and type. toolCallId may be left out, since the path has it.
func (s approvalAPI) answer(r *http.Request) (any, error) {
	var f wire.ToolApprove
	if err := body(r, &f); err != nil {
		return nil, err
	}
	id := r.PathValue("id")
	if f.ToolCallID != "" && f.ToolCallID != id {
		return nil, badMessage("toolCallId is not the approval in the path")
	}
	f.ToolCallID = id
	for _, a := range s.backend.Gate.Pending() { // the id alone identifies the approval
		if f.SessionID == "" && a.ID == id {
			f.SessionID = a.SessionID
		}
	}
	if f.SessionID == "" {
		return nil, gate.ErrNotPending
	}
	given, refused := answerOf(&f, authorOf(r))
	if refused != nil {
		return nil, refused
	}
	var err error
	if given.Presence, err = givenOf(r); err != nil {
		return nil, err
	}
	applied, err := s.backend.Gate.Answer(r.Context(), id, given)
	switch {
	case err == nil && applied:
		return map[string]bool{"applied": true}, nil
	case err == nil, errors.Is(err, gate.ErrNotPending):
		return notApplied(http.StatusNotFound, gate.ErrNotPending), nil
	case errors.Is(err, gate.ErrAnother):
		return notApplied(http.StatusAccepted, err), nil
	case errors.Is(err, gate.ErrRefused):
		return notApplied(http.StatusConflict, err), nil
	}
	return nil, err
}

func notApplied(status int, err error) answer {
	refused := refusalOf(err)
	return answer{status, struct {
		Applied bool           `json:"applied"`
		Error   wire.RestError `json:"error"`
	}{false, wire.RestError{Code: refused.Code, Message: refused.Message}}}
}

func (s approvalAPI) sessions(*http.Request) (any, error) {
	return map[string]any{"sessions": wire.List(s.backend.Gate.Sessions())}, nil
}

func (s approvalAPI) changes(r *http.Request) (any, error) {
	changes, err := s.backend.Changes.Changes(r.PathValue("id"))
	return map[string]any{"changes": wire.List(changes)}, err
}
