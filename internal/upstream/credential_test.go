package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"callgate/internal/remote"
	"callgate/internal/testserver/waits"
)

// lock lets in requests that have a key, and answers others with the status.
type lock struct {
	key    atomic.Value // the right header
	status int
	needs  string // the method that needs the key; "" means all
}

func (l *lock) guard(t *testing.T, next http.Handler) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if strings.Contains(string(body), l.needs) && r.Header.Get("Authorization") != l.key.Load() {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="more"`)
			http.Error(w, "not so", l.status)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return web.URL
}

func oneTool() http.Handler {
	s := mcpserver.NewMCPServer("real", "1", mcpserver.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("do"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("done"), nil
	})
	return mcpserver.NewStreamableHTTPServer(s)
}

// login is a Login that tests write out. Without await it waits until ctx ends.
type login struct {
	authorize func(context.Context, *remote.Refusal) (string, error)
	await     func(context.Context) error
}

func (l login) Authorize(ctx context.Context, refused *remote.Refusal) (string, error) {
	return l.authorize(ctx, refused)
}

func (l login) Await(ctx context.Context) error {
	if l.await != nil {
		return l.await(ctx)
	}
	<-ctx.Done()
	return ctx.Err()
}

// A server that requires a credential comes up by itself as soon as there is one.
func TestServerComesBackWithItsCredential(t *testing.T) {
	t.Parallel()
	l := &lock{status: http.StatusUnauthorized}
	l.key.Store("Bearer good")
	var have atomic.Value
	have.Store("")
	there := make(chan struct{})
	h := newHost(t)
	u := open(t, Config{
		Name: "locked", URL: l.guard(t, oneTool()), terms: Terms{Era: Legacy, Login: login{authorize: func(_ context.Context, refused *remote.Refusal) (string, error) {
			if refused != nil && (refused.Status != http.StatusUnauthorized || len(refused.Challenge) != 1) {
				t.Errorf("%+v", refused)
			}
			return have.Load().(string), nil
		}, await: func(ctx context.Context) error {
			select {
			case <-there:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}},
	}, Options{Events: h.events()})
	if _, err := u.Ready(short(t)); err == nil || !strings.Contains(err.Error(), `callgate login locked`) {
		t.Fatal(err)
	}
	have.Store("Bearer good")
	close(there)
	h.wait("list tools") // nobody has asked
	if list, _ := u.Lists.Known(Tools); keys(list) != "do" {
		t.Errorf("%s", keys(list))
	}
}

// A temporary failure is no reason to wait for a person: the server is tried again like one that cannot be reached.
func TestCredentialThatIsNotThereNow(t *testing.T) {
	t.Parallel()
	l := &lock{status: http.StatusUnauthorized}
	l.key.Store("Bearer good")
	var asked atomic.Int32
	h := newHost(t)
	u := open(t, Config{
		Name: "locked", URL: l.guard(t, oneTool()), terms: Terms{Era: Legacy, Login: login{authorize: func(context.Context, *remote.Refusal) (string, error) {
			if asked.Add(1) <= 2 {
				return "", &remote.PassingError{Err: errors.New("nobody answers")}
			}
			return "Bearer good", nil
		}, await: func(ctx context.Context) error {
			t.Error("a person is waited for")
			return ctx.Err()
		}}},
	}, Options{Events: h.events()})
	if _, err := u.Ready(short(t)); err == nil || !strings.Contains(err.Error(), "nobody answers") || strings.Contains(err.Error(), "callgate login") {
		t.Error(err)
	}
	h.wait("list tools do")
}

// A list that may not be read, or not yet, harms no other request. It has an error, and is requested again when
// somebody wants it.
func TestListThatIsForbidden(t *testing.T) {
	t.Parallel()
	l := &lock{status: http.StatusForbidden, needs: "tools/list"}
	l.key.Store("Bearer more")
	var have atomic.Value
	have.Store("Bearer some")
	h := newHost(t)
	u := open(t, Config{
		Name: "locked", URL: l.guard(t, oneTool()), terms: Terms{Era: Legacy, Login: login{authorize: func(_ context.Context, refused *remote.Refusal) (string, error) {
			if refused != nil && have.Load() == refused.Credential {
				return "", errors.New("more is wanted")
			}
			return have.Load().(string), nil
		}}},
	}, Options{Events: h.events()})
	h.wait("list tools")
	if err := u.Lists.Error(Tools); err == nil || !strings.Contains(err.Error(), "more is wanted") {
		t.Fatal(err)
	}
	if got := call(t, u, "tools/call", `{"name":"do"}`); !strings.Contains(got, "done") {
		t.Error(got)
	}
	u.Lists.Reread(Tools) // it was just read
	if err := u.Lists.Error(Tools); err == nil {
		t.Error("it is read again at once")
	}
	have.Store("Bearer more")
	for deadline := time.Now().Add(waits.Limit); u.Lists.Error(Tools) != nil; u.Lists.Reread(Tools) {
		if time.Now().After(deadline) {
			t.Fatal("it is not read again")
		}
		time.Sleep(reread / 20)
	}
	h.wait("list tools")
	if list, known := u.Lists.Known(Tools); !known || keys(list) != "do" {
		t.Errorf("%s", keys(list))
	}
}

// A server that could not be reached comes up by itself once it can be: a host cannot ask for what it was never
// offered.
func TestServerThatComesLate(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	h := newHost(t)
	u := open(t, Config{Name: "late", URL: "http://" + address, terms: Terms{Era: Legacy}}, Options{Events: h.events()})
	if _, err := u.Ready(short(t)); err == nil {
		t.Fatal("nobody is there")
	}
	if listener, err = net.Listen("tcp", address); err != nil {
		t.Skipf("somebody else took the address: %v", err)
	}
	web := &httptest.Server{Listener: listener, Config: &http.Server{Handler: oneTool()}} //nolint:gosec // loopback, for this test
	web.Start()
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	h.wait("list tools do")
}
