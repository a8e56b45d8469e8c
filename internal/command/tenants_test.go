package command

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"callgate/audit"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/testserver/waits"
)

// tenanted is a callgate serve of tenants whose hosts have signed tokens.
type tenanted struct {
	t             testing.TB
	data, config  string // the data directory, and the configuration file
	configuration string // without tenants
	hosts, people string // where hosts and people connect
	sign          func(tenants any) string
	pid           int
}

const tenantAudience = "https://tools.example.com/mcp"

// tokens makes an authorization server as far as callgate sees one: its keys, and tokens of one account.
func tokens(t *testing.T) (issuer string, sign func(tenants any) string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(keys)
	}))
	t.Cleanup(server.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, func(tenants any) string {
		claims := map[string]any{"iss": server.URL, "aud": tenantAudience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
		if tenants != nil {
			claims["tenant_id"] = tenants
		}
		text, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		signed, err := signer.Sign(text)
		if err != nil {
			t.Fatal(err)
		}
		token, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
}

// serveTenants starts callgate serve with these tenants. rules holds the rules of each.
func serveTenants(t *testing.T, tenants string, rules map[string]string) *tenanted {
	t.Helper()
	s := &tenanted{t: t, data: t.TempDir()}
	issuer, sign := tokens(t)
	s.sign = sign
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hello.txt"), "Hello")
	for name, text := range rules {
		write(t, filepath.Join(s.data, "tenants", name, "workers", name, "permissions.jsonc"), text)
	}
	s.config = filepath.Join(dir, "callgate.yaml")
	s.configuration = fmt.Sprintf(`
servers:
  - {name: demo, command: %q, args: ["."], package: callgate-demo, cwd: %q, env: ["WHO=${CALLGATE_TENANT}"]}
auth: oauth
oauth: {issuer: %q, audience: %q, jwks: %q}
metrics: true
listen: 127.0.0.1:0
mcpListen: 127.0.0.1:0
`, filepath.Join(servers(t), "demo"), dir, issuer, tenantAudience, issuer+"/keys")
	write(t, s.config, s.configuration+tenants)
	c, err := startClient(callgateProgram(t), []string{"serve", "--config", s.config, "--data-dir", s.data}, dir, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	s.pid = c.cmd.Process.Pid
	served := regexp.MustCompile(`url=(http://[^/]+)/mcp`)
	waits.Until(t, "hosts are served", func() bool {
		if m := served.FindStringSubmatch(c.stderr.String()); m != nil {
			s.hosts = m[1]
		}
		return s.hosts != ""
	})
	found, err := companionclient.Companions(s.data)
	if err != nil {
		t.Fatal(err)
	}
	s.people = "http://" + found[0].Address
	return s
}

// run runs a part of the story as a subtest.
func (s *tenanted) run(name string, part func(t *testing.T)) {
	whole := s.t.(*testing.T)
	whole.Run(name, func(t *testing.T) {
		s.t = t
		defer func() { s.t = whole }()
		part(t)
	})
}

// heard is what a host or an approver was answered.
type heard struct {
	status  int
	header  http.Header
	text    string
	session string
}

func (s *tenanted) ask(method, address, token, body string, header ...string) heard {
	s.t.Helper()
	r, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := (&http.Client{Timeout: waits.Limit}).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return heard{response.StatusCode, response.Header, string(text), response.Header.Get("Mcp-Session-Id")}
}

// connect begins a session at a path.
func (s *tenanted) connect(path, token string) string {
	s.t.Helper()
	h := s.ask("POST", s.hosts+path, token, serveHello)
	if h.status != 200 || h.session == "" {
		s.t.Fatalf("%s: %d %s", path, h.status, h.text)
	}
	s.ask("POST", s.hosts+path, token, serveReady, "Mcp-Session-Id", h.session)
	return h.session
}

// stateless makes a request of 2026-07-28.
func (s *tenanted) stateless(path, token, method, params string) heard {
	s.t.Helper()
	return s.statelessly(path, token, method, params, "application/json, text/event-stream")
}

// statelessly does what stateless does, with this Accept header.
func (s *tenanted) statelessly(path, token, method, params, accepts string) heard {
	s.t.Helper()
	header := http.Header{}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
	stateless(header, []byte(body))
	var flat []string
	for name := range header {
		flat = append(flat, name, header.Get(name))
	}
	return s.ask("POST", s.hosts+path, token, body, append(flat, "Accept", accepts)...)
}

// credential returns a secret of a tenant's approvers, or of the operators for "".
func (s *tenanted) credential(tenant string, name credentials.Credential) string {
	s.t.Helper()
	dir := s.data
	if tenant != "" {
		dir = filepath.Join(s.data, "tenants", tenant)
	}
	token, err := credentials.At(dir).Token(name)
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// trail returns the audit trail of a tenant, or that of serve for "".
func (s *tenanted) trail(tenant string) string {
	s.t.Helper()
	dir := s.data
	if tenant != "" {
		dir = filepath.Join(s.data, "tenants", tenant)
	}
	var all []string
	for r, err := range audit.Read(audit.Dir(dir), audit.Filter{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return strings.Join(all, "\n")
}

const tenantMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"host","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// One account has tokens for two tenants. Nothing of one tenant opens anything in the other.
func TestTenantsAreApart(t *testing.T) {
	s := serveTenants(t, "tenants:\n  names: [acme, beta]\n  each: [{name: slow, limits: {callsPerMinute: 1}}]\n", map[string]string{
		"acme": `{ "*": "allow", "demo_write_file": { "*": "allow", "*new.txt": "ask" } }`, "beta": `{ "*": "deny", "write_file": { "*": "deny", "*ask.txt": "ask" } }`, "slow": `{ "*": "allow" }`,
	})
	acme, beta, both := s.sign("acme"), s.sign([]string{"beta"}), s.sign([]string{"acme", "beta"})

	s.run("who comes in where", func(t *testing.T) {
		for name, c := range map[string]struct {
			path, token string
			status      int
		}{
			"own":               {"/mcp", acme, 200},
			"own path":          {"/t/acme/mcp", acme, 200},
			"one of several":    {"/t/beta/mcp", both, 200},
			"several, no path":  {"/mcp", both, 403},
			"another's path":    {"/t/beta/mcp", acme, 403},
			"no claim":          {"/t/acme/mcp", s.sign(nil), 403},
			"no such tenant":    {"/mcp", s.sign("gamma"), 403},
			"upper case":        {"/mcp", s.sign("Acme"), 403},
			"dots":              {"/mcp", s.sign(".."), 403},
			"a path in a name":  {"/mcp", s.sign("../acme"), 403},
			"a number":          {"/mcp", s.sign(7), 401},
			"numbers":           {"/mcp", s.sign([]any{"acme", 7}), 401},
			"the front's name":  {"/mcp", s.sign("default"), 403},
			"nothing":           {"/mcp", s.sign(""), 403},
			"an empty list":     {"/t/acme/mcp", s.sign([]string{}), 403},
			"an object":         {"/mcp", s.sign(map[string]string{"name": "acme"}), 401},
			"lists in a list":   {"/mcp", s.sign([]any{[]string{"acme"}}), 401},
			"nulls":             {"/mcp", s.sign([]any{nil, "acme"}), 401},
			"a long name":       {"/mcp", s.sign(strings.Repeat("acme", 4000)), 403},
			"another alphabet":  {"/mcp", s.sign("а" + "cme"), 403},
			"back and forth":    {"/t/acme/../beta/mcp", acme, 403},
			"slashes in a part": {"/t/acme%2F..%2Fbeta/mcp", acme, 403},
			"dots in a part":    {"/t/%2e%2e/mcp", s.sign(".."), 403},
			"a part in part":    {"/t/acme/mcp%2F..%2F..%2Fbeta/mcp", acme, 404},
			"escaped":           {"/t/%61cme/mcp", acme, 200},
			"path in capitals":  {"/t/ACME/mcp", acme, 403},
			"NUL in a path":     {"/t/acme%00/mcp", acme, 403},
			"no token":          {"/t/acme/mcp", "", 401},
		} {
			if h := s.ask("POST", s.hosts+c.path, c.token, serveHello); h.status != c.status {
				t.Errorf("%s: %d %s", name, h.status, h.text)
			}
		}
		if trail := s.trail(""); !strings.Contains(trail, "was not let in to a tenant") {
			t.Errorf("no refusal is on record:\n%s", trail)
		}
	})

	inAcme, inBeta := s.connect("/mcp", acme), s.connect("/t/beta/mcp", beta)
	s.run("rules and trail", func(t *testing.T) {
		if h := s.ask("POST", s.hosts+"/mcp", acme, serveCall, "Mcp-Session-Id", inAcme); !strings.Contains(h.text, "Hello") {
			t.Errorf("acme: %d %s", h.status, h.text)
		}
		if h := s.ask("POST", s.hosts+"/mcp", beta, serveCall, "Mcp-Session-Id", inBeta); strings.Contains(h.text, "Hello") || !strings.Contains(h.text, "isError") {
			t.Errorf("beta: %d %s", h.status, h.text)
		}
		if s.trail("acme") == "" || strings.Contains(s.trail("beta"), `"worker":"acme"`) || strings.Contains(s.trail(""), "demo_read_file") {
			t.Error("a record is in another trail")
		}
		for _, name := range []string{"acme", "beta"} {
			report, err := audit.Verify(audit.Dir(filepath.Join(s.data, "tenants", name)))
			if err != nil || len(report.Breaks) > 0 {
				t.Errorf("%s: %v %v", name, report.Breaks, err)
			}
		}
	})

	s.run("sessions", func(t *testing.T) {
		for _, c := range []struct{ method, path, token, last string }{
			{"POST", "/mcp", beta, ""}, {"POST", "/t/beta/mcp", both, ""}, {"GET", "/mcp", beta, ""}, {"GET", "/mcp", beta, "0-1"}, {"DELETE", "/t/beta/mcp", beta, ""},
		} {
			header := []string{"Mcp-Session-Id", inAcme}
			if c.last != "" {
				header = append(header, "Last-Event-ID", c.last)
			}
			if h := s.ask(c.method, s.hosts+c.path, c.token, serveCall, header...); h.status != 404 {
				t.Errorf("%s %s %s: %d %s", c.method, c.path, c.last, h.status, h.text)
			}
		}
		if h := s.ask("POST", s.hosts+"/messages?sessionId="+inAcme, beta, serveCall); h.status != 404 {
			t.Errorf("the old transport: %d %s", h.status, h.text)
		}
		if h := s.ask("POST", s.hosts+"/t/acme/mcp", both, serveCall, "Mcp-Session-Id", inAcme); !strings.Contains(h.text, "Hello") {
			t.Errorf("its own: %d %s", h.status, h.text)
		}
	})

	writing := `{"name":"demo_write_file","arguments":{"path":"new.txt","content":"x"},` + tenantMeta + `}`
	task := regexp.MustCompile(`"taskId":"([^"]+)"`)
	var id string
	s.run("tasks", func(t *testing.T) {
		h := s.stateless("/mcp", acme, "tools/call", writing)
		m := task.FindStringSubmatch(h.text)
		if m == nil {
			t.Fatalf("no task: %d %s", h.status, h.text)
		}
		id = m[1]
		for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
			params := `{"taskId":"` + id + `",` + tenantMeta + `}`
			if h := s.stateless("/mcp", beta, method, params); !strings.Contains(h.text, `"error"`) || strings.Contains(h.text, "waiting") {
				t.Errorf("%s: %d %s", method, h.status, h.text)
			}
		}
		if h := s.stateless("/mcp", acme, "tasks/get", `{"taskId":"`+id+`",`+tenantMeta+`}`); !strings.Contains(h.text, `"working"`) {
			t.Errorf("its own: %d %s", h.status, h.text)
		}
	})

	s.run("states of a call", func(t *testing.T) {
		byURL := strings.Replace(tenantMeta, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `{"elicitation":{"url":{}}}`, 1)
		asks := `{"name":"demo_write_file","arguments":{"path":"new.txt","content":"y"},`
		h := s.stateless("/mcp", acme, "tools/call", asks+byURL+"}")
		state := regexp.MustCompile(`"requestState":"[^"]+"`).FindString(h.text)
		if state == "" {
			t.Fatalf("no state: %d %s", h.status, h.text)
		}
		if h := s.stateless("/mcp", beta, "tools/call", asks+state+","+byURL+"}"); !strings.Contains(h.text, "did not give this requestState") {
			t.Errorf("%d %s", h.status, h.text)
		}
		var waiting struct {
			Approvals []struct{ ApprovalID, ArgsDigest, ToolCallID string }
		}
		if err := json.Unmarshal([]byte(s.ask("GET", s.people+"/api/approvals", s.credential("acme", credentials.Approve), "").text), &waiting); err != nil || len(waiting.Approvals) != 2 {
			t.Fatalf("%v, %v", waiting, err)
		}
		last := waiting.Approvals[1]
		if h := s.ask("POST", s.people+"/api/approvals/"+last.ApprovalID, s.credential("acme", credentials.Approve), `{"decision":"reject","argsDigest":"`+last.ArgsDigest+`"}`); h.status != 200 {
			t.Errorf("%d %s", h.status, h.text)
		}
	})

	s.run("approvals and approvers", func(t *testing.T) {
		approval := regexp.MustCompile(`"toolCallId":"([^"]+)","[^}]*`)
		list := func(token string) string { return s.ask("GET", s.people+"/api/approvals", token, "").text }
		waits.Until(t, "the operator sees the approval", func() bool { return strings.Contains(list(s.credential("", credentials.Approve)), "demo_write_file") })
		own := list(s.credential("acme", credentials.Approve))
		m := approval.FindStringSubmatch(own)
		if m == nil {
			t.Fatalf("acme's approver sees %s", own)
		}
		others := s.credential("beta", credentials.Approve)
		if text := list(others); strings.Contains(text, "demo_write_file") {
			t.Errorf("beta's approver sees %s", text)
		}
		digest := regexp.MustCompile(`"argsDigest":"([^"]+)"`).FindStringSubmatch(own)
		if digest == nil {
			t.Fatalf("no digest in %s", own)
		}
		answer := `{"decision":"approve","argsDigest":"` + digest[1] + `"}`
		if h := s.ask("POST", s.people+"/api/approvals/"+m[1], others, answer); h.status != 404 {
			t.Errorf("beta's approver answers: %d %s", h.status, h.text)
		}
		for _, path := range []string{"/api/audit", "/api/sessions", "/api/rules", "/api/sessions?worker=acme", "/api/approvals?worker=acme"} {
			if h := s.ask("GET", s.people+path, others, ""); strings.Contains(h.text, "acme") || strings.Contains(h.text, "demo_write_file") {
				t.Errorf("beta's approver sees by %s: %s", path, h.text)
			}
		}
		for _, path := range []string{"/api/info", "/api/report", "/api/tools", "/api/hooks", "/api/rules/suggestions", "/api/grants", "/api/checkpoints", "/api/commands", "/api/freeze", "/api/kb", "/metrics", "/health", "//api/audit", "/api/../api/audit", "/api%2Faudit"} {
			if h := s.ask("GET", s.people+path, others, ""); strings.Contains(h.text, "acme") {
				t.Errorf("beta's approver sees by %s: %s", path, h.text)
			}
		}
		if h := s.ask("POST", s.people+"/api/pair", others, `{"credential":"approve"}`); h.status < 400 {
			t.Errorf("beta's approver pairs at the front: %d %s", h.status, h.text)
		}
		found, err := companionclient.Companions(filepath.Join(s.data, "tenants", "acme"))
		if err != nil {
			t.Fatal(err)
		}
		if h := s.ask("GET", "http://"+found[0].Address+"/api/approvals", others, ""); h.status != 401 {
			t.Errorf("at acme's own address: %d %s", h.status, h.text)
		}
		scrape := s.ask("GET", s.people+"/metrics", s.credential("", credentials.View), "").text
		for _, want := range []string{`callgate_pending_approvals{process="\d+",worker="acme"} 1`, `callgate_pending_approvals{process="\d+",worker="beta"} 0`} {
			if !regexp.MustCompile(want).MatchString(scrape) {
				t.Errorf("no %s in\n%s", want, scrape)
			}
		}
		if h := s.ask("POST", s.people+"/api/approvals/"+m[1], s.credential("acme", credentials.Approve), answer); h.status != 200 {
			t.Errorf("acme's approver answers: %d %s", h.status, h.text)
		}
		waits.Until(t, "the task is done", func() bool {
			return strings.Contains(s.stateless("/mcp", acme, "tasks/get", `{"taskId":"`+id+`",`+tenantMeta+`}`).text, `"completed"`)
		})
	})

	s.run("quota", func(t *testing.T) {
		slow := s.sign("slow")
		session := s.connect("/mcp", slow)
		if h := s.ask("POST", s.hosts+"/mcp", slow, serveCall, "Mcp-Session-Id", session); !strings.Contains(h.text, "Hello") {
			t.Fatalf("%d %s", h.status, h.text)
		}
		h := s.ask("POST", s.hosts+"/mcp", slow, strings.Replace(serveCall, `"id":1`, `"id":2`, 1), "Mcp-Session-Id", session)
		if h.status != 429 || h.header.Get("Retry-After") == "" || !strings.Contains(h.text, "1 calls a minute") {
			t.Errorf("%d %v %s", h.status, h.header, h.text)
		}
		if h := s.ask("POST", s.hosts+"/mcp", acme, serveCall, "Mcp-Session-Id", inAcme); !strings.Contains(h.text, "Hello") {
			t.Errorf("the quota of one holds for another: %d %s", h.status, h.text)
		}
	})

	s.run("freeze", func(t *testing.T) {
		if h := s.ask("PUT", s.people+"/api/freeze", s.credential("beta", credentials.Approve), `{}`); h.status != 200 {
			t.Fatalf("%d %s", h.status, h.text)
		}
		writes := `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"demo_write_file","arguments":{"path":"free.txt","content":"x"}}}`
		if h := s.ask("POST", s.hosts+"/mcp", acme, writes, "Mcp-Session-Id", inAcme); h.status != 200 || strings.Contains(h.text, "Frozen") || strings.Contains(h.text, `"isError":true`) {
			t.Errorf("beta's freeze holds for acme: %s", h.text)
		}
		if h := s.ask("PUT", s.people+"/api/freeze", s.credential("", credentials.Approve), `{}`); h.status != 200 {
			t.Fatalf("%d %s", h.status, h.text)
		}
		if h := s.ask("POST", s.hosts+"/mcp", acme, writes, "Mcp-Session-Id", inAcme); !strings.Contains(h.text, "Frozen") {
			t.Errorf("the operators' freeze does not hold for acme: %s", h.text)
		}
		for _, one := range []struct{ args, want string }{
			{"freeze --list", "only their operator can end it"}, {"freeze --list --worker acme", "only their operator can end it"}, {"freeze --list --worker beta", "only their operator can end it"},
			{"status --worker beta", "FROZEN"}, {"status", "FROZEN"},
		} {
			out, _ := exec.Command(callgateProgram(t), append(strings.Fields(one.args), "--config", s.config, "--data-dir", s.data)...).CombinedOutput()
			if own := one.args == "freeze --list"; !own && !strings.Contains(string(out), one.want) || own && !strings.Contains(string(out), "Frozen: all sessions") {
				t.Errorf("%s: %s", one.args, out)
			}
		}
		if h := s.ask("GET", s.people+"/api/freeze", s.credential("beta", credentials.View), ""); !strings.Contains(h.text, `"above":true`) {
			t.Errorf("beta is not told of the operators' freeze: %s", h.text)
		}
		for _, whose := range []string{"", "beta"} {
			if h := s.ask("DELETE", s.people+"/api/freeze", s.credential(whose, credentials.Approve), `{}`); h.status != 200 {
				t.Fatalf("%d %s", h.status, h.text)
			}
		}
	})

	s.run("commands and reload", func(t *testing.T) {
		out, err := exec.Command(callgateProgram(t), "audit", "--config", s.config, "--data-dir", s.data, "--worker", "acme").CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("demo_read_file")) {
			t.Errorf("%v %s", err, out)
		}
		found, err := companionclient.Companions(filepath.Join(s.data, "tenants", "beta"))
		if err != nil {
			t.Fatal(err)
		}
		secret := s.credential("beta", credentials.Approve)
		waiting := make(chan heard, 1)
		go func() {
			withoutTasks := strings.Replace(tenantMeta, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, "{}", 1)
			waiting <- s.statelessly("/mcp", beta, "tools/call", `{"name":"demo_write_file","arguments":{"path":"ask.txt","content":"x"},`+withoutTasks+"}", "application/json")
		}()
		waits.Until(t, "a call of beta waits", func() bool {
			return strings.Contains(s.ask("GET", "http://"+found[0].Address+"/api/approvals", secret, "").text, "ask.txt")
		})
		write(t, s.config, s.configuration+"tenants:\n  names: [acme]\n")
		if h := <-waiting; h.status != 401 {
			t.Errorf("a request of a tenant that is none any more: %d %s", h.status, h.text)
		}
		waits.Until(t, "nobody comes in at beta's own address", func() bool {
			_, err := companionclient.Companions(filepath.Join(s.data, "tenants", "beta"))
			return errors.Is(err, wire.ErrNotRunning)
		})
		waits.Until(t, "beta is no tenant any more", func() bool { return s.ask("POST", s.hosts+"/mcp", beta, serveHello).status == 403 })
		if h := s.ask("GET", s.people+"/api/approvals", s.credential("beta", credentials.Approve), ""); h.status != 401 {
			t.Errorf("beta's approver still comes in: %d %s", h.status, h.text)
		}
	})
}
