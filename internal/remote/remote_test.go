package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/budget"
	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
)

const patienceOfTests = waits.Limit

// talk is a conversation with a scripted server.
type talk struct {
	t    *testing.T
	e    *Endpoint
	conn *rpc.Conn
	got  chan rpc.Message // everything except answers
	end  chan error       // what Run returned
}

func begin(t *testing.T, cfg Config, handle Handler) *talk {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	k := &talk{t: t, e: e, got: make(chan rpc.Message, 10_000), end: make(chan error, 1)}
	k.conn = rpc.NewConn(nil, e, rpc.Options{})
	if handle == nil {
		handle = func(m rpc.Message, of []byte) {
			m.Raw = append(append([]byte{}, of...), m.Raw...) // for tests that check the stream it came on
			k.got <- m
		}
	}
	go func() { k.end <- e.Run(k.conn, handle) }()
	t.Cleanup(e.Close)
	return k
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return web.URL
}

func (k *talk) ask(method string) (rpc.Message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patienceOfTests)
	defer cancel()
	return k.conn.Request(ctx, method, nil)
}

func (k *talk) over() error {
	k.t.Helper()
	select {
	case err := <-k.end:
		k.end <- err
		return err
	case <-time.After(patienceOfTests):
		k.t.Fatal("the conversation goes on")
		return nil
	}
}

// message is what the server got.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func read(r *http.Request) (m message) {
	_ = json.NewDecoder(r.Body).Decode(&m) // a GET has none
	return m
}

func answerTo(m message, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func writeJSON(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

func TestSession(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	opened := make(chan struct{})
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		m := read(r)
		mu.Lock()
		seen = append(seen, fmt.Sprintf("%s %s session=%s version=%s key=%s", r.Method, m.Method, r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version"), r.Header.Get("X-Key")))
		mu.Unlock()
		switch {
		case r.Method == http.MethodGet:
			stream(w, ": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"a/b\"}\n\n")
			close(opened)
			<-r.Context().Done()
		case m.Method == "initialize":
			w.Header().Set("Mcp-Session-Id", "s-1")
			writeJSON(w, "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": "+string(m.ID)+",\n  \"result\": {\"n\": 1.0}\n}\n")
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			writeJSON(w, answerTo(m, "{}"))
		}
	})
	k := begin(t, Config{URL: address, Header: http.Header{"X-Key": {"k"}}}, nil)
	m, err := k.ask("initialize")
	if err != nil || string(m.Result) != `{"n": 1.0}` {
		t.Fatalf("%s, %v", m.Result, err)
	}
	k.e.Speak("2025-11-25")
	if err := k.conn.Write(rpc.Request(nil, "notifications/initialized", nil)); err != nil {
		t.Fatal(err)
	}
	<-opened
	if m := <-k.got; m.Method != "a/b" {
		t.Errorf("%s", m.Raw)
	}
	if _, err := k.ask("tools/list"); err != nil {
		t.Fatal(err)
	}
	k.e.Close()
	if err := k.over(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		"POST initialize session= version= key=k",
		"POST notifications/initialized session=s-1 version=2025-11-25 key=k",
		"GET  session=s-1 version=2025-11-25 key=k",
		"POST tools/list session=s-1 version=2025-11-25 key=k",
		"DELETE  session=s-1 version=2025-11-25 key=k",
	}
	if got := strings.Join(seen, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the server saw\n%s", got)
	}
}

// initialized begins a session with a server. handler answers all other requests.
func initialized(t *testing.T, cfg Config, handler http.HandlerFunc) *talk {
	t.Helper()
	cfg.URL = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			if strings.Contains(string(body), `"initialize"`) {
				var m message
				_ = json.Unmarshal(body, &m)
				w.Header().Set("Mcp-Session-Id", "s-1")
				writeJSON(w, answerTo(m, "{}"))
				return
			}
		}
		handler(w, r)
	})
	k := begin(t, cfg, nil)
	if _, err := k.ask("initialize"); err != nil {
		t.Fatal(err)
	}
	k.e.Speak("2025-11-25")
	return k
}

