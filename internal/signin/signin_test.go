package signin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

func get(t *testing.T, c *http.Client, address string) (string, error) {
	t.Helper()
	response, err := c.Get(address)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// What a server names for signing in is its word: it leads neither into the network of whoever signs in, nor out
// of encryption, nor elsewhere, and it may not answer without end.
func TestClientGoesWhereItMay(t *testing.T) {
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(elsewhere.Close)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", maxAnswer+1))
	}))
	t.Cleanup(web.Close)
	t.Setenv("HTTPS_PROXY", "")
	t.Setenv("https_proxy", "")

	if body, err := get(t, newClient(web.URL), web.URL); err != nil || len(body) != maxAnswer {
		t.Errorf("a server on this machine: %d bytes, %v", len(body), err)
	}
	if _, err := get(t, newClient("https://8.8.8.8/mcp"), web.URL); err == nil || !strings.Contains(err.Error(), "inside of your network") {
		t.Errorf("from outside to the inside: %v", err)
	}
	if _, err := get(t, newClient(web.URL), "http://203.0.113.5/"); err == nil || !strings.Contains(err.Error(), "is not https") {
		t.Errorf("without encryption: %v", err)
	}
	if _, err := get(t, newClient(web.URL), web.URL+"/away"); err == nil || !strings.Contains(err.Error(), "redirects elsewhere") {
		t.Errorf("redirected: %v", err)
	}
}

func TestCallback(t *testing.T) {
	answers := make(chan answer, 1)
	h := callback("right", answers)
	visit := func(method, target string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
		return w
	}
	for _, c := range [][2]string{
		{"GET", "/callback?code=c&state=wrong"}, {"GET", "/callback?code=c"}, {"POST", "/callback?code=c&state=right"}, {"GET", "/?code=c&state=right"},
	} {
		if w := visit(c[0], c[1]); w.Code != http.StatusBadRequest || len(answers) > 0 {
			t.Errorf("%s %s: %d", c[0], c[1], w.Code)
		}
	}
	w := visit("GET", "/callback?error=access_denied&error_description=%3Cb%3Eno&state=right")
	if got := <-answers; got.fault != "access_denied <b>no" || strings.Contains(w.Body.String(), "<b>") {
		t.Errorf("%+v, %s", got, w.Body)
	}
	if visit("GET", "/callback?code=c&iss=i&state=right"); len(answers) != 1 {
		t.Fatal("no answer")
	}
	if w := visit("GET", "/callback?code=other&state=right"); w.Code != http.StatusConflict {
		t.Errorf("a second answer: %d", w.Code)
	}
	if got := <-answers; got.code != "c" || got.issuer != "i" {
		t.Errorf("%+v", got)
	}
}

func TestStore(t *testing.T) {
	dir := t.TempDir()
	a := New(dir, Server{Name: "s", URL: "https://a/"})
	if value, err := a.Authorize(t.Context(), ""); value != "" || err != nil {
		t.Errorf("without a login: %q, %v", value, err)
	}
	unlock, err := a.store.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := New(dir, Server{Name: "s", URL: "https://a/"}).store.lock(short); err == nil {
		t.Error("locked twice")
	}
	if err := a.store.save(&login{URL: "https://a/", Token: &transport.Token{AccessToken: "secret"}}); err != nil {
		t.Fatal(err)
	}
	unlock()
	if value, err := a.Authorize(t.Context(), ""); value != "Bearer secret" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
	if _, err := a.Authorize(t.Context(), "Bearer secret"); err == nil || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("refused, and not to be refreshed: %v", err)
	}
	if value, err := New(dir, Server{Name: "s", URL: "https://b/"}).Authorize(t.Context(), ""); value != "" || err != nil {
		t.Errorf("another address: %q, %v", value, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "logins", "s.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir, Server{Name: "s", URL: "https://a/"}).store.GetToken(t.Context()); err == nil || errors.Is(err, transport.ErrNoToken) {
		t.Errorf("a damaged file: %v", err)
	}
}

// A server that names another place to sign in than before does not get what the first one gave: neither the refresh
// token nor the client's secret.
func TestRefreshGoesWhereTheLoginCameFrom(t *testing.T) {
	var sent []string // form values, by who got them
	issuer := func(name string) *httptest.Server {
		mux := http.NewServeMux()
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"issuer":%q,"authorization_endpoint":%q,"token_endpoint":%q}`, s.URL, s.URL+"/authorize", s.URL+"/token")
		})
		mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
			sent = append(sent, name+" "+r.FormValue("refresh_token"))
			_, _ = io.WriteString(w, `{"access_token":"fresh","token_type":"Bearer","refresh_token":"next","expires_in":3600}`)
		})
		return s
	}
	right, thief := issuer("right"), issuer("thief")
	named := right
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"resource":"http://%s/mcp","authorization_servers":[%q]}`, r.Host, named.URL)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)

	a := New(t.TempDir(), Server{Name: "s", URL: server.URL + "/mcp"})
	expired := login{URL: server.URL + "/mcp", ClientID: "c", ClientSecret: "s", Issued: right.URL + "/token", Token: &transport.Token{AccessToken: "old", RefreshToken: "first", ExpiresAt: time.Now().Add(-time.Hour)}}
	keep := func(l login) {
		t.Helper()
		unlock, err := a.store.lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		if err := a.store.save(&l); err != nil {
			t.Fatal(err)
		}
	}
	keep(expired)
	named = thief
	if value, err := a.Authorize(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "sign in again") || len(sent) > 0 {
		t.Errorf("another place: %q, %v, sent %q", value, err, sent)
	}
	named = right
	if value, err := a.Authorize(t.Context(), ""); value != "Bearer fresh" || err != nil || !slices.Equal(sent, []string{"right first"}) {
		t.Errorf("the same place: %q, %v, sent %q", value, err, sent)
	}
	sent, expired.Issued = nil, ""
	keep(expired)
	if value, err := a.Authorize(t.Context(), ""); err == nil || len(sent) > 0 {
		t.Errorf("a place that is not known: %q, %v, sent %q", value, err, sent)
	}
}
