package companion

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"callgate/audit"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/hooks"
)

// fakeHooks has one hook that nothing runs.
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

// The counts of hooks are added up over the processes. A session's own process can be asked alone.
func TestHooksOfAllProcesses(t *testing.T) {
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	did := func(runs, failures int, last *hooks.Failure) []hooks.Status {
		return []hooks.Status{{Name: "ring", Event: []string{hooks.ApprovalAsked}, Matcher: "*", Action: "log", When: "after", Enabled: true, Runs: runs, Failures: failures, LastFailure: last}}
	}
	hub := start(t, newFakeBackend("s1"))
	hub.options.Backend.Hooks = counting(did(2, 1, &hooks.Failure{At: at, Event: "e", Error: "the earlier"}))
	other, third := hub.joined(t, newFakeBackend("s2")), hub.joined(t, newFakeBackend("s3"))
	other.options.Backend.Hooks = counting(append(did(40, 2, &hooks.Failure{At: at.Add(time.Minute), Event: "e", Error: "the later"}), hooks.Status{Name: "own", Event: []string{}, Action: "log", When: "after", Runs: 7}))
	third.options.Backend.Hooks = counting(did(0, 0, nil))
	meet(t, hub, 2)
	var all []hooks.Status
	hub.get(t, "/api/hooks", &all)
	if len(all) != 2 || all[0].Runs != 42 || all[0].Failures != 3 || all[0].LastFailure == nil || all[0].LastFailure.Error != "the later" || all[0].Matcher != "*" || all[1].Name != "own" || all[1].Runs != 7 {
		t.Errorf("all did %+v", all)
	}
	for session, want := range map[string]int{"s1": 2, "s2": 40, "s3": 0} {
		var one []hooks.Status
		hub.get(t, "/api/hooks?sessionId="+session, &one)
		if len(one) == 0 || one[0].Runs != want {
			t.Errorf("the process of %s did %+v, want %d runs", session, one, want)
		}
	}
}

// counting holds hooks with counts.
type counting []hooks.Status

func (c counting) Hooks() []hooks.Status { return c }

func (c counting) SetHook(name string, _ bool, _ audit.Author) error {
	return fmt.Errorf("%w: %q", hooks.ErrUnknown, name)
}

func TestHooksByREST(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	for _, method := range []string{"GET /api/hooks", "PUT /api/hooks/ring"} {
		verb, path, _ := strings.Cut(method, " ")
		if response, body := r.do(t, credentials.Approve, verb, path, `{"enabled":true}`); response.StatusCode != http.StatusNotFound || !strings.Contains(body, "does not show") {
			t.Errorf("%s without hooks: %d %s", method, response.StatusCode, body)
		}
	}
	fake := &fakeHooks{}
	r.options.Backend.Hooks = fake
	for _, tt := range []struct {
		credential credentials.Credential
		method     string
		path, body string
		want       int
		says       string
	}{
		{credentials.View, "GET", "/api/hooks", "", 200, `[{"name":"ring","event":["approval.requested"]`},
		{"", "GET", "/api/hooks", "", 401, ""},
		{credentials.View, "PUT", "/api/hooks/ring", `{"enabled":true}`, 403, ""},
		{credentials.MCP, "PUT", "/api/hooks/ring", `{"enabled":true}`, 401, ""},
		{credentials.Approve, "PUT", "/api/hooks/ring", `{"enabled":true}`, 200, `{"enabled":true,"name":"ring"}`},
		{credentials.View, "GET", "/api/hooks", "", 200, `"enabled":true`},
		{credentials.Approve, "PUT", "/api/hooks/ring", `{}`, 400, "enabled"},
		{credentials.Approve, "PUT", "/api/hooks/ring", `{"enabled":"yes"}`, 400, ""},
		{credentials.Approve, "PUT", "/api/hooks/other", `{"enabled":true}`, 404, "no hook has this name"},
		{credentials.Approve, "POST", "/api/hooks/ring", `{"enabled":true}`, 405, ""},
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

// The page shows how the hosts of this machine are connected to the gate.
func TestHostsByREST(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	if response, body := r.do(t, credentials.View, "GET", "/api/hosts", ""); response.StatusCode != http.StatusNotFound {
		t.Errorf("without a look: %d %s", response.StatusCode, body)
	}
	r.options.Backend.Hosts = func() []wire.HostState {
		return []wire.HostState{{Host: "codex", State: "broken", Text: "servers bypass the gate: files", Cure: "callgate connect codex"}}
	}
	for credential, want := range map[credentials.Credential]int{credentials.View: 200, credentials.Approve: 200, "": 401, credentials.MCP: 401} {
		response, body := r.do(t, credential, "GET", "/api/hosts", "")
		if response.StatusCode != want || want == 200 && strings.TrimSpace(body) != `[{"host":"codex","state":"broken","text":"servers bypass the gate: files","cure":"callgate connect codex"}]` {
			t.Errorf("%q: %d %s", credential, response.StatusCode, body)
		}
	}
	other := r.joined(t, newFakeBackend("s2"))
	other.options.Backend.Hosts = r.options.Backend.Hosts
	meet(t, r, 1)
	var hosts []wire.HostState
	if r.get(t, "/api/hosts", &hosts); len(hosts) != 1 {
		t.Errorf("two processes of one machine: %+v", hosts)
	}
}