func TestLostSession(t *testing.T) {
	for name, refuse := range map[string]http.HandlerFunc{
		"404": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusNotFound) },
		"400": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := initialized(t, Config{}, refuse)
			if _, err := k.ask("tools/call"); !errors.Is(err, ErrNotRun) {
				t.Errorf("the request: %v", err)
			}
			if err := k.over(); !errors.Is(err, ErrSessionLost) {
				t.Errorf("the conversation: %v", err)
			}
			if _, err := k.ask("tools/call"); !errors.Is(err, rpc.ErrClosed) {
				t.Errorf("after it: %v", err)
			}
		})
	}
}

func TestStreamIsTakenUpAgain(t *testing.T) {
	var id atomic.Pointer[string]
	var resumed atomic.Int32
	k := initialized(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			m := read(r)
			text := string(m.ID)
			id.Store(&text)
			stream(w, "retry: 5\nid: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\n")
			return
		}
		if r.Method != http.MethodGet {
			return
		}
		switch resumed.Add(1) {
		case 1:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		case 2:
			if r.Header.Get("Last-Event-ID") != "e1" {
				t.Errorf("after %q", r.Header.Get("Last-Event-ID"))
			}
			stream(w, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"two\"}\n\nid: e3\ndata: {\"cut\":")
		default:
			if r.Header.Get("Last-Event-ID") != "e2" { // the event that was cut off comes again
				t.Errorf("after %q", r.Header.Get("Last-Event-ID"))
			}
			stream(w, "id: e4\ndata: "+answerTo(message{ID: json.RawMessage(*id.Load())}, `{"done":true}`)+"\n\n")
		}
	})
	m, err := k.ask("tools/call")
	if err != nil || string(m.Result) != `{"done":true}` {
		t.Fatalf("%s, %v", m.Result, err)
	}
	for _, want := range []string{"one", "two"} {
		if m := <-k.got; m.Method != want {
			t.Errorf("%s, want %s", m.Raw, want)
		}
	}
}

func TestStreamThatCannotBeTakenUp(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"no ids": func(w http.ResponseWriter, _ *http.Request) {
			stream(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")
		},
		"refused": func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				stream(w, "retry: 1\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")
				return
			}
			http.Error(w, "no", http.StatusMethodNotAllowed)
		},
		"nothing new for ever": func(w http.ResponseWriter, _ *http.Request) { stream(w, "retry: 1\nid: 1\ndata: \n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name == "nothing new for ever" {
				t.Skip("takes its time")
			}
			k := initialized(t, Config{}, handler)
			if _, err := k.ask("tools/call"); !errors.Is(err, errNoAnswer) {
				t.Error(err)
			}
			if k.e.isBroken() {
				t.Error("the conversation is over too")
			}
		})
	}
}

// The messages of a request come before its answer, in order, whatever other streams do.
func TestOrder(t *testing.T) {
	k := initialized(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		m := read(r)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 200 {
			fmt.Fprintf(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"p\",\"params\":{\"of\":%s,\"i\":%d}}\n\n", m.ID, i)
		}
		fmt.Fprintf(w, "data: %s\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"late\"}\n\n", answerTo(m, "{}"))
	})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			pending, err := k.conn.Send(func(id []byte) []byte { return rpc.Request(id, "x", nil) })
			if err != nil {
				t.Error(err)
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), patienceOfTests)
			defer cancel()
			if _, err := pending.Wait(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	next := map[string]int{}
	for len(k.got) > 0 {
		m := <-k.got
		var p struct {
			Of string `json:"of"`
			I  int    `json:"i"`
		}
		if m.Method == "late" {
			t.Error("it speaks after its answer")
			continue
		}
		if !strings.HasPrefix(string(m.Raw), fmt.Sprintf("%q", p.Of)) && len(m.Params) > 0 {
			_ = json.Unmarshal(m.Params, &p)
			if !strings.HasPrefix(string(m.Raw), fmt.Sprintf("%q", p.Of)) {
				t.Errorf("%s came on another stream", m.Raw)
			}
		}
		if err := json.Unmarshal(m.Params, &p); err != nil || p.I != next[p.Of] {
			t.Fatalf("%s after %d: %v", m.Params, next[p.Of], err)
		}
		next[p.Of]++
	}
	for of, n := range next {
		if n != 200 {
			t.Errorf("%d of request %s", n, of)
		}
	}
}

