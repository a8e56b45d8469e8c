package signin

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"

	"callgate/internal/remote"
	"callgate/internal/testserver/waits"
)

func unauthorized(credential, challenge string) *remote.Refusal {
	return &remote.Refusal{Credential: credential, Status: http.StatusUnauthorized, Challenge: []string{challenge}}
}

func forbidden(credential, challenge string) *remote.Refusal {
	return &remote.Refusal{Credential: credential, Status: http.StatusForbidden, Challenge: []string{challenge}}
}

// Nobody signs in if a server's documents do not fit together: callgate sends no secret and no code there, and bothers
// no person.
func TestPlacesWhereNobodySignsIn(t *testing.T) {
	for name, c := range map[string]struct {
		bend func(p *place)
		s    Server
		want string
	}{
		"another's resource":     {func(p *place) { p.resource["resource"] = "https://evil.example/mcp" }, Server{}, "is for another"},
		"a sibling's resource":   {func(p *place) { p.resource["resource"] = p.URL + "/mc" }, Server{}, "is for another"},
		"no resource":            {func(p *place) { delete(p.resource, "resource") }, Server{}, "is for another"},
		"no authorization":       {func(p *place) { delete(p.resource, "authorization_servers") }, Server{}, "names no authorization server"},
		"no document":            {func(p *place) { p.resource = nil }, Server{}, "the address that the server gave"},
		"an unencrypted one":     {func(p *place) { p.resource["authorization_servers"] = []string{"http://as.example"} }, Server{}, "not an https address"},
		"a script":               {func(p *place) { p.resource["authorization_servers"] = []string{"javascript:alert(1)"} }, Server{}, "not an https address"},
		"another's metadata":     {func(p *place) { p.authority["issuer"] = "https://attacker.example" }, Server{}, "is for another"},
		"no metadata":            {func(p *place) { p.authority = nil }, Server{}, "publishes no metadata"},
		"no PKCE":                {func(p *place) { delete(p.authority, "code_challenge_methods_supported") }, Server{}, "PKCE"},
		"only the plain one":     {func(p *place) { p.authority["code_challenge_methods_supported"] = []string{"plain"} }, Server{}, "PKCE"},
		"unencrypted tokens":     {func(p *place) { p.authority["token_endpoint"] = "http://as.example/token" }, Server{}, "not https"},
		"a script to open":       {func(p *place) { p.authority["authorization_endpoint"] = "javascript:alert(1)" }, Server{}, "not https"},
		"no registration":        {func(p *place) { delete(p.authority, "registration_endpoint") }, Server{}, "configure oauth.clientId"},
		"not the allowed issuer": {func(*place) {}, Server{ClientID: "c", ClientSecret: "s", Issuer: "https://as.example"}, "allows only https://as.example"},
		"an answer of nobody":    {func(p *place) { p.authority["authorization_response_iss_parameter_supported"] = true }, Server{}, "does not name its issuer"},
		"another's answer":       {func(p *place) { p.redirect.Set("iss", "https://evil.example") }, Server{}, "evil.example"},
		"nearly its own answer":  {func(p *place) { p.redirect.Set("iss", p.URL+"/") }, Server{}, "was asked"},
		"a no":                   {func(p *place) { p.redirect["code"] = nil; p.redirect.Set("error", "access_denied") }, Server{}, "access_denied"},
		"no token":               {func(p *place) { p.refuse = "invalid_grant" }, Server{}, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.bend(p)
			dir := t.TempDir()
			if err := signIn(t, p.account(dir, c.s)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if _, err := os.Stat(file(dir, "s")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a login was kept: %v", err)
			}
		})
	}
}

