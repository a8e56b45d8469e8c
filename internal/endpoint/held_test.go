package endpoint

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/proxy"
)

// outOfReach is a Replicas where the request ends before it arrives.
type outOfReach struct {
	Replicas
	end func()
}

func (o outOfReach) DialHosts(context.Context, string, string) (net.Conn, error) {
	o.end()
	return nil, errors.New("nobody is there")
}

// A host that is expelled while its request is passed on is told so, instead of getting an empty success.
func TestExpelledWhileARequestIsPassedOn(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	w := httptest.NewRecorder()
	newRelay(outOfReach{end: end}, slog.New(slog.DiscardHandler)).passOn(visit{w: w, r: httptest.NewRequestWithContext(ctx, "POST", "/mcp", nil)}, "other", "1", home{request: []byte("1")})
	if w.Code != http.StatusUnauthorized {
		t.Errorf("answered %d %s", w.Code, w.Body)
	}
}

// leaving is a session's peer that records how it ends.
type leaving struct {
	proxy.Peer
	mu  sync.Mutex
	how []string
}

func (l *leaving) note(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.how = append(l.how, what)
}

func (l *leaving) Expelled() { l.note("expelled") }
func (l *leaving) Close()    { l.note("closed") }

func (l *leaving) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.how, " ")
}

// emptyRooms records whose stateless sessions end.
type emptyRooms struct {
	Rooms
	expelled func(who string)
}

func (r emptyRooms) Expel(known func(tenant, who string) bool) func() {
	for _, who := range []string{"laptop", "desk"} {
		if !known("", who) {
			r.expelled(who)
		}
	}
	return func() {}
}

// What the holder of a token has open ends when the token is replaced or removed, and no sooner. A waiting call of
// theirs must not run even before that.
func TestAReplacedTokenEndsWhatItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secrets := map[Principal]string{"laptop": "first", "desk": "second"}
		var mu sync.Mutex
		read := func(name Principal) func() (string, error) {
			return func() (string, error) {
				mu.Lock()
				defer mu.Unlock()
				if secrets[name] == "" {
					return "", errors.New("no such file")
				}
				return secrets[name], nil
			}
		}
		change := func(name Principal, to string) {
			mu.Lock()
			defer mu.Unlock()
			secrets[name] = to
		}
		door := NewTokens(Token{Name: "laptop", Secret: read("laptop")}, Token{Name: "desk", Secret: read("desk")})
		var ended, replaced, stateless string
		note := func(to *string, name string) {
			mu.Lock()
			defer mu.Unlock()
			*to += name + " "
		}
		noted := func() string {
			mu.Lock()
			defer mu.Unlock()
			return ended + "| " + replaced + "| " + stateless
		}
		s := &Server{log: slog.New(slog.DiscardHandler), o: Options{
			Rooms:    emptyRooms{expelled: func(who string) { note(&stateless, who) }},
			Replaced: func(name string, gone bool) { note(&replaced, name) },
		}}
		s.ctx, s.stop = context.WithCancel(t.Context())
		s.open.sessions = map[string]*Session{}
		s.set.Store(&settings{Settings: Settings{Door: door}})
		s.evictions = evictions{s, door.secrets()}
		began := map[string]*Session{}
		for name, secret := range secrets {
			r := httptest.NewRequest("POST", "/mcp", nil)
			r.Header.Set("Authorization", "Bearer "+secret)
			who, err := door.Admit(r)
			if err != nil {
				t.Fatal(err)
			}
			h := &held{who: who, end: sync.OnceFunc(func() { note(&ended, string(name)) })}
			s.open.hold(h)
			session := newSession(s.ctx, visit{who: who, room: &Room{}}, func() {})
			session.peer, session.door = &leaving{}, func() Door { return door }
			if err := s.open.register(session, h); err != nil {
				t.Fatal(err)
			}
			began[string(name)] = session
		}
		s.wg.Go(s.evictions.recheck)
		time.Sleep(3 * fresh)
		synctest.Wait()
		if got := noted(); got != "| | " || began["laptop"].Admitted() != nil {
			t.Errorf("ended while nothing has changed: %s", got)
		}
		change("laptop", "third")
		if began["laptop"].Admitted() == nil || began["desk"].Admitted() != nil {
			t.Error("a call of the old token may run")
		}
		time.Sleep(2 * fresh)
		synctest.Wait()
		if how := began["laptop"].peer.(*leaving).all(); how != "expelled closed" || noted() != "laptop | laptop | laptop " {
			t.Errorf("replaced: %q, %s", how, noted())
		}
		change("desk", "")
		time.Sleep(2 * fresh)
		synctest.Wait()
		if how := began["desk"].peer.(*leaving).all(); how != "expelled closed" || noted() != "laptop desk | laptop desk | laptop desk " {
			t.Errorf("taken away: %q, %s", how, noted())
		}
		s.stop()
		s.wg.Wait()
	})
}

