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

// Rules shows and changes the worker's rules. All methods MUST be safe for concurrent use. Methods that take who MUST
// put the change on record under that name.
type Rules interface {
	// Worker returns the worker whose rules these are.
	Worker() string

	Rules() (RulesView, error)

	// CheckRules says what a text would mean as rules. It changes nothing.
	CheckRules(text string) RulesCheck

	// ReplaceRules replaces the file's text. base is the text from which the new one was made. If the new text is not
	// valid, it returns a *permissions.FileError; if somebody else changed the rules since base, it returns
	// store.ErrRulesChanged. In both cases the file stays as it was. Grants added or removed since base are kept.
	ReplaceRules(base, text string, who audit.Author) error

	// Grants returns what people allowed always, in the file and in memory.
	Grants() ([]GrantView, error)

	// RevokeGrant revokes the grant with that id, in the file or in memory. It returns ErrNoGrant if there is none.
	RevokeGrant(id string, who audit.Author) error
}

// ErrNoGrant means that the grant was revoked, ended with its session, or never existed.
var ErrNoGrant = errors.New("there is no such grant any more")

// RulesView is the rules of one worker at a point in time.
type RulesView struct {
	Worker string      `json:"worker"`
	File   string      `json:"file"`
	Text   string      `json:"text"` // of the file, byte for byte; the base for ReplaceRules
	Layers []RuleLayer `json:"layers"`
	RulesCheck
}

// RulesCheck is the result of checking the text of a rules file.
type RulesCheck struct {
	Rules    int            `json:"rules"`              // number of rules
	Fault    *RulesFault    `json:"fault,omitempty"`    // why the text is not valid: a file with this text denies everything
	Problems []lint.Problem `json:"problems,omitempty"` // rules that do not do what they seem to
}

// RulesFault says where a text stops being valid. Line and Column count from 1; Column counts bytes.
type RulesFault struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

// RuleLayer is a list of rules that are judged together. The last one that matches wins.
type RuleLayer struct {
	Layer permissions.Layer `json:"layer"` // agent or file
	Name  string            `json:"name"`  // of the agent profile or of the file
	Rules []RuleView        `json:"rules"`
}

// RuleView is one rule.
type RuleView struct {
	Place   string `json:"place"` // such as "permissions.jsonc:9"
	Tool    string `json:"tool"`
	Pattern string `json:"pattern"`
	Action  string `json:"action"`
}

// GrantView is one grant. ID identifies it as long as its content stays the same.
type GrantView struct {
	ID        string            `json:"id"`
	Worker    string            `json:"workerId"`
	Layer     permissions.Layer `json:"layer"`               // "always" if in the file, "session" if in memory
	SessionID string            `json:"sessionId,omitempty"` // the session that it ends with
	Expired   bool              `json:"expired,omitempty"`
	Tool      string            `json:"tool"`
	Pattern   string            `json:"pattern"`
	Risk      string            `json:"risk"` // its ceiling: the highest class that it allows
	Server    string            `json:"server,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	By        string            `json:"by,omitempty"`
	At        time.Time         `json:"at,omitzero"`
	Expires   time.Time         `json:"expires,omitzero"`
}

// ruleAPI serves rules and grants over REST.
type ruleAPI struct{ api }

// routes adds the routes of rules. Any process of the worker (`?worker=`) can answer; for the grants of a session it
// must be the one that serves it (`?sessionId=`). All of them list the grants in the file under the same ids.
func (s ruleAPI) routes(path func(string, methods)) {
	path("/api/rules", methods{"GET": s.viewer(s.ruled(s.rules)), "PUT": s.proved(s.ruled(reading(s.replace)))})
	path("/api/rules/check", methods{"POST": s.approver(s.ruled(reading(s.check)))})
	path("/api/grants", methods{"GET": s.viewer(s.ruled(s.grants))})
	path("/api/grants/{id}", methods{"DELETE": s.approver(s.ruled(s.revoke))})
}

// ruled wraps a handler that needs the rules. It refuses requests for another worker.
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

// replace takes the new text and the text that the editor started from. If two people edit at the same time, the second
// learns of the first.
func (s ruleAPI) replace(r *http.Request, f struct {
	Base *string `json:"base"`
	Text *string `json:"text"`
}) (any, error) {
	if f.Base == nil || f.Text == nil {
		return nil, badMessage("base and text are required: the text that was edited, as GET /api/rules gave it, and the new one")
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
