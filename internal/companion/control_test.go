package companion

import (
	"strings"
	"testing"

	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
)

// REST can do what the frames can, with the same checks.
func TestControlByREST(t *testing.T) {
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	r := start(t, b)
	for _, tt := range []struct {
		name, method, path, body string
		credential               credentials.Credential
		status                   int
		holds                    string
	}{
		{"add", "POST", "/api/sessions/s1/agents", `{"role":"reviewer","name":"rev","goal":"g","permissions":{"shell_exec":"deny"}}`, credentials.Approve, 200, `"agentId":"rev-00000001"`},
		{"add without a role", "POST", "/api/sessions/s1/agents", `{"name":"rev"}`, credentials.Approve, 400, "needs a role"},
		{"add with grants", "POST", "/api/sessions/s1/agents", `{"role":"r","permissions":{"$always":[{"tool":"x","pattern":"y","risk":"WRITE"}]}}`, credentials.Approve, 400, "permissions"},
		{"add broken rules", "POST", "/api/sessions/s1/agents", `{"role":"r","permissions":{"shell_exec":"perhaps"}}`, credentials.Approve, 400, "permissions"},
		{"add elsewhere", "POST", "/api/sessions/s1/agents", `{"sessionId":"s2","role":"r"}`, credentials.Approve, 400, "not the session in the path"},
		{"add to nobody", "POST", "/api/sessions/s9/agents", `{"role":"r"}`, credentials.Approve, 404, wire.CodeSessionNotFound},
		{"add to all", "POST", "/api/sessions/*/agents", `{"role":"r"}`, credentials.Approve, 400, "never"},
		{"add by a watcher", "POST", "/api/sessions/s1/agents", `{"role":"r"}`, credentials.View, 403, wire.CodeUnauthorized},
		{"remove", "DELETE", "/api/sessions/s1/agents/rev-00000001", "", credentials.Approve, 200, `"agentId":"rev-00000001"`},
		{"remove another", "DELETE", "/api/sessions/s1/agents/other", "", credentials.Approve, 400, "no agent"},
		{"remove by a watcher", "DELETE", "/api/sessions/s1/agents/rev-00000001", "", credentials.View, 403, wire.CodeUnauthorized},
		{"cancel by a watcher", "POST", "/api/sessions/s1/cancel", "{}", credentials.View, 403, wire.CodeUnauthorized},
		{"cancel nothing", "POST", "/api/sessions/s9/cancel", "{}", credentials.Approve, 404, wire.CodeSessionNotFound},
		{"cancel all", "POST", "/api/sessions/*/cancel", "{}", credentials.Approve, 400, "never"},
		{"cancel", "POST", "/api/sessions/s1/cancel", "{}", credentials.Approve, 200, `"sessionId":"s1"`},
	} {
		response, body := r.do(t, tt.credential, tt.method, tt.path, tt.body)
		if response.StatusCode != tt.status || !strings.Contains(body, tt.holds) {
			t.Errorf("%s: %d %s", tt.name, response.StatusCode, body)
		}
	}
	if got := strings.Join(b.cancelled, " "); got != "s1 rest" || len(b.Pending()) != 0 {
		t.Errorf("cancelled %q, %d wait", got, len(b.Pending()))
	}
}