// When an issuer's token has expired, what listens with it ends and its waiting calls may not run, unless its session
// has seen the next token meanwhile. Its requests are still answered.
func TestAnExpiredTokenEndsWhatListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := &OAuth{o: OAuthConfig{Issuer: "https://issuer.example"}}
		alice := func(until time.Duration) Guest {
			return Guest{Principal: "https://issuer.example alice", until: time.Now().Add(until)}
		}
		s := &Server{log: slog.New(slog.DiscardHandler), o: Options{Rooms: emptyRooms{expelled: func(string) {}}}}
		s.ctx, s.stop = context.WithCancel(t.Context())
		s.open.sessions = map[string]*Session{}
		s.set.Store(&settings{Settings: Settings{Door: door}})
		s.evictions = evictions{server: s}
		var line, answer, old atomic.Bool // true if ended
		hold := func(ended *atomic.Bool) *held {
			h := &held{who: alice(time.Minute), end: func() { ended.Store(true) }}
			s.open.hold(h)
			return h
		}
		begin := func(h *held) *Session {
			session := newSession(s.ctx, visit{who: h.who, room: &Room{}}, func() {})
			session.peer, session.door = &leaving{}, func() Door { return door }
			if err := s.open.register(session, h); err != nil {
				t.Fatal(err)
			}
			return session
		}
		session, single := begin(hold(&answer)), hold(&old)
		s.open.follow(hold(&line), nil)
		oldSession := begin(single)
		s.open.follow(single, oldSession.lasts)
		if _, err := oldSession.begin([]byte("1"), false, func() {}); err != nil {
			t.Fatal(err)
		}
		sleep := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		s.wg.Go(s.evictions.recheck)
		sleep(50 * time.Second)
		if line.Load() || answer.Load() || old.Load() || session.Admitted() != nil {
			t.Error("ended before the token has")
		}
		sleep(12 * time.Second)
		if !line.Load() || session.Admitted() == nil || oldSession.Admitted() == nil {
			t.Errorf("goes on after the token has expired: %t", line.Load())
		}
		if answer.Load() || old.Load() {
			t.Errorf("a call that runs is cut off: %t, of HTTP+SSE: %t", answer.Load(), old.Load())
		}
		if s.open.find(session.id, visit{who: alice(time.Minute), room: session.room}) != session || session.Admitted() != nil {
			t.Error("its host cannot go on with the next token")
		}
		oldSession.renew(alice(time.Minute))
		if err := oldSession.Respond([]byte("1"), []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
		if sleep(2 * time.Second); old.Load() {
			t.Error("HTTP+SSE ends although its host came with the next token")
		}
		if sleep(time.Minute); !old.Load() || answer.Load() {
			t.Errorf("in the end: HTTP+SSE %t, a request that is answered %t", old.Load(), answer.Load())
		}
		s.evictions.expel(&OAuth{o: OAuthConfig{Issuer: "https://other.example"}})
		if !answer.Load() {
			t.Error("a request goes on whose host nobody knows")
		}
		s.stop()
		s.wg.Wait()
	})
}

// A valid token that grants too little is told apart from a bad one.
func TestTooNarrowAScope(t *testing.T) {
	iss, sign := issuer(t)
	const audience = "https://tools.example.com:7778/mcp"
	door, err := NewOAuth(t.Context(), OAuthConfig{Issuer: iss, Audience: audience, Scope: "tools"})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{log: slog.New(slog.DiscardHandler), refusals: refusals{log: slog.New(slog.DiscardHandler), by: map[string]*refusal{}}}
	s.set.Store(&settings{Settings: Settings{Door: door}})
	claims := map[string]any{"iss": iss, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "scope": "other"}
	for token, want := range map[string]struct {
		status           int
		challenge, notIn string
	}{
		sign(claims): {http.StatusForbidden, `error="insufficient_scope", scope="tools"`, "invalid_token"},
		"x":          {http.StatusUnauthorized, `error="invalid_token"`, "insufficient_scope"},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		s.known(func(visit) { t.Error("let in") })(w, r)
		if got := w.Header().Get("WWW-Authenticate"); w.Code != want.status || !strings.Contains(got, want.challenge) || strings.Contains(got, want.notIn) {
			t.Errorf("%d %s", w.Code, got)
		}
	}
	delete(claims, "exp")
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("Authorization", "Bearer "+sign(claims))
	if _, err := door.Admit(r); err == nil || !strings.Contains(err.Error(), "does not say when it expires") {
		t.Errorf("without an end: %v", err)
	}
}

// A probe, which needs no credential, learns that nothing can run here, but no details.
func TestReadySaysWhyNot(t *testing.T) {
	s := &Server{o: Options{Ready: func() error { return errors.New("dial tcp: lookup nats.internal") }}}
	server := httptest.NewServer(http.HandlerFunc(s.ready))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || string(body) != `{"reasons":["nothing can run here now; callgate's log says why"]}` {
		t.Errorf("%d %s, %v", response.StatusCode, body, err)
	}
}