// A failed sign-in leaves the login unchanged.
func TestFailedSignInKeepsTheLogin(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	a := p.account(dir, Server{})
	if err := signIn(t, a); err != nil {
		t.Fatal(err)
	}
	p.bend(func() { clear(p.good); p.refuse = "invalid_grant" })
	if err := signIn(t, a); err == nil {
		t.Fatal("signed in")
	}
	if got, err := a.Authorize(t.Context(), nil); got != "Bearer t1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// The scopes to ask for come from the server's challenge, or else from its list, or from the configuration, plus
// offline_access if the server has it.
func TestScopes(t *testing.T) {
	for name, c := range map[string]struct {
		bend func(p *place)
		s    Server
		want string
	}{
		"none":            {func(*place) {}, Server{}, ""},
		"the server's":    {func(p *place) { p.resource["scopes_supported"] = []string{"a", "b"} }, Server{}, "a b"},
		"the challenge's": {func(p *place) { p.resource["scopes_supported"] = []string{"a", "b"}; p.challenge += `, scope="b"` }, Server{}, "b"},
		"the user's":      {func(p *place) { p.challenge += `, scope="b"` }, Server{Scopes: []string{"x", "x"}}, "x"},
		"to stay":         {func(p *place) { p.authority["scopes_supported"] = []string{"offline_access", "z"} }, Server{Scopes: []string{"x"}}, "x offline_access"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.bend(p)
			if err := signIn(t, p.account(t.TempDir(), c.s)); err != nil {
				t.Fatal(err)
			}
			if got := p.asked[0].Get("scope"); got != c.want {
				t.Errorf("asked for %q, want %q", got, c.want)
			}
		})
	}
}

// A client authenticates as the authorization server requires, and asks for one resource only.
func TestClients(t *testing.T) {
	methods := func(all ...string) func(*place) {
		return func(p *place) { p.authority["token_endpoint_auth_methods_supported"] = all }
	}
	for name, c := range map[string]struct {
		bend             func(p *place)
		s                Server
		id, secret, basi string
	}{
		"registered":            {methods("none"), Server{}, "registered", "", ""},
		"registered, posts":     {methods("client_secret_post"), Server{}, "registered", "hush", ""},
		"registered, basic":     {methods("client_secret_post", "client_secret_basic"), Server{}, "", "", "registered:hush"},
		"configured, unsaid":    {func(*place) {}, Server{ClientID: "me", ClientSecret: "s3"}, "", "", "me:s3"},
		"configured, posts":     {methods("client_secret_post"), Server{ClientID: "me", ClientSecret: "s3"}, "me", "s3", ""},
		"configured, no secret": {methods("client_secret_post", "none"), Server{ClientID: "me"}, "me", "", ""},
		"its own document": {
			func(p *place) { p.authority["client_id_metadata_document_supported"] = true },
			Server{ClientMetadata: "https://me.example/c.json"}, "https://me.example/c.json", "", "",
		},
		"a document that is not taken": {func(*place) {}, Server{ClientMetadata: "https://me.example/c.json"}, "registered", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			c.bend(p)
			if err := signIn(t, p.account(t.TempDir(), c.s)); err != nil {
				t.Fatal(err)
			}
			got := p.last()
			if got.Get("client_id") != c.id || got.Get("client_secret") != c.secret || got.Get("basic") != c.basi {
				t.Errorf("the token endpoint heard %v", got)
			}
			if got.Get("resource") != p.URL+"/mcp" || got.Get("code_verifier") == "" || got.Get("redirect_uri") != p.asked[0].Get("redirect_uri") {
				t.Errorf("the token endpoint heard %v", got)
			}
			for _, wish := range p.clients {
				if wish["application_type"] != "native" || !slices.Contains(wish["grant_types"].([]any), any("refresh_token")) {
					t.Errorf("registered as %v", wish)
				}
			}
		})
	}
}

// If a server wants more than a person has allowed, this is reported until they have allowed it: the next sign-in adds
// it to the earlier scopes. If the server refuses what was asked for already, callgate does not sign in again and
// again.
func TestMoreIsWanted(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	p.challenge += `, scope="read"`
	a := p.account(dir, Server{})
	if err := signIn(t, a); err != nil {
		t.Fatal(err)
	}
	wanted := forbidden("Bearer t1", `Bearer error="insufficient_scope", scope="write"`)
	if got, err := a.Authorize(t.Context(), wanted); got != "" || err == nil || !strings.Contains(err.Error(), `(write): sign in again with "callgate login s"`) {
		t.Fatalf("%q, %v", got, err)
	}
	if got, err := a.Authorize(t.Context(), nil); got != "Bearer t1" || err != nil { // other calls continue
		t.Errorf("%q, %v", got, err)
	}
	for _, nothing := range []string{`Bearer error="insufficient_scope", scope="read"`, `Bearer error="insufficient_scope"`, `Bearer scope="write"`, `nonsense "`} {
		if got, err := a.Authorize(t.Context(), forbidden("Bearer t1", nothing)); got != "Bearer t1" || err != nil {
			t.Errorf("%s: %q, %v", nothing, got, err)
		}
	}
	// The server lets everybody in at first. Other processes remember its demand too.
	p.bend(func() { p.good[""] = true })
	if err := signIn(t, p.account(dir, Server{})); err != nil {
		t.Fatal(err)
	}
	if got := p.asked[1].Get("scope"); got != "read write" {
		t.Errorf("asked for %q", got)
	}
	if got, err := a.Authorize(t.Context(), wanted); got != "Bearer t2" || err != nil { // the request is repeated
		t.Errorf("%q, %v", got, err)
	}
	if err := signIn(t, p.account(dir, Server{})); !errors.Is(err, ErrNotNeeded) {
		t.Errorf("the demand is met: %v", err)
	}
}

