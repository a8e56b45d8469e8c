package command

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/testserver/waits"
)

// tenantsPeople are approvers with one credential, who connect to any replica's front.
type tenantsPeople struct {
	t     *testing.T
	token string
}

// ask returns what a replica answers them.
func (p tenantsPeople) ask(m *member, method, path, body string) (status int, text string) {
	p.t.Helper()
	found, err := companionclient.Companions(m.data)
	if err != nil || len(found) == 0 {
		p.t.Fatalf("%v %v", found, err)
	}
	r, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+found[0].Address+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + p.token}, "Content-Type": {"application/json"}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(answer)
}

// sees finds the one call shown to them at a replica whose command contains a text.
func (p tenantsPeople) sees(m *member, command string) (w waiting, ok bool) {
	p.t.Helper()
	var list struct{ Approvals []waiting }
	if status, text := p.ask(m, "GET", "/api/approvals", ""); status != 200 || json.Unmarshal([]byte(text), &list) != nil {
		return w, false
	}
	for _, one := range list.Approvals {
		if strings.Contains(one.Args.Command, command) {
			w, ok = one, true
		}
	}
	return w, ok
}

// answer approves a call at a replica, and returns the status.
func (p tenantsPeople) answer(m *member, w waiting) int {
	p.t.Helper()
	status, _ := p.ask(m, "POST", "/api/approvals/"+w.ApprovalID, fmt.Sprintf(`{"decision":"approve","argsDigest":%q}`, w.ArgsDigest))
	return status
}

// In a cluster, a tenant's people can answer at any replica what waits at another, even if their tenant is not open at
// theirs. Operators see all tenants at every replica. Another tenant's people see and answer nothing.
func TestTenantsOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three callgates with a NATS each")
	}
	t.Parallel()
	issuer, sign := tokens(t)
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.jsonc")
	write(t, rules, `{ "*": "ask" }`)
	team := teamOf(t, 3, dir, teamRules, fmt.Sprintf(`servers:
  - {name: demo, command: %q, args: ["."], package: callgate-demo, cwd: %q}
auth: oauth
oauth: {issuer: %q, audience: %q, jwks: %q}
tenants: {names: [acme, beta], rules: %q}
`, filepath.Join(servers(t), "demo"), dir, issuer, tenantAudience, issuer+"/keys", rules))
	team.startAll()
	first, second, third := team.members[0], team.members[1], team.members[2]
	people := func(m *member, tenant string) tenantsPeople {
		dir := m.data
		if tenant != "" {
			dir = filepath.Join(m.data, "tenants", tenant)
		}
		p := tenantsPeople{t: t}
		waits.Until(t, "there are credentials of "+tenant, func() (ok bool) {
			token, err := credentials.At(dir).Token(credentials.Approve)
			p.token = token
			return err == nil
		})
		return p
	}
	call := func(m *member, tenant, command string) chan string {
		h := &served{t: t, url: m.at() + "/mcp", token: sign(tenant)}
		session, err := h.connect(http.DefaultClient)
		if err != nil {
			t.Fatal(err)
		}
		told := make(chan string, 1)
		go func() {
			answer, _, err := h.send(http.DefaultClient, "POST", session, shellCall(command))
			told <- fmt.Sprint(string(answer), err)
		}()
		return told
	}

	acmes := call(first, "acme", "echo acme >> ran")
	betas := call(second, "beta", "echo beta >> ran")
	acme, beta := people(first, "acme"), people(second, "beta")
	operators := people(third, "")
	for _, m := range team.members {
		waits.Until(t, "the operators see both tenants at "+m.name, func() bool {
			operators = people(m, "")
			_, a := operators.sees(m, "echo acme")
			_, b := operators.sees(m, "echo beta")
			return a && b
		})
	}
	var w waiting
	waits.Until(t, "acme's people see it at a replica where acme was not open", func() (ok bool) {
		w, ok = acme.sees(third, "echo acme")
		return ok
	})
	for _, m := range team.members {
		waits.Until(t, "beta's people come in at "+m.name, func() bool {
			_, ok := beta.sees(m, "echo beta")
			return ok
		})
		if _, ok := beta.sees(m, "echo acme"); ok {
			t.Errorf("at %s beta's people see acme's call", m.name)
		}
		if status := beta.answer(m, w); status != http.StatusNotFound {
			t.Errorf("at %s beta's people answer acme's call: %d", m.name, status)
		}
	}
	if status := acme.answer(third, w); status != http.StatusOK {
		t.Fatalf("acme's people answer at another replica: %d", status)
	}
	if text := <-acmes; strings.Contains(text, `"isError":true`) || team.ran()["acme"] != 1 {
		t.Errorf("acme's call: %s, %v", text, team.ran())
	}
	w, ok := operators.sees(third, "echo beta")
	if !ok {
		t.Fatal("the operators do not see beta's call any more")
	}
	if status := operators.answer(third, w); status != http.StatusOK {
		t.Fatalf("the operators answer beta's call at another replica: %d", status)
	}
	if text := <-betas; strings.Contains(text, `"isError":true`) || team.ran()["beta"] != 1 {
		t.Errorf("beta's call: %s, %v", text, team.ran())
	}
}
