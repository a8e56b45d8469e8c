package companion

import (
	"errors"
	"net/http"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Suggestions derives grants from the worker's audit trail.
type Suggestions interface {
	// Suggest returns the suggested grants. They may be some minutes old.
	Suggest() (SuggestionsView, error)

	// TakeSuggestions adds the grants with these ids to the rules and records it. If one of them is no longer
	// suggested, it returns ErrNoSuggestion and changes nothing.
	TakeSuggestions(ids []string, who audit.Author) error
}

// ErrNoSuggestion means that the trail or the rules have changed, and no longer suggest the grant.
var ErrNoSuggestion = errors.New("this is no longer suggested; nothing was changed, load the suggestions again")

// SuggestionsView is what one audit trail suggests.
type SuggestionsView struct {
	Worth     bool             `json:"worth"` // they save enough to be shown without being asked for
	Days      int              `json:"days"`
	Questions int              `json:"questions"`
	Saved     int              `json:"saved"`
	Proposals []SuggestionView `json:"proposals"`
}

// SuggestionView is one suggested grant. ID identifies it as long as its content stays the same.
type SuggestionView struct {
	ID        string   `json:"id"`
	Tool      string   `json:"tool"`
	Pattern   string   `json:"pattern"`
	Ceiling   string   `json:"ceiling"`
	Server    string   `json:"server,omitempty"`
	Workspace string   `json:"workspace,omitempty"`
	Saves     int      `json:"saves"`
	Examples  []string `json:"examples"`
	Opens     struct {
		Everyday int `json:"everyday"`
		Operands int `json:"operands"`
		Hosts    int `json:"hosts"`
	} `json:"opens"`
}

// trailAPI serves the audit trail and its suggestions over REST.
type trailAPI struct{ api }

func (s trailAPI) routes(path func(string, methods)) {
	path("/api/audit", methods{"GET": s.viewer(s.audit)})
	path("/api/report", methods{"GET": s.viewer(s.with(partReports, s.report))})
	path("/api/rules/suggestions", methods{"GET": s.viewer(s.ruled(s.suggestions)), "POST": s.proved(s.ruled(reading(s.takeSuggestions)))})
}

func (s trailAPI) suggestions(*http.Request) (any, error) {
	var view SuggestionsView
	var err error
	if s.backend.Suggestions != nil {
		view, err = s.backend.Suggestions.Suggest()
	}
	view.Proposals = wire.List(view.Proposals)
	return view, err
}

func (s trailAPI) takeSuggestions(r *http.Request, f struct {
	IDs []string `json:"ids"`
}) (any, error) {
	if s.backend.Suggestions == nil || len(f.IDs) == 0 {
		return nil, badMessage("ids is required: those of GET /api/rules/suggestions")
	}
	err := s.backend.Suggestions.TakeSuggestions(f.IDs, authorOf(r))
	if errors.Is(err, ErrNoSuggestion) {
		err = failed(http.StatusConflict, wire.CodeBadMessage, err.Error())
	}
	return map[string][]string{"added": f.IDs}, err
}

// Reports explains from the audit trail why people were asked.
type Reports interface {
	// Report returns a report on the calls since a time. Its JSON is "report" in docs/protocol.schema.json.
	Report(since time.Time) (any, error)
}

func (s trailAPI) report(r *http.Request) (any, error) {
	query, err := auditQuery(r.URL.Query().Get)
	if err != nil {
		return nil, err
	}
	return s.backend.Reports.Report(query.Since)
}

func (s trailAPI) audit(r *http.Request) (any, error) {
	query, err := auditQuery(r.URL.Query().Get)
	if err != nil {
		return nil, err
	}
	records, next, err := s.backend.Gate.Audit(query)
	told := map[string]any{"records": wire.List(records)}
	if next != "" {
		told["next"] = next
	}
	return told, err
}

func auditQuery(get func(string) string) (AuditQuery, error) {
	q := AuditQuery{SessionID: get("sessionId"), Decision: get("decision"), Tool: get("tool"), Text: get("q"), Before: get("before"), Calls: get("calls") == "true"}
	if refused := rest.CheckWord("decision", q.Decision, gate.Decisions()); refused != nil {
		return q, refused
	}
	if refused := rest.CheckWord("calls", get("calls"), []string{"true", "false"}); refused != nil {
		return q, refused
	}
	var err error
	if q.Limit, err = limitOf(get("limit"), auditDefault, auditMost); err != nil {
		return q, err
	}
	if text := get("since"); text != "" {
		if q.Since, err = time.Parse(time.RFC3339, text); err != nil {
			return q, badMessage("since must be a time like 2026-11-20T10:00:00Z")
		}
	}
	return q, nil
}
