package companion

import (
	"net/http"

	"callgate/gate/tools"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Changes compares what a pending call would write with the files on the disk. Nil in Options compares nothing. It
// MUST be safe for concurrent use.
type Changes interface {
	// Changes returns gate.ErrNotPending when the approval with that id is over, and nothing for a call that writes
	// no file that can be compared.
	Changes(id string) ([]tools.FileChange, error)
}

// changeRoutes are answered by the process whose approval it is. What is on the disk is for those who may answer.
func (s *Server) changeRoutes(path func(string, methods)) {
	path("/api/approvals/{id}/changes", methods{"GET": s.approver(s.handleChanges)})
}

func (s *Server) handleChanges(w http.ResponseWriter, r *http.Request) {
	if s.options.Changes == nil {
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "this callgate does not compare files")
		return
	}
	changes, err := s.options.Changes.Changes(r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, map[string]any{"changes": wire.List(changes)})
}
