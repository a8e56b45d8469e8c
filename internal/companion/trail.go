package companion

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Suggestions are grants that the audit trail of the worker suggests.
type Suggestions interface {
	// Suggest may answer with what it found some minutes ago.
	Suggest() (SuggestionsView, error)

	// TakeSuggestions adds the grants with these ids to the rules, and puts that on record. It returns ErrNoSuggestion
	// when one of them is not suggested any more; then nothing is changed.
	TakeSuggestions(ids []string, who audit.Author) error
}

// ErrNoSuggestion: the trail or the rules changed, and do not suggest it any more.
var ErrNoSuggestion = errors.New("this is no longer suggested; nothing was changed, load the suggestions again")

// SuggestionsView is what one trail suggests.
type SuggestionsView struct {
	Worth     bool             `json:"worth"` // they save enough to be shown unasked
	Days      int              `json:"days"`
	Questions int              `json:"questions"`
	Saved     int              `json:"saved"`
	Proposals []SuggestionView `json:"proposals"`
}

// SuggestionView is one grant. ID names it as long as it says the same.
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

// trailAPI answers REST about the audit trail and what it suggests.
type trailAPI struct{ api }

func (s trailAPI) routes(path func(string, methods)) {
	path("/api/audit", methods{"GET": s.may.viewer(s.handleAudit)})
	path("/api/report", methods{"GET": s.may.viewer(s.handleReport)})
	path("/api/rules/suggestions", methods{"GET": s.may.viewer(s.handleSuggestions), "POST": s.may.proved(s.handleTakeSuggestions)})
}

func (s trailAPI) handleSuggestions(w http.ResponseWriter, r *http.Request) {
	if !ruleAPI(s).ruled(w, r) {
		return
	}
	if s.backend.Suggestions == nil {
		rest.WriteJSON(w, http.StatusOK, SuggestionsView{Proposals: []SuggestionView{}})
		return
	}
	view, err := s.backend.Suggestions.Suggest()
	if err != nil {
		s.reply.fail(w, r, err)
		return
	}
	view.Proposals = wire.List(view.Proposals)
	rest.WriteJSON(w, http.StatusOK, view)
}

func (s trailAPI) handleTakeSuggestions(w http.ResponseWriter, r *http.Request) {
	var f struct {
		IDs []string `json:"ids"`
	}
	if !ruleAPI(s).ruled(w, r) || !s.reply.body(w, r, &f) {
		return
	}
	if s.backend.Suggestions == nil || len(f.IDs) == 0 {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "ids is required: those of GET /api/rules/suggestions")
		return
	}
	switch err := s.backend.Suggestions.TakeSuggestions(f.IDs, authorOf(r)); {
	case err == nil:
		rest.WriteJSON(w, http.StatusOK, map[string][]string{"added": f.IDs})
	case errors.Is(err, ErrNoSuggestion):
		rest.WriteError(w, http.StatusConflict, wire.CodeBadMessage, err.Error())
	default:
		s.reply.fail(w, r, err)
	}
}

// Reports say from the audit trail why people were asked.
type Reports interface {
	// Report is about calls since a moment. Its JSON is "report" in docs/protocol.schema.json.
	Report(since time.Time) (any, error)
}

func (s trailAPI) handleReport(w http.ResponseWriter, r *http.Request) {
	query, refused := auditQuery(r.URL.Query().Get)
	switch {
	case !s.backend.offers(w, partReports):
		return
	case refused != nil:
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return
	}
	report, err := s.backend.Reports.Report(query.Since)
	s.reply.answer(w, r, report, err)
}

func (s trailAPI) handleAudit(w http.ResponseWriter, r *http.Request) {
	query, refused := auditQuery(r.URL.Query().Get)
	if refused != nil {
		rest.WriteError(w, http.StatusBadRequest, refused.Code, refused.Message)
		return
	}
	records, next, err := s.backend.Gate.Audit(query)
	if err != nil {
		s.reply.fail(w, r, err)
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
	if refused := rest.CheckWord("decision", q.Decision, gate.Decisions()); refused != nil {
		return q, refused
	}
	if refused := rest.CheckWord("calls", get("calls"), []string{"true", "false"}); refused != nil {
		return q, refused
	}
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
