package companion

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

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
	path("/ws", methods{"GET": s.handleSocket})
	for _, subject := range []interface{ routes(func(string, methods)) }{
		pageAPI{s}, probeAPI{s}, pairAPI{s}, signInAPI{s}, infoAPI{s}, approvalAPI{s}, controlAPI{s}, passkeyAPI{s}, freezeAPI{s},
		chatAPI{s}, trailAPI{s}, ruleAPI{s}, toolAPI{s}, pushAPI{s}, hookAPI{s}, checkpointAPI{s}, indexAPI{s}, knowledgeAPI{s},
	} {
		subject.routes(path)
	}
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

// owns reports whether this process itself has the session or the approval.
func (s *Server) owns(things, id string) bool {
	switch things {
	case "/api/sessions":
		return slices.ContainsFunc(s.backend.Gate.Sessions(), func(one gate.SessionInfo) bool { return one.ID == id })
	case "/api/approvals":
		return slices.ContainsFunc(s.backend.Gate.Pending(), func(one *gate.Approval) bool { return one.ID == id })
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
	if refused := rest.Decode(data, f); refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return false
	}
	return true
}

// answer answers with v, or with what the error means.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, v)
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
