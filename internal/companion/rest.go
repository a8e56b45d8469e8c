package companion

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"callgate/gate"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/presence"
)

const (
	auditDefault = 100 // records
	auditMost    = 1000
)

// methods maps the methods of one path to what serves them.
type methods map[string]http.HandlerFunc

// routes says who may reach what: probes, proof, schema, page and its pairing without a credential, reading with
// either one, everything that changes something with approve alone.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	path := func(pattern string, m methods) { mux.Handle(pattern, m) }
	path("/{$}", methods{"GET": s.handlePage})
	path("/page/{file}", methods{"GET": s.handlePage})
	path("/protocol.schema.json", methods{"GET": handleSchema})
	path("/health", methods{"GET": s.handleHealth})
	path("/health/live", methods{"GET": s.handleLive})
	path("/health/ready", methods{"GET": s.handleReady})
	path("/api/proof", methods{"GET": s.handleProof})
	path("/ws", methods{"GET": s.handleSocket})
	path("/api/pair", methods{"POST": s.approver(s.handlePair)})
	path("/api/pair/redeem", methods{"POST": s.handleRedeem})
	path("/api/info", methods{"GET": s.viewer(s.handleInfo)})
	path("/api/approvals", methods{"GET": s.viewer(s.handleApprovals)})
	path("/api/approvals/{id}", methods{"POST": s.approver(s.handleAnswer)})
	path("/api/sessions", methods{"GET": s.prompter(s.handleSessions, s.viewer(s.handleSessions))})
	path("/api/sessions/{id}/prompt", methods{"POST": s.prompter(s.handlePrompt, s.approver(s.handlePrompt))})
	s.signInRoutes(path)
	s.controlRoutes(path)
	s.presenceRoutes(path)
	s.freezeRoutes(path)
	s.pushRoutes(path)
	s.chatRoutes(path)
	path("/api/audit", methods{"GET": s.viewer(s.handleAudit)})
	path("/api/report", methods{"GET": s.viewer(s.handleReport)})
	s.changeRoutes(path)
	s.ruleRoutes(path)
	s.toolRoutes(path)
	s.hookRoutes(path)
	path("/api/hosts", methods{"GET": s.viewer(s.handleHosts)})
	s.metricRoutes(path)
	s.checkpointRoutes(path)
	s.indexRoutes(path)
	s.kbRoutes(path)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "there is nothing at this path")
	})
	return mux
}

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	serve, ok := m[method]
	if !ok {
		allowed := make([]string, 0, len(m))
		for name := range m {
			allowed = append(allowed, name)
		}
		slices.Sort(allowed)
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		rest.WriteError(w, http.StatusMethodNotAllowed, wire.CodeBadMessage, "method not allowed here: use "+strings.Join(allowed, " or "))
		return
	}
	serve(w, r)
}

// viewer lets those pass who may watch.
func (s *Server) viewer(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch s.caller(r, nil) {
		case credentials.Approve, credentials.View:
			next(w, r)
		case credentials.Tools:
			rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, toolsOnly)
		case credentials.Prompt:
			rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, promptOnly)
		default:
			rest.Unauthorized(w)
		}
	}
}

// prompter serves those who hold the prompt credential; others go on to next.
func (s *Server) prompter(serve, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.caller(r, nil) != credentials.Prompt:
			next(w, r)
		case !rest.SaysJSON(r):
			rest.WriteError(w, http.StatusUnsupportedMediaType, wire.CodeBadMessage, "the body must be application/json")
		default:
			serve(w, r)
		}
	}
}

const toolsOnly = "the tools credential brings tools, and neither watches nor answers"

// approver lets only the approve credential pass, and with a body only JSON.
func (s *Server) approver(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch s.caller(r, nil) {
		case credentials.Approve:
		case credentials.View:
			rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, "the view credential may watch, not answer")
			return
		case credentials.Tools:
			rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, toolsOnly)
			return
		case credentials.Prompt:
			rest.WriteError(w, http.StatusForbidden, wire.CodeUnauthorized, promptOnly)
			return
		default:
			rest.Unauthorized(w)
			return
		}
		if !rest.SaysJSON(r) {
			rest.WriteError(w, http.StatusUnsupportedMediaType, wire.CodeBadMessage, "the body must be application/json")
			return
		}
		if client, named := clientOf(r); named {
			if refused := wire.CheckClient(client); refused != nil {
				rest.WriteError(w, http.StatusBadRequest, refused.Code, wire.ClientHeader+" must be kind:name, as in web:alice: "+refused.Message)
				return
			}
		}
		next(w, r)
	}
}

