package signin

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"callgate/internal/remote"
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

// The URLs that a server names for signing in cannot be trusted: they must not lead into the user's network, to
// unencrypted connections or elsewhere, and their answers are limited.
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
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128") // not used for addresses on this machine

	newClient := func(server string) *http.Client { return newClient(server, http.ProxyFromEnvironment) }

	if body, err := get(t, newClient(web.URL), web.URL); err != nil || len(body) != maxAnswer {
		t.Errorf("a server on this machine: %d bytes, %v", len(body), err)
	}
	if _, err := get(t, newClient("https://8.8.8.8/mcp"), web.URL); err == nil || !strings.Contains(err.Error(), "inside your network") {
		t.Errorf("from outside to the inside: %v", err)
	}
	if _, err := get(t, newClient(web.URL), "http://203.0.113.5/"); err == nil || !strings.Contains(err.Error(), "is not https") {
		t.Errorf("without encryption: %v", err)
	}
	if _, err := get(t, newClient(web.URL), web.URL+"/away"); err == nil || !strings.Contains(err.Error(), "redirects elsewhere") {
		t.Errorf("redirected: %v", err)
	}
}

// A proxy may be in the private network, and decides what can be reached through it.
func TestClientUsesProxies(t *testing.T) {
	asked := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	to, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := get(t, newClient("https://8.8.8.8/mcp", http.ProxyURL(to)), "https://10.0.0.1/token"); err == nil || len(asked) != 1 || <-asked != "CONNECT 10.0.0.1:443" {
		t.Errorf("the proxy was not asked: %v", err)
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
	if value, err := a.Authorize(t.Context(), nil); value != "" || err != nil {
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
	if err := a.store.save(&login{URL: "https://a/", Token: &oauth2.Token{AccessToken: "secret"}}); err != nil {
		t.Fatal(err)
	}
	unlock()
	if value, err := a.Authorize(t.Context(), nil); value != "Bearer secret" || err != nil {
		t.Errorf("%q, %v", value, err)
	}
	if _, err := a.Authorize(t.Context(), &remote.Refusal{Credential: "Bearer secret", Status: http.StatusUnauthorized}); err == nil || !strings.Contains(err.Error(), "has expired") {
		t.Errorf("refused, and not to be refreshed: %v", err)
	}
	if value, err := New(dir, Server{Name: "s", URL: "https://b/"}).Authorize(t.Context(), nil); value != "" || err != nil {
		t.Errorf("another address: %q, %v", value, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "logins", "s.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(dir, Server{Name: "s", URL: "https://a/"}).Authorize(t.Context(), nil); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a damaged file: %v", err)
	}
}

// A person who logs out during a renewal is not signed in again by it.
func TestForgetWaits(t *testing.T) {
	dir := t.TempDir()
	a := New(dir, Server{Name: "s", URL: "https://a/"})
	unlock, err := a.store.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forgotten := make(chan error, 1)
	go func() {
		_, err := Forget(t.Context(), dir, "s")
		forgotten <- err
	}()
	select {
	case err := <-forgotten:
		t.Errorf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := a.store.save(&login{URL: "https://a/", Token: &oauth2.Token{AccessToken: "renewed"}}); err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := <-forgotten; err != nil {
		t.Fatal(err)
	}
	if _, ok := a.SignedIn(); ok {
		t.Error("the login is back")
	}
	if had, err := Forget(t.Context(), dir, "s"); had || err != nil {
		t.Errorf("forgotten twice: %v %v", had, err)
	}
}

// A login replaced by another process is noticed, however soon after the last one.
func TestReplacedLogin(t *testing.T) {
	dir := t.TempDir()
	a, other := New(dir, Server{Name: "s", URL: "https://a/"}), New(dir, Server{Name: "s", URL: "https://a/"})
	unlock, err := other.store.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	at := time.Now()
	for _, token := range []string{"first", "other"} {
		if err := other.store.save(&login{URL: "https://a/", Token: &oauth2.Token{AccessToken: token}}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(other.store.path, at, at); err != nil {
			t.Fatal(err)
		}
		if value, err := a.Authorize(t.Context(), nil); value != "Bearer "+token || err != nil {
			t.Errorf("%q, %v, want %s", value, err, token)
		}
	}
}

// A server's text cannot change how a terminal shows the rest.
func TestExcerpt(t *testing.T) {
	for text, want := range map[string]string{
		"{\n  \"error\": \"x\"\n}\r\n": `{ "error": "x" }`, "a\u202eb\u009b31m\x1b[1mc": "a⟨U+202E⟩b⟨U+009B⟩31m⟨U+001B⟩[1mc",
		strings.Repeat("ß", 400): strings.Repeat("ß", 300) + "…", "": "",
	} {
		if got := excerpt(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
