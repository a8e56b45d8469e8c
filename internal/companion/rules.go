package companion

import (
	"errors"
	"net/http"
	"time"

	"callgate/audit"
	"callgate/internal/companion/wire"
	"callgate/permissions"
	"callgate/permissions/lint"
	"callgate/permissions/store"
)

// Rules is the worker's rules as people see and change them.
// All methods MUST be safe for concurrent use, and put every change on record under the name that by is.
type Rules interface {
	// Worker is whose rules these are.
	Worker() string

	Rules() (RulesView, error)

	// CheckRules says what a text would mean. It changes nothing.
	CheckRules(text string) RulesCheck

	// ReplaceRules gives the file a new text that was made from the text base. It returns a
	// *permissions.FileError for a text that is not valid, and store.ErrRulesChanged when somebody else
	// changed the rules since base; the file is as before then. Grants that came or went since base are kept.
	ReplaceRules(base, text string, who audit.Author) error

	// Grants lists what people allowed always, in the file and in memory.
	Grants() ([]GrantView, error)

	// RevokeGrant takes back the grant with that id, wherever it is kept. It returns ErrNoGrant when there is none.
	RevokeGrant(id string, who audit.Author) error
}

// ErrNoGrant: the grant was revoked, ended with its session, or never was.
var ErrNoGrant = errors.New("there is no such grant any more")

// RulesView is the rules of one worker at one moment.
type RulesView struct {
	Worker string      `json:"worker"`
	File   string      `json:"file"`
	Text   string      `json:"text"` // of the file, byte for byte; what ReplaceRules takes as base
	Layers []RuleLayer `json:"layers"`
	RulesCheck
}

// RulesCheck is what a text of a rules file is worth.
type RulesCheck struct {
	Rules    int            `json:"rules"`              // how many it has
	Fault    *RulesFault    `json:"fault,omitempty"`    // why it is not valid: as long as the file is, everything is denied
	Problems []lint.Problem `json:"problems,omitempty"` // rules that do not do what they seem to
}

// RulesFault says where a text stops being valid. Line and Column count from 1, Column in bytes.
type RulesFault struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// RuleLayer is rules that are judged together, in the order that counts: the last one that matches wins.
type RuleLayer struct {
	Layer permissions.Layer `json:"layer"` // agent or file
	Name  string            `json:"name"`  // of the agent profile, or of the file
	Rules []RuleView        `json:"rules"`
}

// RuleView is one rule.
type RuleView struct {
	Place   string `json:"place"` // "permissions.jsonc:9"
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Action  string `json:"action"`
}

// GrantView is one grant. ID names it as long as it says the same.
type GrantView struct {
	ID        string            `json:"id"`
	Worker    string            `json:"workerId"`
	Layer     permissions.Layer `json:"layer"`               // always for the file, session for one in memory
	SessionID string            `json:"sessionId,omitempty"` // the session that it ends with
	Expired   bool              `json:"expired,omitempty"`
	Tool      string            `json:"tool"`
	Pattern   string            `json:"pattern"`
	Risk      string            `json:"risk"` // class that it never goes above
	Server    string            `json:"server,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	By        string            `json:"by,omitempty"`
	At        time.Time         `json:"at,omitzero"`
	Expires   time.Time         `json:"expires,omitzero"`
}

// ruleAPI answers REST about rules and grants.
type ruleAPI struct{ api }

// routes are answered by any process of the worker: `?worker=`; the grants of a session by the one that serves
// it: `?sessionId=`. Grants that are in the file are listed by each of them, under the same id.
func (s ruleAPI) routes(path func(string, methods)) {
	path("/api/rules", methods{"GET": s.viewer(s.ruled(s.rules)), "PUT": s.proved(s.ruled(reading(s.replace)))})
	path("/api/rules/check", methods{"POST": s.approver(s.ruled(reading(s.check)))})
	path("/api/grants", methods{"GET": s.viewer(s.ruled(s.grants))})
	path("/api/grants/{id}", methods{"DELETE": s.approver(s.ruled(s.revoke))})
}

// ruled is a handler for rules that are to be seen, and not those of another worker.
func (a api) ruled(h handler) handler {
	return a.with(partRules, func(r *http.Request) (any, error) {
		if worker := r.URL.Query().Get("worker"); worker != "" && worker != a.backend.Rules.Worker() {
			return nil, failed(http.StatusNotFound, wire.CodeBadMessage, "this callgate runs another worker")
		}
		return h(r)
	})
}

func (s ruleAPI) rules(*http.Request) (any, error) {
	view, err := s.backend.Rules.Rules()
	view.Layers = wire.List(view.Layers)
	return view, err
}

func (s ruleAPI) check(_ *http.Request, f struct {
	Text string `json:"text"`
}) (any, error) {
	return s.backend.Rules.CheckRules(f.Text), nil
}

// replace takes the new text and the one that the editor began with. If two people edit at once, the second learns of
// the first.
func (s ruleAPI) replace(r *http.Request, f struct {
	Base *string `json:"base"`
	Text *string `json:"text"`
}) (any, error) {
	if f.Base == nil || f.Text == nil {
		return nil, misfit("base and text are required: the text that was edited, as GET /api/rules gave it, and the new one")
	}
	err := s.backend.Rules.ReplaceRules(*f.Base, *f.Text, authorOf(r))
	if fault, ok := errors.AsType[*permissions.FileError](err); ok {
		return nil, &failure{answer{http.StatusUnprocessableEntity, map[string]any{
			"error": wire.RestError{Code: wire.CodeBadMessage, Message: fault.Error()}, "fault": RulesFault{fault.Line, fault.Column, fault.Message},
		}}}
	}
	if errors.Is(err, store.ErrRulesChanged) {
		return nil, failed(http.StatusConflict, wire.CodeBadMessage, "someone else changed the rules since you began to edit; nothing was saved, load them again")
	}
	if err != nil {
		return nil, err
	}
	return s.rules(r)
}

func (s ruleAPI) grants(*http.Request) (any, error) {
	grants, err := s.backend.Rules.Grants()
	return map[string][]GrantView{"grants": wire.List(grants)}, err
}

func (s ruleAPI) revoke(r *http.Request) (any, error) {
	id := r.PathValue("id")
	err := s.backend.Rules.RevokeGrant(id, authorOf(r))
	if errors.Is(err, ErrNoGrant) {
		err = failed(http.StatusNotFound, wire.CodeBadMessage, err.Error())
	}
	return map[string]string{"revoked": id}, err
}