// The refresh token and the client's secret go only to their own server, even if another one is named meanwhile.
func TestSecretsStayWhereTheyAreFrom(t *testing.T) {
	p, evil, dir := newPlace(t), newPlace(t), t.TempDir()
	a := p.account(dir, Server{})
	if err := signIn(t, a); err != nil {
		t.Fatal(err)
	}
	p.bend(func() { p.resource["authorization_servers"] = []string{evil.URL} })
	if got, err := a.Authorize(t.Context(), unauthorized("Bearer t1", p.challenge)); got != "Bearer t2" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	if got := p.last(); got.Get("grant_type") != "refresh_token" || got.Get("resource") != p.URL+"/mcp" || got.Get("refresh_token") != "r" {
		t.Errorf("%v", got)
	}
	if len(evil.requests) > 0 {
		t.Errorf("the other one heard %v", evil.requests)
	}
	p.bend(func() { p.refuse = "invalid_grant"; p.good[""] = true })
	if _, err := a.Authorize(t.Context(), unauthorized("Bearer t2", p.challenge)); err == nil || !strings.Contains(err.Error(), "cannot be refreshed: invalid_grant") {
		t.Fatal(err)
	}
	// A person may sign in where the server leads now, as a new client with nothing of the old one.
	if err := signIn(t, a); err != nil {
		t.Fatal(err)
	}
	if len(evil.clients) != 1 || evil.last().Get("refresh_token") != "" {
		t.Errorf("%v, %v", evil.clients, evil.last())
	}
}

// A caller that stops waiting does not lose a refresh token that works only once.
func TestRefreshOutlivesItsRequest(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	p.life = 1
	a := p.account(dir, Server{})
	if err := signIn(t, a); err != nil {
		t.Fatal(err)
	}
	p.bend(func() { p.life = 3600 })
	ctx, cancel := context.WithCancel(t.Context())
	web := p.Config.Handler
	p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		web.ServeHTTP(w, r)
	})
	if got, err := a.Authorize(ctx, nil); got != "Bearer t2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := p.account(dir, Server{}).Authorize(t.Context(), nil); got != "Bearer t2" || err != nil {
		t.Errorf("not kept: %q, %v", got, err)
	}
}

// A login without a token endpoint is only as good as its token.
func TestLoginFromNowhere(t *testing.T) {
	p := newPlace(t)
	a := p.account(t.TempDir(), Server{})
	unlock, err := a.store.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.store.save(&login{URL: p.URL + "/mcp", Token: &oauth2.Token{AccessToken: "old", RefreshToken: "r", Expiry: time.Now().Add(-time.Hour)}}); err != nil {
		t.Fatal(err)
	}
	unlock()
	if got, err := a.Authorize(t.Context(), nil); err == nil || len(p.requests) > 0 {
		t.Errorf("%q, %v, sent %v", got, err, p.requests)
	}
}

// An unreachable or broken authorization server is no reason to ask a person: it is temporary, and the login stays.
func TestWhatPasses(t *testing.T) {
	answers := func(status int, text string) func(p *place) {
		return func(p *place) {
			p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text)
			})
		}
	}
	for name, fail := range map[string]func(p *place){
		"down":     func(p *place) { p.Close() },
		"broken":   answers(http.StatusBadGateway, "later"),
		"at fault": answers(http.StatusInternalServerError, `{"error": "server_error"}`),
		"busy":     answers(http.StatusServiceUnavailable, `{"error": "temporarily_unavailable"}`),
		"crowded":  answers(http.StatusTooManyRequests, `{"error": "too_many_requests"}`),
		"slow":     answers(http.StatusRequestTimeout, "later"),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			p.life = 1
			a := p.account(t.TempDir(), Server{})
			if err := signIn(t, a); err != nil {
				t.Fatal(err)
			}
			fail(p)
			_, err := a.Authorize(t.Context(), nil)
			var passing *remote.PassingError
			if !errors.As(err, &passing) {
				t.Errorf("%v", err)
			}
			if _, demanded, err := a.store.demanded(); demanded || err != nil || a.missing.Load() != nil {
				t.Errorf("a person is asked for: %v", err)
			}
			if _, ok := a.SignedIn(); !ok {
				t.Error("the login is gone")
			}
		})
	}
	p := newPlace(t)
	a := p.account(t.TempDir(), Server{Grant: ClientCredentials, ClientID: "me", ClientSecret: "s3", Issuer: p.URL})
	introduce := func() {
		t.Helper()
		_, err := a.Authorize(t.Context(), unauthorized("", p.challenge))
		var passing *remote.PassingError
		if !errors.As(err, &passing) {
			t.Errorf("%v", err)
		}
	}
	answers(http.StatusTooManyRequests, "")(p)
	introduce()
	p.Close()
	introduce()
}

