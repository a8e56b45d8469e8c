package companion

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/audit"
	"callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/rest"
	"callgate/internal/companion/wire"
)

// rig is a running server with a fake backend behind it.
type rig struct {
	*Server
	backend *fakeBackend
	dir     string
	log     *lockedBuffer
}

func start(t *testing.T, b *fakeBackend) *rig { return startTimed(t, b, defaultTiming) }

func startTimed(t *testing.T, b *fakeBackend, timing timing) *rig {
	t.Helper()
	return startIn(t, b, timing, nil)
}

// startIn starts a server in a data directory. prepare may put files into it first.
func startIn(t *testing.T, b *fakeBackend, timing timing, prepare func(dataDir string)) *rig {
	t.Helper()
	dir := privateDir(t)
	if prepare != nil {
		prepare(dir)
	}
	creds, err := credentials.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := new(lockedBuffer)
	s, err := listen(Options{
		DataDir: dir, Address: "127.0.0.1:0", Version: "1.2.3", Worker: "first", Protocols: []string{"2025-11-25"}, Backend: Backend{Gate: b},
		Credentials: creds, Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}, timing)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		if n := b.subscribers(); n != 0 {
			t.Errorf("%d subscriptions are left after Close", n)
		}
	})
	return &rig{Server: s, backend: b, dir: dir, log: log}
}

func privateDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (r *rig) token(t *testing.T, name credentials.Credential) string {
	t.Helper()
	token, err := r.credentials.Token(name)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// do sends a request with the named credential, or none for "", and returns the response and its body.
func (r *rig) do(t *testing.T, name credentials.Credential, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, "http://"+r.Address()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if name != "" {
		request.Header.Set("Authorization", "Bearer "+r.token(t, name))
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		} else {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	checkREST(method, path, body, response, string(data))
	return response, string(data)
}

func TestBorder(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	port := r.Address()[strings.LastIndexByte(r.Address(), ':'):]
	for _, tt := range []struct {
		name    string
		path    string
		headers []string
		want    int
	}{
		{"a program", "/health", nil, 200},
		{"localhost", "/health", []string{"Host", "localhost" + port}, 200},
		{"IPv6 loopback", "/health", []string{"Host", "[::1]" + port}, 200},
		{"own origin", "/health", []string{"Origin", "http://127.0.0.1" + port}, 200},
		{"typed into the address bar", "/", []string{"Sec-Fetch-Site", "none"}, 200},
		{"own page", "/health", []string{"Sec-Fetch-Site", "same-origin"}, 200},
		{"rebound name", "/health", []string{"Host", "evil.example" + port}, 403},
		{"rebound name without port", "/health", []string{"Host", "evil.example"}, 403},
		{"own host, other port", "/health", []string{"Host", "127.0.0.1:1"}, 403},
		{"trailing dot", "/health", []string{"Host", "localhost." + port}, 403},
		{"foreign origin", "/health", []string{"Origin", "http://evil.example"}, 403},
		{"origin of another local port", "/health", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"own origin over https", "/health", []string{"Origin", "https://127.0.0.1" + port}, 403},
		{"own origin as prefix", "/health", []string{"Origin", "http://127.0.0.1" + port + ".evil.example"}, 403},
		{"other spelling of own origin", "/health", []string{"Origin", "http://localhost" + port}, 403},
		{"opaque origin", "/health", []string{"Origin", "null"}, 403},
		{"empty origin", "/health", []string{"Origin", ""}, 403},
		{"cross-site fetch", "/", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"same-site fetch", "/", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"token in the query", "/api/info?token=x", nil, 400},
		{"access_token in the query", "/ws?access_token=x", nil, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			response, body := r.do(t, "", "GET", tt.path, "", tt.headers...)
			if response.StatusCode != tt.want {
				t.Errorf("status %d, want %d: %s", response.StatusCode, tt.want, body)
			}
			h := response.Header
			if !strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'") ||
				!strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") ||
				h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("security headers are missing: %v", h)
			}
			if tt.want >= 400 && h.Get("Content-Type") != "application/json" {
				t.Errorf("error is %s, want JSON", h.Get("Content-Type"))
			}
		})
	}
}

