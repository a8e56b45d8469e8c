package companion

import (
	"net/http"
	"time"

	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Reports say from the audit trail why people were asked.
type Reports interface {
	// Report is about calls since a moment. Its JSON is "report" in docs/protocol.schema.json.
	Report(since time.Time) (any, error)
}

func (s *Server) handleReport(w http.ResponseWriter, r *http.Request) {
	query, refused := auditQuery(r.URL.Query().Get)
	switch {
	case s.options.Reports == nil:
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "this callgate makes no reports")
		return
	case refused != nil:
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return
	}
	report, err := s.options.Reports.Report(query.Since)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, report)
}
