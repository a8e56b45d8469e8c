package companion

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"callgate/audit"
	"callgate/internal/hooks"
)

// fakeHooks is one hook that nothing runs.
type fakeHooks struct {
	enabled bool
	by      string
}

func (f *fakeHooks) Hooks() []hooks.Status {
	return []hooks.Status{{Name: "ring", Event: []string{hooks.ApprovalAsked}, Matcher: "*", Action: "command", When: "after", Enabled: f.enabled}}
}

func (f *fakeHooks) SetHook(name string, enabled bool, who audit.Author) error {
	if name != "ring" {
		return fmt.Errorf("%w: %q", hooks.ErrUnknown, name)
	}
	f.enabled, f.by = enabled, who.By
	return nil
}

func TestHooksByREST(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	for _, method := range []string{"GET /api/hooks", "PUT /api/hooks/ring"} {
		verb, path, _ := strings.Cut(method, " ")
		if response, body := r.do(t, CredentialApprove, verb, path, `{"enabled":true}`); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "does not show") {
			t.Errorf("%s without hooks: %d %s", method, response.StatusCode, body)
		}
	}
	fake := &fakeHooks{}
	r.hooks = fake
	for _, tt := range []struct {
		credential Credential
		method     string
		path, body string
		want       int
		says       string
	}{
		{CredentialView, "GET", "/api/hooks", "", 200, `[{"name":"ring","event":["approval.requested"]`},
		{"", "GET", "/api/hooks", "", 401, ""},
		{CredentialView, "PUT", "/api/hooks/ring", `{"enabled":true}`, 403, ""},
		{CredentialMCP, "PUT", "/api/hooks/ring", `{"enabled":true}`, 401, ""},
		{CredentialApprove, "PUT", "/api/hooks/ring", `{"enabled":true}`, 200, `{"enabled":true,"name":"ring"}`},
		{CredentialView, "GET", "/api/hooks", "", 200, `"enabled":true`},
		{CredentialApprove, "PUT", "/api/hooks/ring", `{}`, 400, "enabled"},
		{CredentialApprove, "PUT", "/api/hooks/ring", `{"enabled":"yes"}`, 400, ""},
		{CredentialApprove, "PUT", "/api/hooks/other", `{"enabled":true}`, 404, "no hook has this name"},
		{CredentialApprove, "POST", "/api/hooks/ring", `{"enabled":true}`, 405, ""},
	} {
		response, body := r.do(t, tt.credential, tt.method, tt.path, tt.body)
		if response.StatusCode != tt.want || !strings.Contains(body, tt.says) {
			t.Errorf("%s %s %s as %q: %d %s", tt.method, tt.path, tt.body, tt.credential, response.StatusCode, body)
		}
	}
	if !fake.enabled || fake.by != restClient {
		t.Errorf("%+v", fake)
	}
}