func TestREST(t *testing.T) {
	b := newFakeBackend("s1")
	b.upstreams = []wire.UpstreamState{{Name: "files", State: wire.UpstreamUp, Tools: 3}}
	b.records = []audit.Record{{Seq: 2, Event: audit.Decision, CallID: "call_1", Decision: "denied", Tool: "files_read"}}
	b.ask(approval("call_1"))
	r := start(t, b)
	const answer = `{"sessionId":"s1","argsDigest":"d-call_1","decision":"approve"}`
	for _, tt := range []struct {
		name   string
		as     credentials.Credential
		method string
		path   string
		body   string
		want   int
		has    string
	}{
		{"live", "", "GET", "/health/live", "", 200, `"up"`},
		{"health tells no names", "", "GET", "/health", "", 200, `{"status":"up","upstreams":{"down":0,"idle":0,"starting":0,"up":1}}`},
		{"ready", "", "GET", "/health/ready", "", 200, `"up":1`},
		{"page", "", "GET", "/", "", 200, "callgate approve"},
		{"nothing there", "", "GET", "/api/nothing", "", 404, `"error":{`},
		{"info without credential", "", "GET", "/api/info", "", 401, wire.CodeUnauthorized},
		{"info with the mcp credential", credentials.MCP, "GET", "/api/info", "", 401, wire.CodeUnauthorized},
		{"info", credentials.View, "GET", "/api/info", "", 200, `"version":"1.2.3"`},
		{"approvals", credentials.View, "GET", "/api/approvals", "", 200, `"args":{"command":"git push","n":1.0e2}`},
		{"sessions", credentials.View, "GET", "/api/sessions", "", 200, `"sessionId":"s1"`},
		{"audit", credentials.View, "GET", "/api/audit?sessionId=s1&limit=5&decision=denied&tool=files_read&since=2026-11-20T10:00:00Z", "", 200, `"decision":"denied"`},
		{"audit, limit too large", credentials.View, "GET", "/api/audit?limit=1001", "", 400, wire.CodeBadMessage},
		{"audit, limit zero", credentials.View, "GET", "/api/audit?limit=0", "", 400, wire.CodeBadMessage},
		{"audit, bad since", credentials.View, "GET", "/api/audit?since=yesterday", "", 400, wire.CodeBadMessage},
		{"audit, misspelled filter", credentials.View, "GET", "/api/audit?decison=denied", "", 400, `unknown query parameter \"decison\": did you mean \"decision\"?`},
		{"audit, no such decision", credentials.View, "GET", "/api/audit?decision=foo", "", 400, "decision must be one of auto_approved, approved"},
		{"a parameter of another path", credentials.View, "GET", "/api/info?limit=1", "", 400, "known are sessionId, worker"},
		{"wrong method", credentials.Approve, "DELETE", "/api/approvals", "", 405, "GET"},
		{"watcher answers", credentials.View, "POST", "/api/approvals/call_1", answer, 403, wire.CodeUnauthorized},
		{"nobody answers", "", "POST", "/api/approvals/call_1", answer, 401, wire.CodeUnauthorized},
		{"not JSON", credentials.Approve, "POST", "/api/approvals/call_1", "decision=approve", 400, wire.CodeBadMessage},
		{"duplicate member", credentials.Approve, "POST", "/api/approvals/call_1", `{"decision":"reject","decision":"approve","sessionId":"s1","argsDigest":"d-call_1"}`, 400, wire.CodeBadMessage},
		{"case variant is another member", credentials.Approve, "POST", "/api/approvals/call_1", `{"Decision":"approve","sessionId":"s1","argsDigest":"d-call_1"}`, 400, `unknown member \"Decision\": did you mean \"decision\"?`},
		{"unknown member", credentials.Approve, "POST", "/api/approvals/call_1", `{"foo":1,"decision":"approve","sessionId":"s1","argsDigest":"d-call_1"}`, 400, `unknown member \"foo\": known are argsDigest, arguments, decision`},
		{"unknown member within", credentials.Approve, "POST", "/api/approvals/call_1", `{"grants":[{"tol":"x"}],"decision":"always","sessionId":"s1","argsDigest":"d-call_1"}`, 400, `unknown member \"grants.0.tol\": did you mean \"tool\"? known are pattern, tool`},
		{"a whole offer", credentials.Approve, "POST", "/api/approvals/call_1", `{"grants":[{"tool":"x","pattern":"y","risk":"WRITE"}],"decision":"always","sessionId":"s1","argsDigest":"d-call_1"}`, 400, `unknown member \"grants.0.risk\": known are pattern, tool`},
		{"no grants", credentials.Approve, "POST", "/api/approvals/call_1", `{"grants":[],"decision":"always","sessionId":"s1","argsDigest":"d-call_1"}`, 400, `grants is empty: name an offer`},
		{"no session, and no such approval", credentials.Approve, "POST", "/api/approvals/call_9", `{"argsDigest":"d-call_9","decision":"approve"}`, 404, "NOT_PENDING"},
		{"every session", credentials.Approve, "POST", "/api/approvals/call_1", `{"sessionId":"*","argsDigest":"d-call_1","decision":"approve"}`, 400, "never"},
		{"unknown session", credentials.Approve, "POST", "/api/approvals/call_1", `{"sessionId":"s9","argsDigest":"d-call_1","decision":"approve"}`, 404, wire.CodeSessionNotFound},
		{"no digest", credentials.Approve, "POST", "/api/approvals/call_1", `{"sessionId":"s1","decision":"approve"}`, 400, "argsDigest"},
		{"other digest", credentials.Approve, "POST", "/api/approvals/call_1", `{"sessionId":"s1","argsDigest":"d-other","decision":"approve"}`, 409, "other arguments"},
		{"other id in the body", credentials.Approve, "POST", "/api/approvals/call_1", `{"toolCallId":"call_2","sessionId":"s1","argsDigest":"d-call_1","decision":"approve"}`, 400, "path"},
		{"body too large", credentials.Approve, "POST", "/api/approvals/call_1", `{"feedback":"` + strings.Repeat("x", wire.MaxMessage) + `"}`, 413, "4 MiB"},
		{"answer", credentials.Approve, "POST", "/api/approvals/call_1", answer, 200, `{"applied":true}`},
		{"answer again", credentials.Approve, "POST", "/api/approvals/call_1", answer, 404, `{"applied":false,"error":{"code":"NOT_PENDING"`},
		{"level", credentials.Approve, "PUT", "/api/sessions/s1/autonomy", `{"level":"MANUAL"}`, 200, `"MANUAL"`},
		{"level, watcher", credentials.View, "PUT", "/api/sessions/s1/autonomy", `{"level":"FULL_AUTO"}`, 403, wire.CodeUnauthorized},
		{"level of every session", credentials.Approve, "PUT", "/api/sessions/*/autonomy", `{"level":"MANUAL"}`, 400, "never"},
		{"level of no session", credentials.Approve, "PUT", "/api/sessions/s9/autonomy", `{"level":"MANUAL"}`, 404, wire.CodeSessionNotFound},
		{"no such level", credentials.Approve, "PUT", "/api/sessions/s1/autonomy", `{"level":"GOD"}`, 400, "unknown level"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			response, body := r.do(t, tt.as, tt.method, tt.path, tt.body)
			if response.StatusCode != tt.want || !strings.Contains(body, tt.has) {
				t.Errorf("%d %s\nwant %d with %s", response.StatusCode, body, tt.want, tt.has)
			}
			if response.StatusCode == 401 && response.Header.Get("WWW-Authenticate") != "Bearer" {
				t.Error("401 without WWW-Authenticate")
			}
		})
	}
	if got := b.applied(); len(got) != 1 || got[0].By != "rest" {
		t.Errorf("answers %+v, want one by rest", got)
	}
	want := AuditQuery{SessionID: "s1", Limit: 5, Decision: "denied", Tool: "files_read", Since: time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)}
	if b.query != want {
		t.Errorf("audit query %+v, want %+v", b.query, want)
	}
}