func TestAwait(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	a := p.account(dir, Server{})
	if got, err := a.Authorize(t.Context(), unauthorized("", p.challenge)); got != "" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	short, cancel := context.WithTimeout(t.Context(), 3*every/2)
	defer cancel()
	if err := a.Await(short); err == nil {
		t.Error("there is no login")
	}
	there := make(chan error, 1)
	go func() { there <- a.Await(t.Context()) }()
	if err := signIn(t, p.account(dir, Server{})); err != nil { // another process
		t.Fatal(err)
	}
	select {
	case err := <-there:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(waits.Limit):
		t.Error("the login was not noticed")
	}
}

func writeKey(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Without a person, callgate shows a secret, a signature or the workload's token, only to the configured issuer.
func TestIntroduction(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	assertion := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(assertion, []byte("workload-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		s     Server
		check func(p *place, got url.Values) bool
	}{
		"secret": {Server{Grant: ClientCredentials, ClientID: "me", ClientSecret: "s3"}, func(_ *place, got url.Values) bool {
			return got.Get("grant_type") == "client_credentials" && got.Get("basic") == "me:s3"
		}},
		"signature": {Server{Grant: ClientCredentials, ClientID: "me", Key: writeKey(t, key)}, func(p *place, got url.Values) bool {
			token, err := jwt.ParseSigned(got.Get("client_assertion"), []jose.SignatureAlgorithm{jose.ES256})
			var claims jwt.Claims
			return err == nil && token.Claims(key.Public(), &claims) == nil && claims.Validate(jwt.Expected{
				Issuer: "me", Subject: "me", AnyAudience: jwt.Audience{p.URL}, Time: time.Now(),
			}) == nil && claims.ID != "" && got.Get("client_secret") == "" &&
				got.Get("client_assertion_type") == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
		}},
		"workload": {Server{Grant: Workload, ClientID: "me", Assertion: assertion}, func(_ *place, got url.Values) bool {
			return got.Get("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer" && got.Get("assertion") == "workload-1"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, evil, dir := newPlace(t), newPlace(t), t.TempDir()
			delete(p.authority, "code_challenge_methods_supported") // no browser, no PKCE
			p.refresh = ""
			c.s.Issuer = p.URL
			a := p.account(dir, c.s)
			if got, err := a.Authorize(t.Context(), nil); got != "" || err != nil { // nobody has asked for a login yet
				t.Fatalf("%q, %v", got, err)
			}
			if got, err := a.Authorize(t.Context(), unauthorized("", p.challenge+`, scope="x"`)); got != "Bearer t1" || err != nil {
				t.Fatalf("%q, %v", got, err)
			}
			if got := p.last(); !c.check(p, got) || got.Get("scope") != "x" || got.Get("resource") != p.URL+"/mcp" {
				t.Errorf("%v", got)
			}
			if got, err := p.account(dir, c.s).Authorize(t.Context(), nil); got != "Bearer t1" || err != nil { // another process
				t.Errorf("%q, %v", got, err)
			}
			if got, err := a.Authorize(t.Context(), forbidden("Bearer t1", `Bearer error="insufficient_scope", scope="y"`)); got != "Bearer t2" || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			if got := p.last().Get("scope"); got != "x y" {
				t.Errorf("asked for %q", got)
			}
			// If the server leads elsewhere, nothing is shown there.
			p.bend(func() { p.resource["authorization_servers"] = []string{evil.URL} })
			if got, err := a.Authorize(t.Context(), unauthorized("Bearer t2", p.challenge)); err == nil || !strings.Contains(err.Error(), "refused") {
				t.Errorf("%q, %v", got, err)
			}
			if len(evil.requests)+len(evil.clients) > 0 {
				t.Errorf("the other one heard %v", evil.requests)
			}
		})
	}
}

// A token is replaced shortly before it expires, by the same authorization server.
func TestIntroductionAgain(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	p.life, p.refresh = 1, ""
	a := p.account(dir, Server{Grant: ClientCredentials, ClientID: "me", ClientSecret: "s3", Issuer: p.URL})
	if got, err := a.Authorize(t.Context(), unauthorized("", p.challenge+`, scope="x"`)); got != "Bearer t1" || err != nil {
		t.Fatalf("%q, %v", got, err)
	}
	p.bend(func() { p.resource, p.authority = nil, nil })
	if got, err := a.Authorize(t.Context(), nil); got != "Bearer t2" || err != nil || p.last().Get("scope") != "x" {
		t.Errorf("%q, %v, %v", got, err, p.last())
	}
	// A login does not belong to another client in the configuration.
	b := p.account(dir, Server{Grant: ClientCredentials, ClientID: "you", ClientSecret: "s3", Issuer: p.URL})
	if got, err := b.Authorize(t.Context(), nil); got != "Bearer t3" || err != nil || p.last().Get("basic") != "you:s3" {
		t.Errorf("%q, %v, %v", got, err, p.last())
	}
}

func TestKeys(t *testing.T) {
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	large, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for alg, key := range map[jose.SignatureAlgorithm]any{jose.EdDSA: edwards, jose.RS256: large, jose.ES384: p384} {
		text, err := signature(writeKey(t, key), "me", "https://as")
		if err != nil {
			t.Errorf("%s: %v", alg, err)
			continue
		}
		if _, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{alg}); err != nil {
			t.Errorf("%s: %v", alg, err)
		}
	}
	whole := jose.JSONWebKey{Key: large, KeyID: "k1", Algorithm: string(jose.PS256)}
	text, err := whole.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	signed, err := signature(path, "me", "https://as")
	if err != nil {
		t.Fatal(err)
	}
	if token, err := jwt.ParseSigned(signed, []jose.SignatureAlgorithm{jose.PS256}); err != nil || token.Headers[0].KeyID != "k1" {
		t.Errorf("%v, %v", token, err)
	}
	private, public := string(text), whole.Public()
	if text, err = public.MarshalJSON(); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a public key": string(text), "no key": "secret-text", "something else": "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n",
		"what is too long": private + strings.Repeat(" ", maxSecret),
		"a secret":         `{"kty":"oct","k":"c2VjcmV0LXRleHQ"}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := signature(path, "me", "https://as"); err == nil || strings.Contains(err.Error(), "secret-text") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCovers(t *testing.T) {
	server, err := url.Parse("https://a.example/x/mcp?tenant=1")
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string]bool{
		"https://a.example/x/mcp?tenant=1": true, "https://a.example/x/mcp": true, "https://A.example/x/mcp/": true,
		"https://a.example/x": true, "https://a.example": true, "https://a.example/": true,
		"https://a.example/x/mcp?tenant=2": false, "https://a.example/x/m": false, "https://a.example/x/mcp/y": false, "https://a.example/y": false,
		"https://a.example:444/x/mcp": false, "http://a.example/x/mcp": false, "https://b.example/x/mcp": false, "https://a.example.evil/x/mcp": false,
		"https://u@a.example/x/mcp": false, "https://a.example/x/mcp#f": false, "": false, "/x/mcp": false, "https://a.example?tenant=1": false,
		"https://a.example/x%2Fmcp": false,
	} {
		if got := covers(resource, server); got != want {
			t.Errorf("%q: %v", resource, got)
		}
	}
}

func FuzzChallenge(f *testing.F) {
	for _, seed := range []string{
		`Bearer resource_metadata="https://a/x", scope="a b", error="insufficient_scope"`, `Basic realm="x", Bearer scope=a`, `Bearer`, `"`, `Bearer a="`,
		"Negotiate abc==", `Bearer scope="\"`, ",,,", `DPoP error="use_dpop_nonce"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		c := read([]string{header, `Bearer scope="last"`})
		if len(c.scopes) == 0 {
			t.Errorf("%q hides the header after it", header)
		}
		if more := c.lacking(c.scopes); len(more) > 0 {
			t.Errorf("%q: %q is lacking, and was asked for", header, more)
		}
	})
}
