package companion

import (
	"errors"
	"net/http"

	"callgate/audit"
	"callgate/internal/hooks"
)

// Hooks is what people can do with hooks. Nil in Options means that there are none to be seen. All methods MUST
// be safe for concurrent use.
type Hooks interface {
	// Hooks lists the hooks in the order of the configuration.
	Hooks() []hooks.Status

	// SetHook switches a hook on or off. It returns hooks.ErrUnknown when there is none of that name.
	SetHook(name string, enabled bool, who audit.Author) error
}

// hookRoutes are answered by any process of the worker for what is switched, which all of them share; runs and
// failures are those of the process that answers: `?worker=`, `?sessionId=`.
func (s *Server) hookRoutes(path func(string, methods)) {
	path("/api/hooks", methods{"GET": s.viewer(s.handleHooks)})
	path("/api/hooks/{name}", methods{"PUT": s.approver(s.handleSetHook)})
}

func (s *Server) handleHooks(w http.ResponseWriter, _ *http.Request) {
	if s.hooks == nil {
		writeError(w, http.StatusNotFound, CodeBadMessage, "this callgate does not show its hooks")
		return
	}
	writeJSON(w, http.StatusOK, list(s.hooks.Hooks()))
}

func (s *Server) handleSetHook(w http.ResponseWriter, r *http.Request) {
	var f struct {
		Enabled *bool `json:"enabled"`
	}
	if s.hooks == nil {
		s.handleHooks(w, r)
		return
	}
	if !s.body(w, r, &f) {
		return
	}
	if f.Enabled == nil {
		writeError(w, http.StatusBadRequest, CodeBadMessage, `the body has to say {"enabled": true} or {"enabled": false}`)
		return
	}
	name := r.PathValue("name")
	switch err := s.hooks.SetHook(name, *f.Enabled, authorOf(r)); {
	case err == nil:
		writeJSON(w, http.StatusOK, map[string]any{"name": name, "enabled": *f.Enabled})
	case errors.Is(err, hooks.ErrUnknown):
		writeError(w, http.StatusNotFound, CodeBadMessage, err.Error())
	default:
		s.fail(w, r, err)
	}
}