func TestContentType(t *testing.T) {
	b := newFakeBackend("s1")
	b.ask(approval("call_1"))
	r := start(t, b)
	const answer = `{"sessionId":"s1","argsDigest":"d-call_1","decision":"approve"}`
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp", ""} {
		response, _ := r.do(t, credentials.Approve, "POST", "/api/approvals/call_1", answer, "Content-Type", kind)
		if response.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("%q: status %d, want 415", kind, response.StatusCode)
		}
	}
	response, body := r.do(t, credentials.Approve, "POST", "/api/approvals/call_1", answer, "Content-Type", "application/json; charset=utf-8")
	if response.StatusCode != 200 {
		t.Errorf("JSON with charset: %d %s", response.StatusCode, body)
	}
}

func TestHealthOfUpstreams(t *testing.T) {
	b := newFakeBackend()
	r := start(t, b)
	for _, tt := range []struct {
		states        []string
		health, ready int
	}{
		{nil, 200, 200},
		{[]string{wire.UpstreamUp, wire.UpstreamUp}, 200, 200},
		{[]string{wire.UpstreamIdle, wire.UpstreamUp}, 200, 200},
		{[]string{wire.UpstreamUp, wire.UpstreamStarting}, 200, 503},
		{[]string{wire.UpstreamUp, wire.UpstreamDown}, 503, 503},
	} {
		b.mu.Lock()
		b.upstreams = nil
		for _, state := range tt.states {
			b.upstreams = append(b.upstreams, wire.UpstreamState{Name: "secret-name", State: state, Error: "secret-error"})
		}
		b.mu.Unlock()
		for path, want := range map[string]int{"/health": tt.health, "/health/ready": tt.ready, "/health/live": 200} {
			response, body := r.do(t, "", "GET", path, "")
			if response.StatusCode != want {
				t.Errorf("%v: %s is %d, want %d", tt.states, path, response.StatusCode, want)
			}
			if refused := want == 503; refused != (response.Header.Get("Retry-After") != "") || refused != strings.Contains(body, `"reasons":["1 server is `) {
				t.Errorf("%v: %s says %q, Retry-After %q", tt.states, path, body, response.Header.Get("Retry-After"))
			}
			if strings.Contains(body, "secret") {
				t.Errorf("%s tells strangers %s", path, body)
			}
		}
	}
}

