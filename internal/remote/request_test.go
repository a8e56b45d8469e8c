package remote

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
)

// The headers of one message do not affect the next: neither its credential, nor what the modern era repeats, nor a
// session that has ended.
func TestDraftsAreShared(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		seen = append(seen, strings.Join([]string{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Method"), r.Header.Get("K"), string(body[:1])}, " "))
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/new", http.StatusPermanentRedirect)
		}
		if r.URL.Path == "/lost" {
			http.Redirect(w, r, "/new", http.StatusSeeOther)
		}
	}))
	defer server.Close()
	credential := "a"
	r := &requester{cfg: &Config{Header: http.Header{"K": {"k"}}}, clients: reach(server.URL)}
	defer release(server.URL)
	post := func(path string) {
		t.Helper()
		m, err := rpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		response, err := r.post(context.Background(), server.URL+path, m)
		if err != nil {
			mu.Lock()
			seen = append(seen, errors.Unwrap(err).Error())
			mu.Unlock()
			return
		}
		_ = response.Body.Close()
	}
	post("/")
	r.session = "s1"
	post("/")
	r.cfg.Authorize = func(context.Context, *Refusal) (string, error) { return credential, nil }
	post("/")
	credential = "b"
	post("/")
	r.cfg.Authorize = nil
	post("/")
	r.session = ""
	r.speak("2026-07-28")
	post("/")
	r.speak("2025-11-25")
	post("/moved")
	post("/lost")
	want := []string{
		"/    k {", "/  s1  k {", "/ a s1  k {", "/ b s1  k {", "/  s1  k {", "/   ping k {", "/moved    k {", "/new    k {", "/lost    k {",
		"it redirects in a way that loses the message (301, 302 or 303)",
	}
	if got := strings.Join(seen, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the server saw\n%s", got)
	}
}

// counted counts the contexts that depend on it.
type counted struct {
	context.Context
	n *atomic.Int32
}

func (counted) Value(any) any { return nil }

func (c counted) AfterFunc(f func()) (stop func() bool) {
	c.n.Add(1)
	inner := context.AfterFunc(c.Context, f)
	return func() bool {
		c.n.Add(-1)
		return inner()
	}
}

// An answered request leaves nothing behind in the conversation.
func TestAnsweredRequestsLeaveNothing(t *testing.T) {
	for _, method := range []string{"ping", "server/discover"} {
		e, err := New(Config{URL: serve(t, func(w http.ResponseWriter, r *http.Request) { writeJSON(w, answerTo(read(r), `{}`)) })})
		if err != nil {
			t.Fatal(err)
		}
		var n atomic.Int32
		e.ctx = counted{e.ctx, &n}
		k := &talk{t: t, e: e, conn: rpc.NewConn(nil, e, rpc.Options{}), end: make(chan error, 1)}
		go func() { k.end <- e.Run(k.conn, func(rpc.Message, []byte) {}) }()
		if _, err := k.ask(method); err != nil {
			t.Error(err)
		}
		waits.Until(t, "the request to end", func() bool {
			e.mu.Lock()
			defer e.mu.Unlock()
			return len(e.running) == 0
		})
		if left := n.Load(); left != 0 {
			t.Errorf("%s leaves %d contexts", method, left)
		}
		e.Close()
	}
}
