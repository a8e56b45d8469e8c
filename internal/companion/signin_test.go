package companion

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"callgate/internal/companion/credentials"
	"callgate/internal/idp"
)

// provider is an OpenID Connect provider: discovery, keys, authorization code with PKCE, and a client secret. It signs
// everybody in with its claims.
type provider struct {
	*httptest.Server
	t   *testing.T
	key *ecdsa.PrivateKey

	mu     sync.Mutex
	claims map[string]any // for the next sign-in; a member with the value "" is left out
	codes  map[string]url.Values
}

const providerSecret = "a secret of the client"

func newProvider(t *testing.T) *provider {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	reply := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256"}, "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("response_type") != "code" || q.Get("client_id") != "callgate" || q.Get("code_challenge_method") != "S256" || !strings.Contains(q.Get("scope"), "openid") || q.Get("nonce") == "" {
			t.Errorf("asked for %v", q)
		}
		code := rand.Text()
		p.mu.Lock()
		p.codes[code] = q
		p.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		p.mu.Lock()
		defer p.mu.Unlock()
		asked, ok := p.codes[r.PostFormValue("code")]
		delete(p.codes, r.PostFormValue("code"))
		challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if secret, _ = url.QueryUnescape(secret); !ok || id != "callgate" || secret != providerSecret ||
			asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") {
			reply(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		reply(w, http.StatusOK, map[string]any{"access_token": "x", "token_type": "Bearer", "id_token": p.sign(asked.Get("nonce"))})
	})
	return p
}

// sign makes the ID token. The caller holds mu.
func (p *provider) sign(nonce string) string {
	claims := map[string]any{"iss": p.URL, "aud": "callgate", "sub": "1", "nonce": nonce, "iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix()}
	maps.Copy(claims, p.claims)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "k"}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		p.t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		p.t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}

// signIn performs the whole sign-in like a browser, and returns the last response.
func (p *provider) signIn(at string, claims map[string]any) (status int, text string) {
	p.mu.Lock()
	p.claims = claims
	p.mu.Unlock()
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	browser := &http.Client{Jar: jar, Transport: navigating{}}
	answer, err := browser.Get(at + "/signin")
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// navigating adds the headers of a browser that follows a link from another site.
type navigating struct{}

func (navigating) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path == signedInPath {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.Header.Set("Sec-Fetch-Mode", "navigate")
	}
	return http.DefaultTransport.RoundTrip(r)
}

var pairingIn = regexp.MustCompile(`#pair=([\w-]{43})`)

func TestSignIn(t *testing.T) {
	p := newProvider(t)
	dir := privateDir(t)
	creds, err := credentials.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := newFakeBackend()
	server, err := listen(Options{
		DataDir: dir, Address: "127.0.0.1:0", Version: "1", Backend: Backend{Gate: b}, Credentials: creds, Logger: slog.New(slog.DiscardHandler),
		Identity: idp.New(idp.Options{
			Issuer: p.URL, ClientID: "callgate", Secret: func() (string, error) { return providerSecret, nil },
			Scopes: []string{"email"}, Approvers: []string{"sre"}, Viewers: []string{"dev"},
		}),
	}, defaultTiming)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	at := "http://" + server.Address()
	person := func(name string, groups ...string) map[string]any {
		return map[string]any{"sub": "of " + name, "email": name, "email_verified": true, "groups": groups}
	}
	for name, c := range map[string]struct {
		claims map[string]any
		want   string
	}{
		"no group that counts": {person("eve@example.com", "sales"), "none of your groups"},
		"no groups":            {map[string]any{"email": "eve@example.com", "email_verified": true}, "none of your groups"},
		"unverified address":   {map[string]any{"email": "alice@example.com", "groups": []string{"sre"}}, "not verified"},
		"no name":              {map[string]any{"groups": []string{"sre"}}, "has no email"},
		"for another client":   {map[string]any{"aud": "other", "email": "a@b", "email_verified": true, "groups": []string{"sre"}}, "ID token"},
		"of another issuer":    {map[string]any{"iss": "https://evil.example.com", "email": "a@b", "email_verified": true, "groups": []string{"sre"}}, "ID token"},
		"another nonce":        {map[string]any{"nonce": "x", "email": "a@b", "email_verified": true, "groups": []string{"sre"}}, "another sign-in"},
		"over":                 {map[string]any{"exp": 1, "email": "a@b", "email_verified": true, "groups": []string{"sre"}}, "ID token"},
		"a name like no name":  {person("../../approve", "sre"), "use approve@NAME"},
	} {
		if status, text := p.signIn(at, c.claims); status != http.StatusForbidden || !strings.Contains(text, c.want) || !strings.Contains(text, `<a href="/signin">Sign in again`) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}

	redeem := func(claims map[string]any) map[string]string {
		t.Helper()
		status, text := p.signIn(at, claims)
		code := pairingIn.FindStringSubmatch(text)
		if status != http.StatusOK || code == nil {
			t.Fatalf("%d %s", status, text)
		}
		answer, err := http.Post(at+"/api/pair/redeem", "application/json", strings.NewReader(`{"code":"`+code[1]+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		var got map[string]string
		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	alice := redeem(person("alice@example.com", "all", "sre"))
	if alice["secret"] != "approve@alice@example.com" || alice["name"] != "alice@example.com" || alice["credential"] != "approve" {
		t.Errorf("alice got %v", alice)
	}
	if again := redeem(person("alice@example.com", "sre")); again["token"] != alice["token"] {
		t.Error("a second sign-in ends the first")
	}
	if bob := redeem(person("bob@example.com", "dev")); bob["secret"] != "view@bob@example.com" {
		t.Errorf("bob got %v", bob)
	}
	status := func(token string) int {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/api/approvals", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	if n := status(alice["token"]); n != http.StatusOK {
		t.Errorf("alice sees %d", n)
	}
	// A person who has changed groups keeps no more rights than the new group has.
	if less := redeem(person("alice@example.com", "dev")); less["secret"] != "view@alice@example.com" {
		t.Errorf("alice got %v", less)
	}
	if n := status(alice["token"]); n != http.StatusUnauthorized {
		t.Errorf("with what she had alice sees %d", n)
	}

	// An account and a person belong together, even if the provider has renamed one.
	for name, c := range map[string]struct{ sub, email, want string }{
		"another name":    {"of alice@example.com", "alice@example.org", "has signed in as alice@example.com"},
		"another account": {"of mallory", "alice@example.com", "another account has signed in as alice@example.com"},
	} {
		claims := person(c.email, "sre")
		claims["sub"] = c.sub
		if status, text := p.signIn(at, claims); status != http.StatusForbidden || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}

	// An answer of the provider in another browser is worth nothing.
	answer, err := http.Get(at + "/signin/done?state=x&code=y")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("without a cookie: %d", answer.StatusCode)
	}
}