func TestRedirects(t *testing.T) {
	var elsewhere atomic.Int32
	other := serve(t, func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) })
	for name, c := range map[string]struct {
		status int
		to     string
		want   string // in the error; "" means success
	}{
		"another origin": {http.StatusTemporaryRedirect, other + "/mcp", "redirects to another origin"},
		"same origin":    {http.StatusPermanentRedirect, "/there", ""},
		"as a GET":       {http.StatusFound, "/there", "loses the message"},
		"for ever":       {http.StatusTemporaryRedirect, "/again", "without end"},
	} {
		t.Run(name, func(t *testing.T) {
			k := begin(t, Config{Transport: Streamable, Header: http.Header{"Authorization": {"Bearer secret"}, "X-Api-Key": {"secret"}}, URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/there" {
					if r.Header.Get("X-Api-Key") == "" {
						t.Error("the header is lost")
					}
					writeJSON(w, answerTo(read(r), "{}"))
					return
				}
				http.Redirect(w, r, c.to, c.status)
			})}, nil)
			_, err := k.ask("initialize")
			switch {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), "secret"):
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("another origin got %d requests", n)
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	web := httptest.NewTLSServer(http.NotFoundHandler())
	web.Config.ErrorLog = nil
	t.Cleanup(web.Close)
	k := begin(t, Config{URL: web.URL}, nil)
	if _, err := k.ask("initialize"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

func TestEventsMayNameTheirOwnOriginOnly(t *testing.T) {
	k := begin(t, Config{Transport: SSE, URL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(w, "event: endpoint\ndata: http://127.0.0.1:1/messages\n\n")
		<-r.Context().Done()
	})}, nil)
	if err := k.over(); err == nil || !strings.Contains(err.Error(), "another origin") {
		t.Error(err)
	}
}

func TestCancellation(t *testing.T) {
	for name, version := range map[string]string{"legacy": "2025-11-25", "modern": "2026-07-28"} {
		t.Run(name, func(t *testing.T) {
			told, gone := make(chan string, 1), make(chan struct{})
			began := make(chan struct{})
			k := initialized(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				if strings.Contains(string(body), "notifications/cancelled") {
					told <- string(body)
					w.WriteHeader(http.StatusAccepted)
					return
				}
				if r.Method != http.MethodPost {
					return
				}
				stream(w, ": wait\n\n")
				close(began)
				<-r.Context().Done()
				close(gone)
			})
			k.e.Speak(version)
			pending, err := k.conn.Send(func(id []byte) []byte { return rpc.Request(id, "tools/call", nil) })
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-began; cancel() }()
			if _, err := pending.Wait(ctx); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if err := k.conn.Write(rpc.Request(nil, "notifications/cancelled", fmt.Appendf(nil, `{"requestId":%s}`, pending.ID))); err != nil {
				t.Fatal(err)
			}
			<-gone
			if name == "legacy" {
				if text := <-told; !strings.Contains(text, string(pending.ID)) {
					t.Error(text)
				}
				return
			}
			k.e.Close()
			if len(told) > 0 {
				t.Error(<-told)
			}
		})
	}
}

