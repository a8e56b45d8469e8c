package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"callgate/internal/testserver/waits"
)

// guarded is an MCP server on mcp-go behind an OAuth server. That one registers clients, insists on PKCE, gives
// short-lived tokens, and accepts each refresh token once.
type guarded struct {
	*httptest.Server
	mu      sync.Mutex
	clients map[string]string     // redirect address by client id
	codes   map[string]url.Values // what was asked for, by code
	tokens  map[string]bool       // the valid ones
	refresh map[string]bool
	issued  int
	life    int    // of tokens, in seconds
	issuer  string // "" means the right one

	scopes map[string]string // of tokens
	needs  string            // the scope that tools/call needs; "" for none
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{clients: map[string]string{}, codes: map[string]url.Values{}, tokens: map[string]bool{}, refresh: map[string]bool{}, scopes: map[string]string{}, life: 3600}
	s := server.NewMCPServer("guarded", "1")
	s.AddTool(mcp.NewTool("hello"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("you are in"), nil
	})
	inner := server.NewStreamableHTTPServer(s)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		g.mu.Lock()
		good, lacks := g.tokens[token], !slices.Contains(strings.Fields(g.scopes[token]), g.needs) && g.needs != ""
		g.mu.Unlock()
		if good && lacks && bytes.Contains(body, []byte(`"tools/call"`)) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+g.needs+`"`)
			http.Error(w, "not with this", http.StatusForbidden)
			return
		}
		if !good {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource/mcp"`)
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{
			"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token", "registration_endpoint": g.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			RedirectURIs []string `json:"redirect_uris"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.RedirectURIs) != 1 {
			http.Error(w, "bad registration", http.StatusBadRequest)
			return
		}
		id := random()
		g.mu.Lock()
		g.clients[id] = in.RedirectURIs[0]
		g.mu.Unlock()
		w.WriteHeader(http.StatusCreated)
		reply(w, map[string]any{"client_id": id, "token_endpoint_auth_method": "none"})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.clients[q.Get("client_id")] != q.Get("redirect_uri") || q.Get("code_challenge_method") != "S256" || q.Get("resource") != g.URL+"/mcp" {
			http.Error(w, "bad request: "+r.URL.RawQuery, http.StatusBadRequest)
			return
		}
		code, issuer := random(), g.URL
		if g.issuer != "" {
			issuer = g.issuer
		}
		g.codes[code] = q
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {issuer}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		ok, scope := false, ""
		switch r.FormValue("grant_type") {
		case "authorization_code":
			asked := g.codes[r.FormValue("code")]
			delete(g.codes, r.FormValue("code"))
			sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
			scope = asked.Get("scope")
			ok = asked != nil && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) && r.FormValue("client_id") == asked.Get("client_id")
		case "refresh_token":
			ok = g.refresh[r.FormValue("refresh_token")]
			delete(g.refresh, r.FormValue("refresh_token"))
		}
		if !ok {
			w.WriteHeader(http.StatusBadRequest)
			reply(w, map[string]any{"error": "invalid_grant"})
			return
		}
		token, refresh := random(), random()
		g.tokens[token], g.refresh[refresh], g.scopes[token] = true, true, scope
		g.issued++
		reply(w, map[string]any{"access_token": token, "token_type": "bearer", "refresh_token": refresh, "expires_in": g.life})
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	t.Cleanup(g.CloseClientConnections)
	return g
}

func random() string {
	b := make([]byte, 12)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// cli runs a command line of callgate in this process. Each line of its output also goes to line, if that is not nil.
func cli(line func(string), args ...string) (string, error) {
	var out bytes.Buffer
	root, _ := newRootCommand()
	root.SetArgs(args)
	root.SetOut(io.MultiWriter(&out, lineWriter{line}))
	root.SetErr(&out)
	err := root.ExecuteContext(context.Background())
	return out.String(), err
}

type lineWriter struct{ line func(string) }

func (w lineWriter) Write(p []byte) (int, error) {
	if w.line != nil {
		w.line(string(p))
	}
	return len(p), nil
}

// browse returns a browser whose user agrees to everything.
func browse(t *testing.T) func(string) {
	return func(text string) {
		address := regexp.MustCompile(`http://\S+/authorize\S+`).FindString(text)
		if address == "" {
			return
		}
		go func() {
			response, err := http.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
		}()
	}
}

