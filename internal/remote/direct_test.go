package remote

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/testserver/waits"
)

// directly posts body to the address and returns the answer.
func directly(ctx context.Context, c *http.Client, address, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, newSentBody([]byte(body)))
	if err != nil {
		return "", err
	}
	r.ContentLength = int64(len(body))
	r.GetBody = func() (io.ReadCloser, error) { return newSentBody([]byte(body)), nil }
	r.Header.Set("Content-Type", "application/json")
	response, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return string(answer), err
}

// echoes returns a server that sends back what it got, in the way that the path names.
func echoes(conns *atomic.Int32) *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(body)
			_ = z.Close()
		case "/chunks":
			for _, b := range body {
				_, _ = w.Write([]byte{b})
				w.(http.Flusher).Flush()
			}
		case "/hints":
			w.WriteHeader(http.StatusEarlyHints)
			_, _ = w.Write(body)
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 300<<10))
		case "/moved":
			http.Redirect(w, r, "/plain", http.StatusTemporaryRedirect)
		default:
			_, _ = w.Write(body)
		}
	}))
	s.Config.ConnState = func(_ net.Conn, to http.ConnState) {
		if to == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	return s
}

func TestDirect(t *testing.T) {
	var conns atomic.Int32
	s := echoes(&conns)
	defer s.Close()
	c := newClient(s.URL, 0)
	defer c.CloseIdleConnections()
	for range 3 {
		for _, path := range []string{"/plain", "/gzip", "/chunks", "/hints", "/moved"} {
			for _, body := range []string{"{}", strings.Repeat("x", 5000), strings.Repeat("y", 20000)} {
				if path == "/chunks" {
					body = body[:min(len(body), 500)]
				}
				if got, err := directly(t.Context(), c, s.URL+path+"?a=b", body); err != nil || got != body {
					t.Fatalf("%s with %d bytes: %d bytes, %v", path, len(body), len(got), err)
				}
			}
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for requests one after another", n)
	}
	if _, err := directly(t.Context(), c, s.URL+"/header", "{}"); err == nil {
		t.Error("a header without end was read")
	}
	if got, err := directly(t.Context(), c, s.URL+"/plain", strings.Repeat("z", longest+1)); err != nil || len(got) != longest+1 {
		t.Errorf("a message that is too long for one piece: %d bytes, %v", len(got), err)
	}
	for _, address := range []string{s.URL, strings.Replace(s.URL, "127.0.0.1", "nobody@127.0.0.1", 1)} {
		if got, err := directly(t.Context(), c, address, "{}"); err != nil || got != "{}" {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}

// TestDirectNoticesClosed: a connection that the server has closed is not used again.
func TestDirectNoticesClosed(t *testing.T) {
	var conns atomic.Int32
	s := echoes(&conns)
	defer s.Close()
	c := newClient(s.URL, 0)
	d := c.Transport.(*direct)
	for range 5 {
		if got, err := directly(t.Context(), c, s.URL, "{}"); err != nil || got != "{}" {
			t.Fatalf("%q, %v", got, err)
		}
		d.mu.Lock()
		idle := d.idle[0]
		d.mu.Unlock()
		s.CloseClientConnections()
		waits.Until(t, "the end of the connection arrives", func() bool { return !quiet(idle.conn) })
	}
	if n := conns.Load(); n != 5 {
		t.Errorf("%d connections", n)
	}
}

// TestDirectNeverSendsTwice: a server that read the request and closed the connection may have run it.
func TestDirectNeverSendsTwice(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var requests atomic.Int32
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for answered := false; ; answered = true {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					requests.Add(1)
					if answered { // the second is read and not answered
						return
					}
					fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
				}
			}()
		}
	}()
	c := newClient("http://"+l.Addr().String(), 0)
	if got, err := directly(t.Context(), c, "http://"+l.Addr().String(), "{}"); err != nil || got != "{}" {
		t.Fatalf("%q, %v", got, err)
	}
	if got, err := directly(t.Context(), c, "http://"+l.Addr().String(), "{}"); err == nil {
		t.Errorf("an answer from nowhere: %q", got)
	}
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// TestDirectHearsRefusal: a server may answer before it has read everything, and close the connection.
func TestDirectHearsRefusal(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		fmt.Fprint(w, "too much")
	}))
	defer s.Close()
	c := newClient(s.URL, 0)
	for range 20 {
		if got, err := directly(t.Context(), c, s.URL, strings.Repeat("x", 1000)); err != nil || got != "too much" {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

// TestDirectEnds checks that requests end with the context, before the header and within the body.
func TestDirectEnds(t *testing.T) {
	for _, begins := range []bool{false, true} {
		got := make(chan struct{}, 1)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if begins {
				fmt.Fprint(w, "a")
				w.(http.Flusher).Flush()
			}
			got <- struct{}{}
			<-r.Context().Done()
		}))
		c := newClient(s.URL, 0)
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("nobody waits")
		go func() { <-got; cancel(why) }()
		if _, err := directly(ctx, c, s.URL, "{}"); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
			t.Errorf("the answer had begun: %t: %v", begins, err)
		}
		s.Close() // waits until the server sees the end of the connection
	}
}

// TestDirectStreams: a stream is read on its reader's goroutine, and ends with the context.
func TestDirectStreams(t *testing.T) {
	seen := make(chan *http.Request, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Clone(context.Background())
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer s.Close()
	r := &requester{cfg: &Config{}, clients: reach(s.URL), session: "s1"}
	defer release(s.URL)
	ctx, cancel := context.WithCancelCause(t.Context())
	response, err := r.get(ctx, s.URL+"/mcp?a=b", position{last: "7"})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, ok := response.Body.(*answerBody); !ok {
		t.Errorf("it came through net/http: %T", response.Body)
	}
	got := <-seen
	if line := got.Method + " " + got.RequestURI + " " + got.Header.Get("Last-Event-ID") + " " + got.Header.Get("Mcp-Session-Id"); line != "GET /mcp?a=b 7 s1" || got.Header["Content-Length"] != nil || got.ContentLength != 0 {
		t.Errorf("asked for with %q, %v", line, got.Header)
	}
	text := make([]byte, 9)
	if _, err := io.ReadFull(response.Body, text); err != nil || string(text) != "data: 1\n\n" {
		t.Fatalf("%q, %v", text, err)
	}
	why := errors.New("nobody listens")
	go cancel(why)
	if n, err := response.Body.Read(text); n > 0 || !errors.Is(err, why) {
		t.Errorf("%q, %v", text[:n], err)
	}
}

// TestDirectLetsGo checks that idle connections are closed.
func TestDirectLetsGo(t *testing.T) {
	var conns atomic.Int32
	s := echoes(&conns)
	defer s.Close()
	c := newClient(s.URL, 0)
	d := c.Transport.(*direct)
	d.unused = 10 * time.Millisecond
	if _, err := directly(t.Context(), c, s.URL, "{}"); err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "the connection is closed", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.idle) == 0
	})
}
