package endpoint

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// issuer returns an authorization server as callgate sees one: metadata and keys.
func issuer(t *testing.T) (url string, sign func(claims map[string]any) string) {
	url, sign, _ = countedIssuer(t)
	return url, sign
}

// countedIssuer also counts how often the keys are requested.
func countedIssuer(t *testing.T) (url string, sign func(claims map[string]any) string, asked *atomic.Int32) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	reply := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"issuer": server.URL, "jwks_uri": server.URL + "/keys"})
	})
	asked = new(atomic.Int32)
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		reply(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	})
	return server.URL, func(claims map[string]any) string {
		options := &jose.SignerOptions{}
		if typ, ok := claims["typ in the header"].(string); ok {
			claims = maps.Clone(claims)
			delete(claims, "typ in the header")
			options.WithType(jose.ContentType(typ))
		}
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, options)
		if err != nil {
			t.Fatal(err)
		}
		text, ok := claims["as text"].([]byte)
		if !ok {
			text, err = json.Marshal(claims)
		}
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
	}, asked
}

// Made-up tokens do not make callgate ask the issuer for its keys each time, and keep nobody out.
func TestMadeUpTokensSpareTheIssuer(t *testing.T) {
	iss, sign, asked := countedIssuer(t)
	const audience = "https://tools.example.com:7778/mcp"
	door, err := NewOAuth(t.Context(), OAuthConfig{Issuer: iss, Audience: audience})
	if err != nil {
		t.Fatal(err)
	}
	good := sign(map[string]any{"iss": iss, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()})
	parts := strings.Split(good, ".")
	admit := func(token string) error {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		_, err := door.Admit(r)
		return err
	}
	for i := range 50 {
		header := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"ES256","kid":"made-up-%d"}`, i))
		if admit(header+"."+parts[1]+"."+parts[2]) == nil {
			t.Fatal("a made-up token is let in")
		}
	}
	if err := admit(good); err != nil {
		t.Error(err)
	}
	if n := asked.Load(); n > 2 { // a slow machine may need more than the time of one answer
		t.Errorf("the issuer was asked %d times", n)
	}
}

// Tenants can be in any claim, even one that callgate reads anyway.
func TestOAuthReadsTenants(t *testing.T) {
	iss, sign := issuer(t)
	token := sign(map[string]any{"iss": iss, "aud": "mcp", "sub": "acme", "exp": time.Now().Add(time.Hour).Unix(), "scope": "tools", "org": []string{"a", "b"}})
	for claim, want := range map[string][]string{"": nil, "org": {"a", "b"}, "sub": {"acme"}, "scope": {"tools"}, "none": nil} {
		got, err := readClaims(token, claim, time.Now())
		if err != nil || !slices.Equal(got.tenants, want) {
			t.Errorf("%q: %q, %v", claim, got.tenants, err)
		}
	}
}

// Each token except the first is refused: one of its claims is wrong, or nobody signed it.
func TestOAuthAdmits(t *testing.T) {
	iss, sign := issuer(t)
	const audience = "https://tools.example.com:7778/mcp"
	good := map[string]any{"iss": iss, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "scope": "a tools"}
	with := func(claim string, value any) string {
		claims := maps.Clone(good)
		if claims[claim] = value; value == nil {
			delete(claims, claim)
		}
		return sign(claims)
	}
	// spelled returns the good token with members before and after its own.
	spelled := func(before, after string) string {
		text, err := json.Marshal(good)
		if err != nil {
			t.Fatal(err)
		}
		return sign(map[string]any{"as text": []byte("{" + before + strings.TrimSuffix(string(text[1:]), "}") + after + "}")})
	}
	unsigned := strings.Split(sign(good), ".")
	for _, config := range []OAuthConfig{
		{Issuer: iss, Audience: audience, Scope: "tools"},
		{Issuer: iss, Audience: audience, Scope: "tools", JWKS: iss + "/keys"},
	} {
		door, err := NewOAuth(context.Background(), config)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			token string
			in    bool
		}{
			"good":                 {sign(good), true},
			"several":              {with("aud", []string{"other", audience}), true},
			"other audience":       {with("aud", "https://other.example.com"), false},
			"no audience":          {with("aud", nil), false},
			"other issuer":         {with("iss", "https://other.example.com"), false},
			"expired":              {with("exp", time.Now().Add(-time.Hour).Unix()), false},
			"no end":               {with("exp", nil), false},
			"bound to a key":       {with("cnf", map[string]any{"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}), false},
			"bound to a cert":      {with("cnf", map[string]any{"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}), false},
			"not yet":              {with("nbf", time.Now().Add(time.Hour).Unix()), false},
			"no subject":           {with("sub", nil), false},
			"no scope":             {with("scope", "toolset"), false},
			"AUD beside aud":       {spelled(`"AUD":"https://other.example.com",`, ""), false},
			"AUD for aud":          {spelled("", `,"AUD":"`+audience+`","aud":"https://other.example.com"`), false},
			"AUD alone":            {sign(map[string]any{"iss": iss, "AUD": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "scope": "tools"}), false},
			"aud twice":            {spelled(`"aud":"https://other.example.com",`, ""), false},
			"Sub beside sub":       {spelled(`"Sub":"mallory",`, ""), false},
			"Sub alone":            {sign(map[string]any{"iss": iss, "aud": audience, "Sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "scope": "tools"}), false},
			"long s":               {spelled("", `,"\u017fub":"mallory"`), false},
			"long s in scope":      {spelled(`"\u017fcope":"tools",`, ""), false},
			"ISS beside iss":       {spelled("", `,"ISS":"https://other.example.com"`), false},
			"EXP beside exp":       {spelled("", `,"EXP":1`), false},
			"a claim inside twice": {spelled("", `,"other":{"a":1,"A":2}`), false},
			"exp as text":          {with("exp", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)), false},
			"exp is true":          {with("exp", true), false},
			"exp with a fraction":  {with("exp", float64(time.Now().Add(time.Hour).Unix())+0.5), true},
			"iat as text":          {with("iat", "1"), false},
			"iat in the future":    {with("iat", time.Now().Add(10*time.Minute).Unix()), false},
			"iat a little ahead":   {with("iat", time.Now().Add(10*time.Second).Unix()), true},
			"iat in the past":      {with("iat", time.Now().Add(-time.Hour).Unix()), true},
			"sub is a number":      {with("sub", 7), false},
			"aud of numbers":       {with("aud", []any{audience, 7}), false},
			"aud of null":          {with("aud", []any{audience, nil}), false},
			"an id token":          {with("typ in the header", "id+jwt"), false},
			"a logout token":       {with("typ in the header", "logout+jwt"), false},
			"an access token":      {with("typ in the header", "at+JWT"), true},
			"a plain JWT":          {with("typ in the header", "JWT"), true},
			"its whole name":       {with("typ in the header", "application/at+jwt"), true},
			"scp":                  {sign(map[string]any{"iss": iss, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "scp": []string{"a", "tools"}}), true},
			"scp as text":          {sign(map[string]any{"iss": iss, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "scp": "a tools"}), true},
			"signature gone":       {unsigned[0] + "." + unsigned[1] + ".", false},
			"algorithm none":       {"eyJhbGciOiJub25lIn0." + unsigned[1] + ".", false},
			"not a token":          {"x", false},
			"signed by a name":     {"eyJhbGciOiJIUzI1NiIsImtpZCI6ImsifQ." + unsigned[1] + "." + unsigned[2], false},
		} {
			r := httptest.NewRequest("POST", "/mcp", nil)
			r.Header.Set("Authorization", "Bearer "+c.token)
			who, err := door.Admit(r)
			if (err == nil) != c.in || c.in && who.Principal != Principal(iss+" alice") {
				t.Errorf("%s: %q, %v", name, who.Principal, err)
			}
		}
		r := httptest.NewRequest("POST", "http://callgate.example/mcp/db", nil)
		if got := door.challenge(r, nil); got != `Bearer resource_metadata="http://callgate.example/.well-known/oauth-protected-resource/mcp/db", scope="tools"` {
			t.Errorf("challenge %s", got)
		}
		mux := http.NewServeMux()
		door.routes(mux)
		server := httptest.NewServer(mux)
		response, err := http.Get(server.URL + metadataPath + "/mcp/db")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		server.Close()
		if err != nil {
			t.Fatal(err)
		}
		if got := string(body); !strings.Contains(got, `"resource":"`+audience+`"`) || !strings.Contains(got, `"authorization_servers":["`+iss+`"]`) {
			t.Errorf("metadata %s", got)
		}
	}
	for _, bad := range []OAuthConfig{
		{Issuer: "http://idp.example.com", Audience: audience, JWKS: "https://idp.example.com/keys"},
		{Issuer: "https://idp.example.com", Audience: audience, JWKS: "http://idp.example.com/keys"},
		{Issuer: "https://idp.example.com", Audience: "callgate", JWKS: "https://idp.example.com/keys"},
		{Audience: audience, JWKS: "https://idp.example.com/keys"},
	} {
		if _, err := NewOAuth(context.Background(), bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
