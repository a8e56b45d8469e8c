package companion

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
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

// methods maps the methods of one path to their handlers.
type methods map[string]http.HandlerFunc

// api holds what every part of the REST API needs.
type api struct {
	may     *admission // who may ask
	reply   replies
	backend *Backend
}

// routes returns the handler of all paths. Probes, proof, schema, sign-in, the page and its pairing need no credential.
// Reading needs view or approve, and changes need approve.
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

// queries lists the parameters that a path accepts besides those of everyPath.
var queries = map[string][]string{
	"/api/audit":                 {"before", "calls", "decision", "limit", "q", "since", "tool"},
	"/api/report":                {"since"},
	"/api/checkpoints":           {"limit"},
	"/api/checkpoints/{id}/diff": {"path"},
	"/api/index":                 {"path"},
	"/api/kb":                    {"limit"},
	"/api/proof":                 {"credential", "nonce"},
}

// everyPath lists the parameters by which the hub finds the process for a request.
var everyPath = []string{"sessionId", "worker"}

// queried refuses REST requests with a parameter that their path does not accept.
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
		allowed := slices.Sorted(maps.Keys(m))
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		rest.WriteError(w, http.StatusMethodNotAllowed, wire.CodeBadMessage, "method not allowed here: use "+strings.Join(allowed, " or "))
		return
	}
	serve(w, r)
}

// owns reports whether this process itself has the session or approval.
func (s *Server) owns(things, id string) bool {
	switch things {
	case "/api/sessions":
		return slices.ContainsFunc(s.backend.Gate.Sessions(), func(one gate.SessionInfo) bool { return one.ID == id })
	case "/api/approvals":
		return slices.ContainsFunc(s.backend.Gate.Pending(), func(one *gate.Approval) bool { return one.ID == id })
	}
	return false
}

// handler serves a request. It returns what to write as JSON, or why it failed.
type handler func(r *http.Request) (any, error)

// answer is what a handler returns for a status other than 200.
type answer struct {
	status int
	body   any
}

// failure is an error that holds the response to the request.
type failure struct{ answer }

func (f *failure) Error() string { return fmt.Sprint(f.body) }

func failed(status int, code, message string) error {
	return &failure{answer{status, map[string]wire.RestError{"error": {Code: code, Message: message}}}}
}

// badMessage returns the refusal of a malformed request.
func badMessage(format string, args ...any) error {
	return wire.Refuse(wire.CodeBadMessage, format, args...)
}

func (a api) viewer(h handler) http.HandlerFunc   { return a.may.viewer(a.reply.of(h)) }
func (a api) approver(h handler) http.HandlerFunc { return a.may.approver(a.reply.of(h)) }
func (a api) proved(h handler) http.HandlerFunc   { return a.may.proved(a.reply.of(h)) }

// patient is approver for requests that may take long.
func (a api) patient(h handler) http.HandlerFunc {
	serve := a.reply.of(h)
	return a.may.approver(func(w http.ResponseWriter, r *http.Request) {
		rest.Patiently(w)
		serve(w, r)
	})
}

// with wraps a handler that needs a part of the backend.
func (a api) with(p part, h handler) handler {
	return func(r *http.Request) (any, error) {
		if !p.offered(a.backend) {
			return nil, failed(http.StatusNotFound, wire.CodeBadMessage, p.absent)
		}
		return h(r)
	}
}

// reading wraps a handler that takes a JSON body.
func reading[T any](h func(*http.Request, T) (any, error)) handler {
	return func(r *http.Request) (any, error) {
		var f T
		if err := body(r, &f); err != nil {
			return nil, err
		}
		return h(r, f)
	}
}

// ofSession wraps a handler for the session in the path. The body may name the session too.
func ofSession[T interface{ NamedSession() string }](h func(*http.Request, string, T) (any, error)) handler {
	return reading(func(r *http.Request, f T) (any, error) {
		id := r.PathValue("id")
		if refused := wire.OneSession(id); refused != nil {
			return nil, refused
		}
		if f.NamedSession() != "" && f.NamedSession() != id {
			return nil, badMessage("sessionId is not the session in the path")
		}
		return h(r, id, f)
	})
}

// replies writes the responses of REST requests.
type replies struct{ log *slog.Logger }

// of serves requests with h.
func (p replies) of(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, wire.MaxMessage)
		done, err := h(r)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		other, ok := done.(answer)
		if !ok {
			other = answer{http.StatusOK, done}
		}
		rest.WriteJSON(w, other.status, other.body)
	}
}

// fail writes the response for an error.
func (p replies) fail(w http.ResponseWriter, r *http.Request, err error) {
	if told, ok := errors.AsType[*failure](err); ok {
		if told.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "60")
		}
		rest.WriteJSON(w, told.status, told.body)
		return
	}
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

// body decodes the JSON body into f, like rest.DecodeBody.
func body(r *http.Request, f any) error {
	data, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return failed(http.StatusRequestEntityTooLarge, wire.CodeBadMessage, "the body is larger than 4 MiB")
	}
	if err != nil {
		return badMessage("the body could not be read")
	}
	if refused := rest.DecodeBody(data, f); refused != nil {
		return refused
	}
	return nil
}

// limitOf parses the limit of a list, from 1 to most. If text is "" it returns otherwise.
func limitOf(text string, otherwise, most int) (int, error) {
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, badMessage("limit must be between 1 and %d", most)
	}
	return n, nil
}