// hostile holds servers that misbehave in the answer to one request. The request ends with an error, and nothing else
// is affected.
var hostile = map[string]struct {
	serve http.HandlerFunc
	want  string
}{
	"garbage":    {func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, "}{ not JSON") }, "cannot be read"},
	"nothing":    {func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, "") }, "cannot be read"},
	"a web page": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }, "neither JSON"},
	"no type":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }, "neither JSON"},
	"a batch":    {func(w http.ResponseWriter, r *http.Request) { writeJSON(w, "["+answerTo(read(r), "{}")+"]") }, "batch"},
	"another's answer": {func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, `{"jsonrpc":"2.0","id":"cg-99","result":{}}`)
	}, "cannot be read"},
	"two ids": {func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{},"ID":"cg-99"}`, read(r).ID))
	}, "cannot be read"},
	"not UTF-8":      {func(w http.ResponseWriter, r *http.Request) { writeJSON(w, answerTo(read(r), "\"\xff\"")) }, "UTF-8"},
	"endless JSON":   {func(w http.ResponseWriter, _ *http.Request) { flood(w, "application/json", `{"a":"`, "x") }, "too long"},
	"endless line":   {func(w http.ResponseWriter, _ *http.Request) { flood(w, "text/event-stream", "data: ", "x") }, "too long"},
	"endless event":  {func(w http.ResponseWriter, _ *http.Request) { flood(w, "text/event-stream", "", "data: x\n") }, "too long"},
	"endless fields": {func(w http.ResponseWriter, _ *http.Request) { flood(w, "text/event-stream", "", "other: x\n") }, "too long"},
	"endless headers": {func(w http.ResponseWriter, _ *http.Request) {
		for i := range 5000 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("y", 200))
		}
	}, "header"},
	"500 with secrets": {func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "oh\x1b[31m no", http.StatusInternalServerError)
	}, "HTTP 500 Internal Server Error: oh [31m no"},
	"cut off": {func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		writeJSON(w, `{"jsonrpc"`)
	}, "may or may not have run"},
	"reset": {func(w http.ResponseWriter, _ *http.Request) { panic(http.ErrAbortHandler) }, "request failed"},
	"a stream of noise": {func(w http.ResponseWriter, r *http.Request) {
		stream(w, "data: nonsense\n\nevent: other\ndata: "+answerTo(read(r), "{}")+"\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"cg-77\",\"result\":1}\n\n")
	}, "ended before the answer"},
}

func flood(w http.ResponseWriter, kind, first, then string) {
	w.Header().Set("Content-Type", kind)
	_, _ = io.WriteString(w, first)
	for then = strings.Repeat(then, 1000); ; {
		if _, err := io.WriteString(w, then); err != nil {
			return
		}
	}
}

func TestHostileServers(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Run("all", func(t *testing.T) {
		for name, c := range hostile {
			t.Run(name, func(t *testing.T) {
				var good atomic.Bool
				k := initialized(t, Config{MaxMessage: 1 << 20}, func(w http.ResponseWriter, r *http.Request) {
					if good.Load() && r.Method == http.MethodPost {
						writeJSON(w, answerTo(read(r), `"fine"`))
						return
					}
					c.serve(w, r)
				})
				_, err := k.ask("tools/call")
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				good.Store(true)
				if m, err := k.ask("tools/call"); err != nil || string(m.Result) != `"fine"` {
					t.Errorf("the next request: %s, %v", m.Raw, err)
				}
			})
		}
	})
	waits.Until(t, fmt.Sprintf("%d goroutines", before), func() bool { return runtime.NumGoroutine() <= before })
}

// A server that sends a byte now and then holds up one request, until that is cancelled, but never the end.
func TestSlowServers(t *testing.T) {
	drip := func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
	for name, handler := range map[string]http.HandlerFunc{
		"silent": func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() },
		"JSON":   func(w http.ResponseWriter, r *http.Request) { writeJSON(w, "{"); drip(w, r) },
		"events": func(w http.ResponseWriter, r *http.Request) { stream(w, "data:"); drip(w, r) },
		"after the answer": func(w http.ResponseWriter, r *http.Request) {
			stream(w, "data: "+answerTo(read(r), "{}")+"\n\n")
			drip(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := initialized(t, Config{}, handler)
			limit := 300 * time.Millisecond
			if name == "after the answer" {
				limit = patienceOfTests
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			_, err := k.conn.Request(ctx, "tools/call", nil)
			if name == "after the answer" && err != nil || name != "after the answer" && !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			began := time.Now()
			k.e.Close()
			if took := time.Since(began); took > leaving+patienceOfTests/2 {
				t.Errorf("the end took %v", took)
			}
		})
	}
}