func TestFailureIsLoggedNotTold(t *testing.T) {
	b := newFakeBackend("s1")
	b.broken = errDisk
	r := start(t, b)
	response, body := r.do(t, credentials.Approve, "POST", "/api/approvals/x", `{"sessionId":"s1","argsDigest":"d","decision":"reject"}`)
	if response.StatusCode != 500 || strings.Contains(body, "/secret/path") || !strings.Contains(body, wire.CodeInternal) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if !strings.Contains(r.log.String(), "/secret/path") {
		t.Error("the log does not say what failed")
	}
}

func TestRotatedCredential(t *testing.T) {
	r := start(t, newFakeBackend("s1"))
	old := r.token(t, credentials.Approve)
	if err := r.credentials.Rotate(credentials.Approve); err != nil {
		t.Fatal(err)
	}
	if response, _ := r.do(t, "", "GET", "/api/info", "", "Authorization", "Bearer "+old); response.StatusCode != 401 {
		t.Errorf("old credential: %d, want 401", response.StatusCode)
	}
	if response, _ := r.do(t, credentials.Approve, "GET", "/api/info", ""); response.StatusCode != 200 {
		t.Errorf("new credential: %d, want 200", response.StatusCode)
	}
}

func TestListenAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tt := range []struct {
		address string
		ok      bool
	}{
		{":0", true},
		{"localhost:0", true},
		{"127.0.0.1:0", true},
		{taken.Addr().String(), true},
		{"0.0.0.0:0", false},
		{"[::]:0", false},
		{"192.0.2.1:0", false},
		{"example.com:0", false},
		{"7777", false},
	} {
		log := new(lockedBuffer)
		dir := privateDir(t)
		s, err := Listen(Options{DataDir: dir, Address: tt.address, Backend: Backend{Gate: newFakeBackend()}, Logger: slog.New(slog.NewTextHandler(log, nil))})
		if (err == nil) != tt.ok {
			t.Errorf("%s: error %v, want ok %v", tt.address, err, tt.ok)
		}
		if err != nil {
			continue
		}
		if !strings.HasPrefix(s.Address(), "127.0.0.1:") || s.Address() == taken.Addr().String() {
			t.Errorf("%s: listens on %s", tt.address, s.Address())
		}
		if found, err := client.Companions(dir); err != nil || found[0].Address != s.Address() || found[0].PID != os.Getpid() {
			t.Errorf("%s: announced as %+v, %v", tt.address, found, err)
		}
		if strings.HasSuffix(tt.address, taken.Addr().String()) && !strings.Contains(log.String(), "is in use") {
			t.Errorf("%s: the other port was not logged: %s", tt.address, log)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := client.Companions(dir); err == nil {
			t.Errorf("%s: still announced after Close", tt.address)
		}
		if err := s.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
}

func TestProof(t *testing.T) {
	r := start(t, newFakeBackend())
	nonce := strings.Repeat("ab", 32)
	response, body := r.do(t, "", "GET", "/api/proof?credential=approve&nonce="+nonce, "")
	var got struct{ Proof string }
	if err := json.Unmarshal([]byte(body), &got); err != nil || response.StatusCode != 200 {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	token := r.token(t, credentials.Approve)
	if got.Proof != credentials.Proof(token, nonce, r.Address()) {
		t.Error("the proof is not the one expected")
	}
	for _, other := range []string{credentials.Proof(token, nonce, "127.0.0.1:1"), credentials.Proof(token, strings.Repeat("cd", 32), r.Address()), credentials.Proof(r.token(t, credentials.View), nonce, r.Address())} {
		if got.Proof == other {
			t.Error("the proof does not depend on credential, nonce and address")
		}
	}
	for _, query := range []string{"", "?credential=mcp&nonce=" + nonce, "?credential=approve", "?credential=approve&nonce=zz", "?credential=../approve&nonce=" + nonce} {
		if response, _ := r.do(t, "", "GET", "/api/proof"+query, ""); response.StatusCode != 400 {
			t.Errorf("%s: %d, want 400", query, response.StatusCode)
		}
	}
}

// lockedBuffer is a buffer that goroutines can share.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// An approval's id identifies its session.
func TestAnswerByIDAlone(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	b.ask(approval("call_1"))
	if response, body := r.do(t, credentials.Approve, "POST", "/api/approvals/call_1", `{"argsDigest":"d-call_1","decision":"approve"}`); response.StatusCode != 200 || !strings.Contains(body, `"applied":true`) {
		t.Errorf("%d %s", response.StatusCode, body)
	}
	if got := b.applied(); len(got) != 1 || got[0].SessionID != "s1" {
		t.Errorf("%+v", got)
	}
}

// The audit trail lists one record for each call, each once over all pages, and finds records by any text in them.
func TestAuditOfCalls(t *testing.T) {
	b := newFakeBackend("s1")
	r := start(t, b)
	record := func(event audit.Event, call, decision string) audit.Record {
		return audit.Record{Event: event, CallID: call, Decision: decision, Hash: string(event) + call, Risk: "WRITE", Summary: "Write " + call, Arguments: []byte(`{"path":"/srv/Notes"}`)}
	}
	b.records = []audit.Record{ // newest first
		record(audit.Asked, "call_4", ""),
		{Event: audit.Outcome, CallID: "call_3", Hash: "o3", Error: "disk full", Duration: 12, Result: 7},
		{Event: audit.Control, Summary: "Session started.", Hash: "c"},
		record(audit.Decision, "call_3", "approved"),
		record(audit.Asked, "call_3", ""),
		record(audit.Decision, "call_2", "denied"),
		{Event: audit.Outcome, CallID: "call_1", Hash: "o1"},
		record(audit.Decision, "call_1", "approved"),
	}
	read := func(query string) (calls []string, next string) {
		t.Helper()
		_, body := r.do(t, credentials.View, "GET", "/api/audit?"+query, "")
		var got struct {
			Records []AuditRecord
			Next    string
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		for _, a := range got.Records {
			call := a.CallID
			if a.Outcome != nil {
				call += "+" + a.Outcome.CallID
			}
			if a.RiskLabel != "medium" && a.Risk != "" {
				t.Errorf("label %q", a.RiskLabel)
			}
			calls = append(calls, call)
		}
		return calls, got.Next
	}
	for query, want := range map[string]string{
		"calls=true":                             "call_4 call_3+call_3 call_2 call_1+call_1",
		"calls=true&decision=approved":           "call_3+call_3 call_1+call_1",
		"calls=true&q=FULL":                      "call_3+call_3",
		"calls=true&q=srv/notes&decision=denied": "call_2",
		"q=session+started":                      "",
	} {
		got, next := read(query)
		if strings.Join(got, " ") != want || next != "" {
			t.Errorf("%s: %q, next %q", query, got, next)
		}
	}
	var all []string
	for next := "start"; next != ""; {
		query := "calls=true&limit=1"
		if next != "start" {
			query += "&before=" + next
		}
		var page []string
		page, next = read(query)
		all = append(all, page...)
	}
	if got := strings.Join(all, " "); got != "call_4 call_3+call_3 call_2 call_1+call_1" {
		t.Errorf("in pages of one: %s", got)
	}
}

// A person's own command is recorded under their name, before it runs and after.
func TestOwnCommand(t *testing.T) {
	b := newFakeBackend()
	r := start(t, b)
	for body, status := range map[string]int{`{"command":"git status","dir":"/src"}`: 200, `{"command":"make","outcome":"ended with exit code 2","duration":12}`: 200, `{"dir":"/"}`: 400} {
		if response, answer := r.do(t, credentials.Approve, "POST", "/api/commands", body, "Callgate-Client", "tui:alice"); response.StatusCode != status {
			t.Errorf("%s: %d %s", body, response.StatusCode, answer)
		}
	}
	if response, _ := r.do(t, credentials.View, "POST", "/api/commands", `{"command":"x"}`); response.StatusCode != 403 {
		t.Errorf("who watches: %d", response.StatusCode)
	}
	noted := strings.Join(b.cancelled, "\n")
	if !strings.Contains(noted, `tui:alice: A person runs a shell command of their own, outside the gate: "git status" in "/src".`) || !strings.Contains(noted, `ended with exit code 2 after 12 ms: "make"`) {
		t.Error(noted)
	}
	b.broken = errDisk
	if response, _ := r.do(t, credentials.Approve, "POST", "/api/commands", `{"command":"x"}`); response.StatusCode != 500 {
		t.Errorf("what cannot be recorded: %d", response.StatusCode)
	}
}

// A server whose credentials others can read refuses everybody.
func TestServerRefusesOpenCredentials(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes do not say who may read")
	}
	r := start(t, newFakeBackend())
	token := r.token(t, credentials.Approve)
	if err := os.Chmod(filepath.Join(r.dir, "credentials", "approve"), 0o644); err != nil {
		t.Fatal(err)
	}
	if response, _ := r.do(t, "", "GET", "/api/info", "", "Authorization", "Bearer "+token); response.StatusCode != 401 {
		t.Errorf("status %d, want 401", response.StatusCode)
	}
	if !strings.Contains(r.log.String(), "open to other users") {
		t.Error("the log does not say why")
	}
}

// A replica where nothing can run takes no host.
func TestNotReadyWhereNothingRuns(t *testing.T) {
	r := start(t, newFakeBackend())
	var why error
	probe := probeAPI{api: api{backend: r.Server.backend}, hub: r.hub, problems: func() []string { return nil }, ready: func() error { return why }}
	for _, why = range []error{nil, errors.New("dial tcp: lookup nats.internal")} {
		w := httptest.NewRecorder()
		probe.handleReady(w, httptest.NewRequest("GET", "/health/ready", nil))
		if (w.Code == http.StatusOK) != (why == nil) || why != nil && (!strings.Contains(w.Body.String(), `"reasons":["nothing can run here now; callgate's log`) || w.Header().Get("Retry-After") == "") {
			t.Errorf("%v: %d %s", why, w.Code, w.Body)
		}
	}
}

func TestAFreezeUntilWhatIsNoTime(t *testing.T) {
	if refused := rest.DecodeBody([]byte(`{"until":"2h"}`), new(wire.FreezeRequest)); refused == nil || refused.Message != `"2h" is not a time: write it as 2026-12-24T18:00:00Z` {
		t.Errorf("%+v", refused)
	}
}
