package companion

import (
	"encoding/json"
	"errors"
	"net/http"

	"callgate/audit"
	"callgate/internal/companion/wire"
	"callgate/internal/hooks"
)

// Hooks lets people list and switch hooks. All methods MUST be safe for concurrent use.
type Hooks interface {
	// Hooks returns the hooks in the order of the configuration.
	Hooks() []hooks.Status

	// SetHook switches a hook on or off. It returns hooks.ErrUnknown if no hook has that name.
	SetHook(name string, enabled bool, who audit.Author) error
}

// hookAPI serves hooks over REST.
type hookAPI struct {
	api
	hosts http.Handler
}

// routes adds the routes of hooks. All processes of the worker share which hooks are on, so any of them can switch one.
// Runs and failures are those of the process that has the `?sessionId=`, or the sum of all processes without it.
func (s hookAPI) routes(path func(string, methods)) {
	path("/api/hooks", methods{"GET": s.viewer(s.with(partHooks, s.list))})
	path("/api/hooks/{name}", methods{"PUT": s.proved(s.with(partHooks, reading(s.set)))})
	if s.hosts != nil {
		path("/hook/{host}", methods{"POST": s.hosts.ServeHTTP})
		path("/hook/{host}/{event}", methods{"POST": s.hosts.ServeHTTP})
	}
}

func (s hookAPI) list(*http.Request) (any, error) {
	return wire.List(s.backend.Hooks.Hooks()), nil
}

func (s hookAPI) set(r *http.Request, f struct {
	Enabled *bool `json:"enabled"`
}) (any, error) {
	if f.Enabled == nil {
		return nil, badMessage(`the body has to say {"enabled": true} or {"enabled": false}`)
	}
	name := r.PathValue("name")
	err := s.backend.Hooks.SetHook(name, *f.Enabled, authorOf(r))
	if errors.Is(err, hooks.ErrUnknown) {
		err = failed(http.StatusNotFound, wire.CodeBadMessage, err.Error())
	}
	return map[string]any{"name": name, "enabled": *f.Enabled}, err
}

// addHook adds another process's counts of the same hook to sum, and keeps the latest failure. If either cannot be
// read, as after a change of version, it returns sum unchanged.
func addHook(sum, next json.RawMessage) json.RawMessage {
	var counts, more struct {
		Runs        int            `json:"runs"`
		Failures    int            `json:"failures"`
		LastFailure *hooks.Failure `json:"lastFailure"`
	}
	members := map[string]json.RawMessage{} // all members, even those of later versions
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
