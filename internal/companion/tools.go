package companion

import (
	"errors"
	"net/http"

	"callgate/audit"
)

// Tools is what the servers offer, as people see it. Nil in Options means that there is nothing to see. All
// methods MUST be safe for concurrent use.
type Tools interface {
	// Tools lists servers and their tools as the host of a session is offered them, "" for the session that was
	// opened first. It returns gate.ErrSession when there is no such session.
	Tools(sessionID string) (ToolsView, error)

	// AcceptTool accepts a tool's definition, which ends its quarantine. hash is that of the definition that was
	// looked at. It returns ErrNoTool when the tool is not there, and ErrDefinition when it has another definition.
	AcceptTool(sessionID, tool, hash string, who audit.Author) error
}

var (
	// ErrNoTool: no server of the session offers the tool.
	ErrNoTool = errors.New("there is no such tool")
	// ErrDefinition: the definition is not the one that was looked at.
	ErrDefinition = errors.New("the tool's definition is another one by now; look at it again")
)

// ToolsView is what one session is offered.
type ToolsView struct {
	SessionID string       `json:"sessionId"` // "" while no host is connected: nothing is known of tools then
	Servers   []ServerView `json:"servers"`
}

// ServerView is one MCP server with its tools.
type ServerView struct {
	UpstreamState
	Offered []ToolView `json:"offered"`
}

// ToolView is one tool. Everything that its server says of it is a claim.
type ToolView struct {
	Tool        string            `json:"tool"` // what rules see
	Name        string            `json:"name"` // the server's own
	Description string            `json:"description"`
	Kind        string            `json:"kind,omitempty"`
	Bound       bool              `json:"bound"`              // the kind is certain: it counts for allow rules
	Why         string            `json:"why"`                // how the kind was found
	Subjects    map[string]string `json:"subjects,omitempty"` // argument → role, for the arguments that are judged
	Verdict     string            `json:"verdict"`            // of a call with values that no pattern is about
	Rule        string            `json:"rule"`               // which gives it
	Patterns    int               `json:"patterns"`           // rules for this tool that look at values
	Hash        string            `json:"hash"`               // of the definition
	// DefinitionChanged holds the definition as it was accepted and as it is; nil when they are the same.
	DefinitionChanged *Redefinition `json:"definitionChanged,omitempty"`
}

// Redefinition is two definitions as JSON text: a client that decodes it itself loses nothing.
type Redefinition struct {
	Old string `json:"old,omitempty"` // "" for a tool that was never accepted
	New string `json:"new"`
	Why string `json:"why"`
}

// toolRoutes are answered by the process that serves the session: `?sessionId=`, or the member of the body.
func (s *Server) toolRoutes(path func(string, methods)) {
	path("/api/tools", methods{"GET": s.viewer(s.handleTools)})
	path("/api/tools/accept", methods{"POST": s.approver(s.handleAcceptTool)})
}

func (s *Server) tooled(w http.ResponseWriter) bool {
	if s.tools == nil {
		writeError(w, http.StatusNotFound, CodeBadMessage, "this callgate does not show its tools")
	}
	return s.tools != nil
}

func (s *Server) handleTools(w http.ResponseWriter, r *http.Request) {
	if !s.tooled(w) {
		return
	}
	view, err := s.tools.Tools(r.URL.Query().Get("sessionId"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	view.Servers = list(view.Servers)
	for i := range view.Servers {
		view.Servers[i].Offered = list(view.Servers[i].Offered)
	}
	writeJSON(w, http.StatusOK, view)
}

func (s *Server) handleAcceptTool(w http.ResponseWriter, r *http.Request) {
	var f struct {
		Tool string `json:"tool"`
		Hash string `json:"hash"`
	}
	if !s.tooled(w) || !s.body(w, r, &f) {
		return
	}
	if f.Tool == "" || f.Hash == "" {
		writeError(w, http.StatusBadRequest, CodeBadMessage, "tool and hash are required: the hash of the definition that was looked at, as GET /api/tools gave it")
		return
	}
	session := r.URL.Query().Get("sessionId")
	if refused := oneSession(session); refused != nil {
		writeError(w, http.StatusBadRequest, refused.code, refused.message)
		return
	}
	switch err := s.tools.AcceptTool(session, f.Tool, f.Hash, authorOf(r)); {
	case err == nil:
		writeJSON(w, http.StatusOK, map[string]string{"accepted": f.Tool})
	case errors.Is(err, ErrNoTool):
		writeError(w, http.StatusNotFound, CodeBadMessage, err.Error())
	case errors.Is(err, ErrDefinition):
		writeError(w, http.StatusConflict, CodeBadMessage, err.Error())
	default:
		s.fail(w, r, err)
	}
}
