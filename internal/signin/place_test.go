package signin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

// place is an MCP server that is its own authorization server. Tests bend what it publishes and says.
type place struct {
	*httptest.Server

	mu        sync.Mutex
	resource  map[string]any // the MCP server's document; nil for none
	authority map[string]any // the authorization server's document; nil for none
	challenge string
	redirect  url.Values // extra parameters in the browser's answer, besides code and state
	refuse    string     // the error with which it refuses tokens; "" for none
	life      int        // lifetime of tokens, in seconds
	refresh   string     // the refresh token that it gives; "" for none

	good     map[string]bool // valid tokens
	issued   int
	asked    []url.Values // requests to the authorization endpoint
	requests []url.Values // requests to the token endpoint, with the Authorization header as "basic"
	clients  []map[string]any
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{life: 3600, refresh: "r", good: map[string]bool{}, redirect: url.Values{}}
	mux := http.NewServeMux()
	document := func(path string, of func() map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if of() == nil {
				http.NotFound(w, r)
				return
			}
			reply(t, w, http.StatusOK, of())
		})
	}
	document("/.well-known/oauth-protected-resource/mcp", func() map[string]any { return p.resource })
	document("/.well-known/oauth-authorization-server", func() map[string]any { return p.authority })
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.good[r.Header.Get("Authorization")] {
			w.Header().Set("WWW-Authenticate", p.challenge)
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var wish map[string]any
		if err := json.NewDecoder(r.Body).Decode(&wish); err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.clients = append(p.clients, wish)
		reply(t, w, http.StatusCreated, map[string]any{"client_id": "registered", "client_secret": "hush", "token_endpoint_auth_method": wish["token_endpoint_auth_method"]})
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		q := r.URL.Query()
		p.asked = append(p.asked, q)
		back := url.Values{"code": {"c"}, "state": {q.Get("state")}}
		maps.Copy(back, p.redirect)
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		form := r.PostForm
		if user, secret, ok := r.BasicAuth(); ok {
			form.Set("basic", user+":"+secret)
		}
		p.requests = append(p.requests, form)
		if p.refuse != "" {
			reply(t, w, http.StatusBadRequest, map[string]any{"error": p.refuse})
			return
		}
		p.issued++
		token := fmt.Sprintf("t%d", p.issued)
		p.good["Bearer "+token] = true
		answer := map[string]any{"access_token": token, "token_type": "bearer", "expires_in": p.life}
		if p.refresh != "" {
			answer["refresh_token"] = p.refresh
		}
		reply(t, w, http.StatusOK, answer)
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	p.resource = map[string]any{"resource": p.URL + "/mcp", "authorization_servers": []string{p.URL}}
	p.authority = map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "registration_endpoint": p.URL + "/register",
		"code_challenge_methods_supported": []string{"S256"},
	}
	p.challenge = fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, p.URL)
	return p
}

func reply(t *testing.T, w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		t.Error(err)
	}
}

// account returns callgate's account at the place.
func (p *place) account(dir string, s Server) *Account {
	s.Name, s.URL = "s", p.URL+"/mcp"
	return New(dir, s)
}

// last returns the last request to the token endpoint.
func (p *place) last() url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.requests) == 0 {
		return url.Values{}
	}
	return p.requests[len(p.requests)-1]
}

// bend changes the place under its lock.
func (p *place) bend(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// signIn has a person sign in who agrees to everything.
func signIn(t *testing.T, a *Account) error {
	t.Helper()
	return a.SignIn(t.Context(), 0, func(address string) error {
		go func() {
			response, err := http.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
		}()
		return nil
	})
}
