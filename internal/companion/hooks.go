package companion

import (
	"encoding/json"
	"errors"
	"net/http"

	"callgate/audit"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
	"callgate/internal/hooks"
)

// Hooks is what people can do with hooks. All methods MUST
// be safe for concurrent use.
type Hooks interface {
	// Hooks lists the hooks in the order of the configuration.
	Hooks() []hooks.Status

	// SetHook switches a hook on or off. It returns hooks.ErrUnknown if no hook has that name.
	SetHook(name string, enabled bool, who audit.Author) error
}

// hookAPI answers REST about hooks.
type hookAPI struct {
	api
	hosts http.Handler
}

// routes are answered by any process of the worker for what is switched, which all of them share. Runs and
// failures are those of the process that answers (`?sessionId=`), and of all processes where none is named.
func (s hookAPI) routes(path func(string, methods)) {
	path("/api/hooks", methods{"GET": s.may.viewer(s.handleHooks)})
	path("/api/hooks/{name}", methods{"PUT": s.may.proved(s.handleSetHook)})
	if s.hosts != nil {
		path("/hook/{host}", methods{"POST": s.hosts.ServeHTTP})
		path("/hook/{host}/{event}", methods{"POST": s.hosts.ServeHTTP})
	}
}

func (s hookAPI) handleHooks(w http.ResponseWriter, _ *http.Request) {
	if s.backend.offers(w, partHooks) {
		rest.WriteJSON(w, http.StatusOK, wire.List(s.backend.Hooks.Hooks()))
	}
}

func (s hookAPI) handleSetHook(w http.ResponseWriter, r *http.Request) {
	var f struct {
		Enabled *bool `json:"enabled"`
	}
	if !s.backend.offers(w, partHooks) || !s.reply.body(w, r, &f) {
		return
	}
	if f.Enabled == nil {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, `the body has to say {"enabled": true} or {"enabled": false}`)
		return
	}
	name := r.PathValue("name")
	switch err := s.backend.Hooks.SetHook(name, *f.Enabled, authorOf(r)); {
	case err == nil:
		rest.WriteJSON(w, http.StatusOK, map[string]any{"name": name, "enabled": *f.Enabled})
	case errors.Is(err, hooks.ErrUnknown):
		rest.WriteError(w, http.StatusNotFound, wire.CodeBadMessage, err.Error())
	default:
		s.reply.fail(w, r, err)
	}
}

// addHook adds what another process counts of the same hook, and keeps the failure that was last. A hook of another
// version that cannot be read adds nothing.
func addHook(sum, next json.RawMessage) json.RawMessage {
	var counts, more struct {
		Runs        int            `json:"runs"`
		Failures    int            `json:"failures"`
		LastFailure *hooks.Failure `json:"lastFailure"`
	}
	members := map[string]json.RawMessage{} // all of them, those of later versions too
	if json.Unmarshal(sum, &counts) != nil || json.Unmarshal(next, &more) != nil || json.Unmarshal(sum, &members) != nil {
		return sum
	}
	counts.Runs += more.Runs
	counts.Failures += more.Failures
	if l := more.LastFailure; l != nil && (counts.LastFailure == nil || l.At.After(counts.LastFailure.At)) {
		counts.LastFailure = l
	}
	for name, value := range map[string]any{"runs": counts.Runs, "failures": counts.Failures, "lastFailure": counts.LastFailure} {
		text, err := json.Marshal(value)
		if err != nil {
			return sum
		}
		if string(text) != "null" {
			members[name] = text
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		return sum
	}
	return text
}
