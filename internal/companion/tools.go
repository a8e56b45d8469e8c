package companion

import (
	"errors"
	"net/http"

	"callgate/audit"
	"callgate/internal/companion/wire"
)

// Tools shows and accepts what the servers offer. All methods MUST be safe for concurrent use.
type Tools interface {
	// Tools returns the servers and their tools as they are offered to the host of a session; "" means the session that
	// was opened first. It returns gate.ErrSession if there is no such session.
	Tools(sessionID string) (wire.ToolsView, error)

	// AcceptTool accepts a tool's definition and so ends its quarantine. hash is that of the definition that the person
	// looked at. It returns ErrNoTool if there is no such tool, and ErrDefinition if it has another definition.
	AcceptTool(sessionID, tool, hash string, who audit.Author) error
}

var (
	// ErrNoTool means that no server of the session offers the tool.
	ErrNoTool = errors.New("there is no such tool")
	// ErrDefinition means that the definition is not the one that the person looked at.
	ErrDefinition = errors.New("the tool's definition has changed since; look at it again")
)

// toolAPI serves tools over REST.
type toolAPI struct{ api }

// routes adds the routes of tools. The process that serves the session (`?sessionId=`) answers.
func (s toolAPI) routes(path func(string, methods)) {
	path("/api/tools", methods{"GET": s.viewer(s.with(partTools, s.list))})
	path("/api/tools/accept", methods{"POST": s.proved(s.with(partTools, reading(s.accept)))})
}

func (s toolAPI) list(r *http.Request) (any, error) {
	view, err := s.backend.Tools.Tools(r.URL.Query().Get("sessionId"))
	view.Servers = wire.List(view.Servers)
	for i := range view.Servers {
		view.Servers[i].Offered = wire.List(view.Servers[i].Offered)
	}
	return view, err
}

func (s toolAPI) accept(r *http.Request, f struct {
	Tool string `json:"tool"`
	Hash string `json:"hash"`
}) (any, error) {
	if f.Tool == "" || f.Hash == "" {
		return nil, badMessage("tool and hash are required: the hash of the definition that was looked at, as GET /api/tools gave it")
	}
	session := r.URL.Query().Get("sessionId")
	if refused := wire.OneSession(session); refused != nil {
		return nil, refused
	}
	err := s.backend.Tools.AcceptTool(session, f.Tool, f.Hash, authorOf(r))
	switch {
	case errors.Is(err, ErrNoTool):
		err = failed(http.StatusNotFound, wire.CodeBadMessage, err.Error())
	case errors.Is(err, ErrDefinition):
		err = failed(http.StatusConflict, wire.CodeBadMessage, err.Error())
	}
	return map[string]string{"accepted": f.Tool}, err
}