// A slow reader slows the server down: nothing piles up in between.
func TestBackPressure(t *testing.T) {
	var written atomic.Int64
	line := "data: {\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":{\"x\":\"" + strings.Repeat("y", 1000) + "\"}}\n\n"
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := bufio.NewWriterSize(w, 1<<16)
		for range 500_000 {
			n, err := out.WriteString(line)
			if err != nil {
				return
			}
			written.Add(int64(n))
		}
	})
	hold := make(chan struct{})
	k := begin(t, Config{URL: address, Transport: Streamable}, func(rpc.Message, []byte) { <-hold })
	go func() { _, _ = k.conn.Request(t.Context(), "x", nil) }()
	last := int64(-1)
	for deadline := time.Now().Add(patienceOfTests); last != written.Load() || last == 0; time.Sleep(200 * time.Millisecond) {
		if last = written.Load(); time.Now().After(deadline) {
			t.Fatal("the server goes on writing")
		}
	}
	if last > 64<<20 {
		t.Errorf("%d bytes were taken from the server while nobody read", last)
	}
	close(hold)
}

func TestCheck(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.com/mcp": true, "http://127.0.0.1:1": true,
		"example.com": false, "ftp://x/": false, "https://": false, "https://u:p@example.com/": false, "http://[::1": false, "": false,
	} {
		err := (&Config{URL: address}).Check()
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "u:p") {
			t.Error("the error tells the password")
		}
	}
}

// FuzzEvents checks that no event is longer than the limit, and that the result does not depend on how the stream is
// cut into pieces.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("id: 1\r\nevent: e\rdata: a\ndata:b\n\n:c\n\ndata\n\nretry: 5\n\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		const limit = 64
		events := func(r io.Reader) (all []string, p position) {
			_ = readEvents(r, limit, budget.Buffer{}, &p, func(ev event) bool {
				if len(ev.data) > limit {
					t.Fatalf("%d bytes", len(ev.data))
				}
				all = append(all, ev.name+"|"+string(ev.data))
				return true
			})
			return all, p
		}
		whole, at := events(strings.NewReader(string(text)))
		pieces, after := events(&chopped{text, max(1, size%7)})
		if fmt.Sprint(whole) != fmt.Sprint(pieces) || at != after {
			t.Errorf("%q and %q", whole, pieces)
		}
	})
}

type chopped struct {
	text []byte
	size int
}

func (c *chopped) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.text[:min(c.size, len(c.text))])
	c.text = c.text[n:]
	return n, nil
}

// A request whose stream was cut off and cannot be resumed, because the session is over, may have been run. It must not
// be sent again.
func TestRunRequestIsNotOneToRepeat(t *testing.T) {
	k := initialized(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			stream(w, "retry: 1\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n")
			return
		}
		http.Error(w, "gone", http.StatusNotFound)
	})
	if _, err := k.ask("tools/call"); err == nil || errors.Is(err, ErrNotRun) {
		t.Error(err)
	}
	if err := k.over(); !errors.Is(err, ErrSessionLost) {
		t.Error(err)
	}
}

// The server can send its own messages before any other request, and a server that never opens its stream holds up
// nothing for good.
func TestListensBeforeItAsks(t *testing.T) {
	for _, silent := range []bool{false, true} {
		var mu sync.Mutex
		var order []string
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			m, _ := rpc.Parse(body)
			mu.Lock()
			order = append(order, r.Method+" "+m.Method)
			mu.Unlock()
			switch {
			case r.Method == http.MethodGet:
				if !silent {
					w.Header().Set("Content-Type", "text/event-stream")
					w.(http.Flusher).Flush()
				}
				<-r.Context().Done()
			case m.ID == nil:
				w.WriteHeader(http.StatusAccepted)
			default:
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(rpc.Result(m.ID, []byte("{}")))
			}
		}))
		t.Cleanup(web.Close)
		t.Cleanup(web.CloseClientConnections)
		for range 10 {
			e, err := New(Config{URL: web.URL})
			if err != nil {
				t.Fatal(err)
			}
			conn := rpc.NewConn(nil, e, rpc.Options{})
			go func() { _ = e.Run(conn, func(rpc.Message, []byte) {}) }()
			<-e.started
			if err := conn.Write(rpc.Request(nil, "notifications/initialized", nil)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Request(t.Context(), "tools/list", nil); err != nil {
				t.Fatal(err)
			}
			e.Close()
			mu.Lock()
			if got := strings.Join(order, ", "); !silent && got != "POST notifications/initialized, GET , POST tools/list" {
				t.Errorf("silent %v: %s", silent, got)
			}
			order = nil
			mu.Unlock()
		}
	}
}
