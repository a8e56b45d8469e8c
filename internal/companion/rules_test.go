package companion

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/permissions"
	"callgate/permissions/store"
)

// fakeRules is a rules file without a gate.
type fakeRules struct {
	text    string
	view    RulesView
	grants  []GrantView
	changes []string // authors of the changes
	fail    error
}

func (f *fakeRules) Worker() string { return "default" }

func (f *fakeRules) Rules() (RulesView, error) {
	view := f.view
	view.Worker, view.File, view.Text = "default", "/home/ann/.local/share/callgate/workers/default/permissions.jsonc", f.text
	return view, f.fail
}

func (f *fakeRules) Grants() ([]GrantView, error) { return f.grants, f.fail }

func (f *fakeRules) CheckRules(text string) RulesCheck {
	file, err := permissions.ParseFile("permissions.jsonc", []byte(text), "/home/ann")
	if fault := (*permissions.FileError)(nil); errors.As(err, &fault) {
		return RulesCheck{Fault: &RulesFault{fault.Line, fault.Column, fault.Message}}
	}
	return RulesCheck{Rules: len(file.Rules)}
}

func (f *fakeRules) ReplaceRules(base, text string, who audit.Author) error {
	switch {
	case f.fail != nil:
		return f.fail
	case base != f.text:
		return store.ErrRulesChanged
	case text == "{":
		return &permissions.FileError{Path: "permissions.jsonc", Line: 1, Column: 2, Message: "it ends too soon"}
	}
	f.text, f.changes = text, append(f.changes, who.By)
	return nil
}

func (f *fakeRules) RevokeGrant(id string, who audit.Author) error {
	if id != "g1" {
		return ErrNoGrant
	}
	f.changes = append(f.changes, who.By)
	return f.fail
}

// The paths of missing parts say that they are missing.
func TestPowersThatAreAbsent(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	for _, request := range [][3]string{
		{"GET", "/api/rules", ""}, {"PUT", "/api/rules", `{"base":"","text":""}`}, {"POST", "/api/rules/check", `{"text":""}`},
		{"GET", "/api/grants", ""}, {"DELETE", "/api/grants/g1", ""}, {"GET", "/api/tools", ""}, {"POST", "/api/tools/accept?sessionId=s1", `{"tool":"t","hash":"h"}`},
		{"GET", "/api/approvals/a1/changes", ""},
	} {
		if response, body := r.do(t, credentials.Approve, request[0], request[1], request[2]); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "this callgate does not ") {
			t.Errorf("%s %s: %d %s", request[0], request[1], response.StatusCode, body)
		}
	}
}

func TestRulesByREST(t *testing.T) {
	rules := &fakeRules{text: "{}"}
	r := start(t, newFakeBackend("s1"))
	r.options.Backend.Rules = rules
	for _, tt := range []struct {
		name       string
		credential credentials.Credential
		method     string
		path, body string
		headers    []string
		want       int
		says       string
	}{
		{"seen", credentials.View, "GET", "/api/rules", "", nil, 200, `"text":"{}"`},
		{"of this worker", credentials.View, "GET", "/api/rules?worker=default", "", nil, 200, `"worker":"default"`},
		{"not of another worker", credentials.Approve, "PUT", "/api/rules?worker=other", `{"base":"{}","text":"{ }"}`, nil, 404, "another worker"},
		{"not without a credential", "", "GET", "/api/rules", "", nil, 401, ""},
		{"not changed by who watches", credentials.View, "PUT", "/api/rules", `{"base":"{}","text":"{ }"}`, nil, 403, ""},
		{"not with the credential of hosts", credentials.MCP, "PUT", "/api/rules", `{"base":"{}","text":"{ }"}`, nil, 401, ""},
		{"not by a form", credentials.Approve, "PUT", "/api/rules", `base=x`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, ""},
		{"not from another page", credentials.Approve, "PUT", "/api/rules", `{"base":"{}","text":"{ }"}`, []string{"Origin", "http://evil.example"}, 403, ""},
		{"not without what was edited", credentials.Approve, "PUT", "/api/rules", `{"text":"{ }"}`, nil, 400, "base and text"},
		{"not over what is newer", credentials.Approve, "PUT", "/api/rules", `{"base":"","text":"{ }"}`, nil, 409, "someone else"},
		{"not what is no file", credentials.Approve, "PUT", "/api/rules", `{"base":"{}","text":"{"}`, nil, 422, `"fault":{"line":1,"column":2,"message":"it ends too soon"}`},
		{"not by a name that could pass for a rule", credentials.Approve, "PUT", "/api/rules", `{"base":"{}","text":"{ }"}`, []string{wire.ClientHeader, "rule:alice"}, 400, "kind must be"},
		{"changed", credentials.Approve, "PUT", "/api/rules", `{"base":"{}","text":"{ }"}`, []string{wire.ClientHeader, "web:al%C3%ADce"}, 200, `"text":"{ }"`},
		{"checked", credentials.Approve, "POST", "/api/rules/check", `{"text":"{ \"*\": \"ask\" }"}`, nil, 200, `"rules":1`},
		{"grants are seen", credentials.View, "GET", "/api/grants", "", nil, 200, `"grants":[]`},
		{"a grant that is not there", credentials.Approve, "DELETE", "/api/grants/g2", "", nil, 404, "no such grant"},
		{"a grant", credentials.Approve, "DELETE", "/api/grants/g1", "", nil, 200, `"revoked":"g1"`},
		{"no other method", credentials.Approve, "DELETE", "/api/rules", "", nil, 405, "GET or PUT"},
	} {
		response, body := r.do(t, tt.credential, tt.method, tt.path, tt.body, tt.headers...)
		if response.StatusCode != tt.want || !strings.Contains(body, tt.says) {
			t.Errorf("%s: %d %s", tt.name, response.StatusCode, body)
		}
	}
	if got := strings.Join(rules.changes, " "); got != "web:alíce rest" {
		t.Errorf("changed by %s", got)
	}
	rules.fail = errDisk
	if response, body := r.do(t, credentials.Approve, "PUT", "/api/rules", `{"base":"{ }","text":"{}"}`); response.StatusCode != 500 || strings.Contains(body, "secret") {
		t.Errorf("a failure: %d %s", response.StatusCode, body)
	}
}
