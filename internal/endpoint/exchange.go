package endpoint

import (
	"net/http"

	"callgate/internal/rpc"
	"callgate/proxy"
)

// exchange answers a message of the revision without sessions: which revisions there are instead.
func (s *Server) exchange(v visit, m rpc.Message) {
	refuse(v.w, http.StatusBadRequest, m.ID, -32022, "this revision is not served here: initialize with "+proxy.Versions()[len(proxy.Versions())-1])
}
