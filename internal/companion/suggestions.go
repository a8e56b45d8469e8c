package companion

import (
	"errors"
	"net/http"

	"callgate/audit"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// Suggestions are grants that the audit trail of the worker suggests.
type Suggestions interface {
	// Suggest may answer with what it found some minutes ago.
	Suggest() (SuggestionsView, error)

	// TakeSuggestions adds the grants with these ids to the rules, and puts that on record. It returns ErrNoSuggestion when
	// one of them is not suggested any more; then nothing is changed.
	TakeSuggestions(ids []string, who audit.Author) error
}

// ErrNoSuggestion: the trail or the rules changed, and do not suggest it any more.
var ErrNoSuggestion = errors.New("this is not suggested any more; load the suggestions again, nothing was changed")

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

func (s *Server) handleSuggestions(w http.ResponseWriter, r *http.Request) {
	if !s.ruled(w, r) {
		return
	}
	if s.options.Suggestions == nil {
		rest.WriteJSON(w, http.StatusOK, SuggestionsView{Proposals: []SuggestionView{}})
		return
	}
	view, err := s.options.Suggestions.Suggest()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	view.Proposals = wire.List(view.Proposals)
	rest.WriteJSON(w, http.StatusOK, view)
}

func (s *Server) handleTakeSuggestions(w http.ResponseWriter, r *http.Request) {
	var f struct {
		IDs []string `json:"ids"`
	}
	if !s.ruled(w, r) || !s.body(w, r, &f) {
		return
	}
	if s.options.Suggestions == nil || len(f.IDs) == 0 {
		rest.WriteError(w, http.StatusBadRequest, wire.CodeBadMessage, "ids is required: those of GET /api/rules/suggestions")
		return
	}
	switch err := s.options.Suggestions.TakeSuggestions(f.IDs, authorOf(r)); {
	case err == nil:
		rest.WriteJSON(w, http.StatusOK, map[string][]string{"added": f.IDs})
	case errors.Is(err, ErrNoSuggestion):
		rest.WriteError(w, http.StatusConflict, wire.CodeBadMessage, err.Error())
	default:
		s.fail(w, r, err)
	}
}