func TestLogin(t *testing.T) {
	g := newGuarded(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "callgate.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "servers: [{name: g, url: %q}, {name: local, command: x, enabled: false}]", g.URL+"/mcp"), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"--config", config, "--data-dir", filepath.Join(dir, "data")}
	run := func(line func(string), args ...string) (string, error) { return cli(line, append(args, common...)...) }

	if out, err := run(nil, "tools"); err == nil || !strings.Contains(out, `callgate login g`) {
		t.Fatalf("without a login: %s, %v", out, err)
	}

	// An answer from another issuer leaves nothing behind, nor does a person who takes too long.
	g.mu.Lock()
	g.issuer = "https://evil.example"
	g.mu.Unlock()
	if out, err := run(browse(t), "login", "g", "--print"); err == nil || !strings.Contains(err.Error(), "evil.example") {
		t.Fatalf("another issuer: %s, %v", out, err)
	}
	g.mu.Lock()
	g.issuer = ""
	g.mu.Unlock()
	file := filepath.Join(dir, "data", "logins", "g.json")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a login was kept: %v", err)
	}

	out, err := run(browse(t), "login", "g", "--print")
	if err != nil || !strings.Contains(out, "signed in to g until") {
		t.Fatalf("%s, %v", out, err)
	}
	info, err := os.Stat(file)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info.Mode(), err)
	}
	if out, err := run(nil, "tools"); err != nil || !strings.Contains(out, "g_hello") {
		t.Fatalf("%s, %v", out, err)
	}

	// The server refuses the token early. It is refreshed, once for all callers that notice.
	g.mu.Lock()
	clear(g.tokens)
	before := g.issued
	g.mu.Unlock()
	if out, err := run(nil, "tools"); err != nil || !strings.Contains(out, "g_hello") {
		t.Fatalf("%s, %v", out, err)
	}
	g.mu.Lock()
	if g.issued != before+1 {
		t.Errorf("%d tokens were issued, one was needed", g.issued-before)
	}

	// The token expires, with the same effect. Once it cannot be refreshed, a person has to sign in.
	g.life = 1
	clear(g.tokens)
	g.mu.Unlock()
	for range 2 {
		if out, err := run(nil, "tools"); err != nil || !strings.Contains(out, "g_hello") {
			t.Fatalf("%s, %v", out, err)
		}
	}
	g.mu.Lock()
	clear(g.tokens)
	clear(g.refresh)
	g.mu.Unlock()
	if out, err := run(nil, "tools"); err == nil || !strings.Contains(out, "cannot be refreshed") || !strings.Contains(out, "callgate login g") {
		t.Fatalf("%s, %v", out, err)
	}

	if out, err := run(nil, "logout", "g"); err != nil || !strings.Contains(out, "is forgotten") {
		t.Fatalf("%s, %v", out, err)
	}
	if out, err := run(nil, "logout", "g"); err != nil || !strings.Contains(out, "there was no login") {
		t.Fatalf("%s, %v", out, err)
	}
	if _, err := run(nil, "login", "local"); err == nil || !strings.Contains(err.Error(), "there is g") {
		t.Fatal(err)
	}
	if _, err := run(nil, "logout", "local"); err == nil || !strings.Contains(err.Error(), "there is no login at local") {
		t.Fatal(err)
	}

	// A login outlives its server in the configuration, and can still be forgotten.
	if out, err := run(browse(t), "login", "g", "--print"); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	if err := os.WriteFile(config, []byte("servers: [{name: local, command: x, enabled: false}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(nil, "logout", "g"); err != nil || !strings.Contains(out, "the login at g is forgotten") {
		t.Fatalf("%s, %v", out, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the login is still there: %v", err)
	}
	if _, err := run(nil, "logout", "g"); err == nil || !strings.Contains(err.Error(), "there is no login at g") {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "data", "logins", "login-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A token is only for the address that it was given for. A server of the same name at another address does not get it.
func TestLoginIsForOneAddress(t *testing.T) {
	g, other := newGuarded(t), newGuarded(t)
	dir := t.TempDir()
	config := filepath.Join(dir, "callgate.yaml")
	common := []string{"--config", config, "--data-dir", filepath.Join(dir, "data")}
	write := func(address string) {
		t.Helper()
		if err := os.WriteFile(config, fmt.Appendf(nil, "servers: [{name: g, url: %q}]", address+"/mcp"), fs.FileMode(0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(g.URL)
	if out, err := cli(browse(t), append([]string{"login", "g", "--print"}, common...)...); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	var seen []string
	spied := other.Config.Handler
	other.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		other.mu.Lock()
		seen = append(seen, r.Header.Get("Authorization"))
		other.mu.Unlock()
		spied.ServeHTTP(w, r)
	})
	write(other.URL)
	if out, err := cli(nil, append([]string{"tools"}, common...)...); err == nil || !strings.Contains(out, "callgate login g") {
		t.Fatalf("%s, %v", out, err)
	}
	time.Sleep(50 * time.Millisecond)
	other.mu.Lock()
	defer other.mu.Unlock()
	if len(seen) == 0 || strings.Join(seen, "") != "" {
		t.Errorf("the other server saw %q", seen)
	}
}

// A running callgate hears of a login by itself. The server's tools appear without a restart. A call that needs more
// than the login allows says how to get that, while the server goes on.
func TestLoginWhileCallgateRuns(t *testing.T) {
	g := newGuarded(t)
	dir := t.TempDir()
	config, data := filepath.Join(dir, "callgate.yaml"), filepath.Join(dir, "data")
	if err := os.WriteFile(config, fmt.Appendf(nil, "mode: auto-approve\nservers: [{name: g, url: %q}]", g.URL+"/mcp"), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"--config", config, "--data-dir", data}
	cmd := exec.Command("callgate", append([]string{"run", "--listen", "off"}, common...)...)
	host, err := sdk.NewClient(&sdk.Implementation{Name: "host", Version: "1"}, nil).Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	call := func() string {
		result, err := host.CallTool(t.Context(), &sdk.CallToolParams{Name: "g_hello", Arguments: map[string]any{}})
		if err != nil {
			return err.Error()
		}
		return result.Content[0].(*sdk.TextContent).Text
	}
	login := func() {
		t.Helper()
		if out, err := cli(browse(t), append([]string{"login", "g", "--print"}, common...)...); err != nil {
			t.Fatalf("%s, %v", out, err)
		}
	}
	if got := call(); !strings.Contains(got, `callgate login g`) {
		t.Fatalf("without a login: %s", got)
	}
	login()
	for deadline := time.Now().Add(waits.Limit); ; time.Sleep(50 * time.Millisecond) {
		tools, err := host.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(tools.Tools) == 1 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the login was not noticed")
		}
	}
	if got := call(); got != "you are in" {
		t.Errorf("with the login: %s", got)
	}
	g.mu.Lock()
	g.needs = "write"
	g.mu.Unlock()
	if got := call(); !strings.Contains(got, "(write)") || !strings.Contains(got, `callgate login g`) {
		t.Errorf("more is needed: %s", got)
	}
	login()
	if got := call(); got != "you are in" {
		t.Errorf("with more: %s", got)
	}
	login() // what was allowed stays allowed
	if got := call(); got != "you are in" {
		t.Errorf("signed in anew: %s", got)
	}
}
