package companion

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"callgate/gate"
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

// api is what every subject of REST works with.
type api struct {
	may     *admission // who may ask
	reply   replies
	backend *Backend
}

// routes says who may reach what: probes, proof, schema, page and its pairing without a credential, reading with
// either one, everything that changes something with approve alone.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	path := func(pattern string, m methods) { mux.Handle(pattern, m) }
	path("/ws", methods{"GET": s.handleSocket})
	all := api{may: s.may, reply: replies{s.log}, backend: s.backend}
	o := &s.options
	for _, subject := range []interface{ routes(func(string, methods)) }{
		pageAPI{}, controlAPI{all}, freezeAPI{all}, trailAPI{all}, ruleAPI{all}, toolAPI{all}, pushAPI{all}, checkpointAPI{all}, indexAPI{all}, knowledgeAPI{all},
		probeAPI{all, s.hub, o.Metrics, s.problems, o.Ready, s.log},
		pairAPI{all, s.tenants, &s.pairings, s.log},
		signInAPI{all, s.tenants, o.Identity, &s.pairings, s.log},
		infoAPI{all, s.hub, o, s.problems},
		approvalAPI{all, s.hub},
		passkeyAPI{all, s.log},
		chatAPI{all, &s.conversations},
		hookAPI{all, o.HostHooks},
	} {
		subject.routes(path)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, "there is nothing at this path: docs/reference.txt lists the requests")
	})
	return queried(mux)
}

// queries are the parameters that a path knows beside those of everyPath.
var queries = map[string][]string{
	"/api/audit":                 {"before", "calls", "decision", "limit", "q", "since", "tool"},
	"/api/report":                {"since"},
	"/api/checkpoints":           {"limit"},
	"/api/checkpoints/{id}/diff": {"path"},
	"/api/index":                 {"path"},
	"/api/kb":                    {"limit"},
	"/api/proof":                 {"credential", "nonce"},
}

// everyPath are the parameters by which the hub finds the process that a request is for.
var everyPath = []string{"sessionId", "worker"}

// queried refuses requests of REST with a parameter that their path does not know.
func queried(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); strings.HasPrefix(pattern, "/api/") {
			if refused := rest.CheckQuery(r.URL.Query(), slices.Concat(queries[pattern], everyPath)); refused != nil {
				rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
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

// replies reads what REST requests bring, and answers them.
type replies struct{ log *slog.Logger }

// body reads the JSON body into f, as rest.DecodeBody does. When it is false the response is written.
func (p replies) body(w http.ResponseWriter, r *http.Request, f any) bool {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxMessage))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		rest.WriteError(w, http.StatusRequestEntityTooLarge, wire.CodeBadMessage, "the body is larger than 4 MiB")
		return false
	}
	if err != nil {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "the body could not be read")
		return false
	}
	if refused := rest.DecodeBody(data, f); refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return false
	}
	return true
}

// answer answers with v, or with what the error means.
func (p replies) answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	if err != nil {
		p.fail(w, r, err)
		return
	}
	rest.WriteJSON(w, http.StatusOK, v)
}

// fail answers with what the backend's error means.
func (p replies) fail(w http.ResponseWriter, r *http.Request, err error) {
	refused := refusalOf(err)
	if needed, ok := presence.IsNeeded(err); ok {
		rest.WriteJSON(w, http.StatusForbidden, map[string]wire.RestError{"error": {Code: refused.Code, Message: refused.Message, Presence: challengeOf(needed)}})
		return
	}
	status := http.StatusBadRequest
	switch {
	case refused.Code == wire.CodeInternal:
		p.log.Error("companion: request failed", "path", r.URL.Path, slog.Any("error", err))
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

// ofSession reads the body into f, and returns the one session that the path names; the body may name it too, in
// named. When it is not ok the response is written.
func (p replies) ofSession(w http.ResponseWriter, r *http.Request, f any, named *string) (id string, ok bool) {
	if !p.body(w, r, f) {
		return "", false
	}
	id = r.PathValue("id")
	if refused := wire.OneSession(id); refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return "", false
	}
	if *named != "" && *named != id {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "sessionId is not the session in the path")
		return "", false
	}
	return id, true
}
