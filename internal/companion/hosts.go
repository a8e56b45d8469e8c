package companion

import (
	"net/http"

	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// handleHosts says how the LLM hosts on this machine stand to the gate: any process sees the same.
func (s *Server) handleHosts(w http.ResponseWriter, _ *http.Request) {
	if s.options.Hosts == nil {
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "this callgate does not look for hosts")
		return
	}
	rest.WriteJSON(w, http.StatusOK, wire.List(s.options.Hosts()))
}