func (s *Server) handleApprovals(w http.ResponseWriter, _ *http.Request) {
	pending := s.options.Backend.Pending()
	frames := make([]wire.ToolApproveRequest, 0, len(pending))
	for _, a := range pending {
		frames = append(frames, approveRequest(a))
	}
	rest.WriteList(w, "approvals", frames, s.hub.Problems())
}

// handleAnswer takes the members of tool_approve, without v and type. toolCallId may be left out: the
// path has it.
func (s *Server) handleAnswer(w http.ResponseWriter, r *http.Request) {
	var f wire.ToolApprove
	if !s.body(w, r, &f) {
		return
	}
	id := r.PathValue("id")
	if f.ToolCallID != "" && f.ToolCallID != id {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "toolCallId is not the approval in the path")
		return
	}
	f.ToolCallID = id
	for _, a := range s.options.Backend.Pending() { // its id alone says which one is meant
		if f.SessionID == "" && a.ID == id {
			f.SessionID = a.SessionID
		}
	}
	if f.SessionID == "" {
		s.fail(w, r, gate.ErrNotPending)
		return
	}
	answer, refused := answerOf(&f, authorOf(r))
	if refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return
	}
	given, err := givenOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer.Presence = given
	applied, err := s.options.Backend.Answer(r.Context(), id, answer)
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
		s.fail(w, r, err)
	}
}

func notApplied(w http.ResponseWriter, status int, err error) {
	refused := refusalOf(err)
	rest.WriteJSON(w, status, struct {
		Applied bool           `json:"applied"`
		Error   wire.RestError `json:"error"`
	}{false, wire.RestError{Code: refused.Code, Message: refused.Message}})
}

func (s *Server) handleSessions(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, http.StatusOK, map[string]any{"sessions": wire.List(s.options.Backend.Sessions())})
}

func (s *Server) handleAudit(w http.ResponseWriter, r *http.Request) {
	query, refused := auditQuery(r.URL.Query().Get)
	if refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return
	}
	records, next, err := s.options.Backend.Audit(query)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := map[string]any{"records": wire.List(records)}
	if next != "" {
		answer["next"] = next
	}
	rest.WriteJSON(w, http.StatusOK, answer)
}

func auditQuery(get func(string) string) (AuditQuery, *wire.Refusal) {
	q := AuditQuery{SessionID: get("sessionId"), Decision: get("decision"), Tool: get("tool"), Text: get("q"), Before: get("before"), Calls: get("calls") == "true", Limit: auditDefault}
	if text := get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > auditMost {
			return q, wire.Refuse(wire.CodeBadMessage, "limit must be between 1 and %d", auditMost)
		}
		q.Limit = n
	}
	if text := get("since"); text != "" {
		since, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return q, wire.Refuse(wire.CodeBadMessage, "since must be a time like 2026-11-20T10:00:00Z")
		}
		q.Since = since
	}
	return q, nil
}

// owns reports whether this process itself has the session or the approval.
func (s *Server) owns(things, id string) bool {
	switch things {
	case "/api/sessions":
		return slices.ContainsFunc(s.options.Backend.Sessions(), func(one gate.SessionInfo) bool { return one.ID == id })
	case "/api/approvals":
		return slices.ContainsFunc(s.options.Backend.Pending(), func(one *gate.Approval) bool { return one.ID == id })
	}
	return false
}

// body reads the JSON body into f. When it is false the response is written.
func (s *Server) body(w http.ResponseWriter, r *http.Request, f any) bool {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxMessage))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		rest.WriteError(w, http.StatusRequestEntityTooLarge, wire.CodeBadMessage, "the body is larger than 4 MiB")
		return false
	}
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "the body could not be read")
		return false
	}
	if refused := wire.Decode(data, f); refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return false
	}
	return true
}

// fail answers with what the backend's error means.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	refused := refusalOf(err)
	if needed, ok := presence.IsNeeded(err); ok {
		rest.WriteJSON(w, http.StatusForbidden, map[string]wire.RestError{"error": {Code: refused.Code, Message: refused.Message, Presence: challengeOf(needed)}})
		return
	}
	status := http.StatusBadRequest
	switch {
	case refused.Code == wire.CodeInternal:
		s.log.Error("companion: request failed", "path", r.URL.Path, slog.Any("error", err))
		status = http.StatusInternalServerError
	case refused.Code == wire.CodeNotPending, refused.Code == wire.CodeSessionNotFound:
		status = http.StatusNotFound
	case refused.Code == wire.CodeRefused:
		status = http.StatusForbidden
	case refused.Code == wire.CodeUnavailable:
		status = http.StatusServiceUnavailable
	case refused.Code == wire.CodeCancelled, errors.Is(err, gate.ErrDigest):
		status = http.StatusConflict
	}
	rest.WriteError(w, status, refused.Code, refused.Message)
}
