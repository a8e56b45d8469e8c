package command

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/internal/testserver/unraced"
	"callgate/internal/testserver/waits"
)

// hostileServer is a hostile MCP server behind a URL. Where a function is nil, it behaves well.
type hostileServer struct {
	initialize func(h *hostility)
	list       func(h *hostility)
	call       func(h *hostility)
	get        func(h *hostility) // Streamable HTTP: the server's own stream; HTTP+SSE: after the stream has begun
	post       func(h *hostility) // replaces all of them

	era  string
	want string      // what the host reads of its call, as a regular expression; "" if nobody waits for it
	most map[int]int // most requests of a method in ten seconds: initialize 0, tools/list 1, GET 2
	asks *[3]atomic.Int64
}

// hostility is one request to a hostile server.
type hostility struct {
	w      http.ResponseWriter
	r      *http.Request
	id     json.RawMessage
	method string
	gone   <-chan struct{}
}

func (h *hostility) json(text string) {
	h.w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(h.w, text)
}

func (h *hostility) result(text string) {
	h.json(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, h.id, text))
}

func (h *hostility) stream(text string) {
	h.w.Header().Set("Content-Type", "text/event-stream")
	h.say(text)
}

// say writes and flushes. It returns false once nobody reads any more.
func (h *hostility) say(text string) bool {
	if _, err := io.WriteString(h.w, text); err != nil {
		return false
	}
	h.w.(http.Flusher).Flush()
	return h.r.Context().Err() == nil
}

// floodBytes is how much of a flood comes at once: twice the bound on a message. Peak memory shows what callgate keeps.
const floodBytes = 128 << 20

// flood writes the text again and again. After floodBytes of it, it is only as fast as any noisy server.
func (h *hostility) flood(text string) {
	text = strings.Repeat(text, max(1, 1<<15/len(text)))
	for said := 0; said < floodBytes; said += len(text) {
		if !h.say(text) {
			return
		}
	}
	h.drip(text)
}

func (h *hostility) drip(text string) {
	for h.say(text) {
		time.Sleep(20 * time.Millisecond)
	}
}

// raw answers with bytes that net/http would not write, and goes on with more while somebody reads.
func (h *hostility) raw(text, more string) {
	conn, _, err := h.w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	for more = strings.Repeat(more, 1<<15/max(1, len(more))); err == nil && more != ""; {
		_, err = io.WriteString(conn, more)
	}
}

const (
	hostileInfo = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"bad","version":"1"}}`
	hostileList = `{"tools":[{"name":"do","inputSchema":{"type":"object"}}]}`
	hostileDone = `{"content":[{"type":"text","text":"done"}]}`
	hostileNote = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"noise"}}` + "\n\n"
	hostileNews = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n"
	hostileAsks = `data: {"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}` + "\n\n"
)

func (s hostileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := &hostility{w: w, r: r, gone: r.Context().Done()}
	if r.Method == http.MethodGet {
		s.asks[2].Add(1)
		if s.get == nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		s.get(h)
		return
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Method != http.MethodPost || m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	h.id, h.method = m.ID, m.Method
	does := func(own func(*hostility), result string) {
		if own != nil {
			own(h)
			return
		}
		w.Header().Set("Mcp-Session-Id", "one")
		h.result(result)
	}
	switch m.Method {
	case "initialize":
		s.asks[0].Add(1)
	case "tools/list":
		s.asks[1].Add(1)
	}
	switch {
	case s.post != nil:
		s.post(h)
	case m.Method == "initialize":
		does(s.initialize, hostileInfo)
	case m.Method == "tools/list":
		does(s.list, hostileList)
	case m.Method == "tools/call":
		does(s.call, hostileDone)
	default:
		h.json(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID))
	}
}

// bomb is a gzip stream of four GiB of zeros.
var bomb = sync.OnceValue(func() string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.CopyN(z, zeroReader{}, 4<<20)
	_ = z.Close()
	return strings.Repeat(b.String(), 1<<10) // consecutive gzip streams count as one
})

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }

var hostileServers = map[string]hostileServer{
	// Hostile lists.
	"endless pages": {list: func() func(h *hostility) {
		var page atomic.Int64
		return func(h *hostility) {
			n := page.Add(1)
			h.result(fmt.Sprintf(`{"tools":[{"name":"do%d"},{"name":"do"}],"nextCursor":"%d"}`, n, n))
		}
	}(), want: "done", most: map[int]int{1: 3000}},
	"giant list": {list: func(h *hostility) {
		h.w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(h.w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"do"}`, h.id)
		for i := range 50_000 {
			fmt.Fprintf(h.w, `,{"name":"t%d","description":%q}`, i, strings.Repeat("x", 200))
		}
		_, _ = io.WriteString(h.w, `]}}`)
	}, want: "done"},
	"a list without end":     {list: func(h *hostility) { h.json(`{"jsonrpc":"2.0","id":1,"result":{"tools":[`); h.flood(`{"name":"x"},`) }, want: ""},
	"a list that never ends": {list: func(h *hostility) { h.json(`{"jsonrpc"`); h.drip(" ") }, want: ""},
	"lists that change always": {get: func(h *hostility) { h.stream(""); h.flood(hostileNews) },
		want: "done", most: map[int]int{1: 200}},

	// Hostile answers.
	"a flood before the answer": {call: func(h *hostility) {
		h.stream("")
		for range 10 {
			h.say(strings.Repeat(hostileNote, 1000))
		}
		h.say(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", h.id, hostileDone))
	}, want: "done"},
	"a flood and no answer": {call: func(h *hostility) { h.stream(""); h.flood(hostileNote) }, want: "isError|error"},
	"two answers": {call: func(h *hostility) {
		answer := fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", h.id)
		h.stream(answer + hostileDone + "}\n\n" + answer + `{"content":[{"type":"text","text":"forged"}]}` + "}\n\n")
	}, want: "done"},
	"answers that nobody asked for": {call: func(h *hostility) {
		h.stream("")
		for i := range 5000 {
			h.say(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":\"cg-%d\",\"result\":{}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n\n", i+100, i))
		}
		h.say(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", h.id, hostileDone))
	}, want: "done"},
	"one id asked twice, and thousands": {call: func(h *hostility) {
		h.stream("")
		for i := range 3000 {
			h.say(fmt.Sprintf(hostileAsks, i/2))
		}
		h.say(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", h.id, hostileDone))
	}, want: "done"},
	"malformed frames": {call: func(h *hostility) {
		h.stream("data: {\n\ndata: []\n\ndata: [[]]\n\ndata: 7\n\ndata: {\"jsonrpc\":\"1.0\"}\n\ndata: {\"id\":{}}\n\ndata: \xff\xfe\n\ndata\n\n:\n\nevent: message\n\n\x00\n\nid: \x00\ndata: {\"jsonrpc\":\"2.0\",\"method\":7}\n\n")
		h.say(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", h.id, hostileDone))
	}, want: "done"},
	"a line without end":               {call: func(h *hostility) { h.stream("data: "); h.flood("x") }, want: "too long"},
	"fields without end":               {call: func(h *hostility) { h.stream(""); h.flood("other: x\n") }, want: "too long"},
	"an id of a megabyte":              {call: func(h *hostility) { h.stream("id: " + strings.Repeat("9", 1<<20) + "\nretry: 999999999\ndata: {}\n\n") }, want: "ended before the answer|isError|error"},
	"a body that drips":                {call: func(h *hostility) { h.json("{"); h.drip(" ") }, want: "isError|error"},
	"events that drip":                 {call: func(h *hostility) { h.stream("data:"); h.drip(" ") }, want: "isError|error"},
	"a result of 70 MiB":               {call: func(h *hostility) { h.json(`{"jsonrpc":"2.0","id":1,"result":"`); h.flood("x") }, want: "too long"},
	"deep as the sea":                  {call: func(h *hostility) { h.result(strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20)) }, want: "cannot be read"},
	"an answer in gzip that is a bomb": {call: func(h *hostility) { h.w.Header().Set("Content-Encoding", "gzip"); h.json(bomb()) }, want: "too long"},
	"events in gzip that are a bomb":   {call: func(h *hostility) { h.w.Header().Set("Content-Encoding", "gzip"); h.stream(bomb()) }, want: "too long"},
	"redirected without end":           {call: func(h *hostility) { http.Redirect(h.w, h.r, h.r.URL.Path, http.StatusTemporaryRedirect) }, want: "without end"},
	"redirected elsewhere":             {call: func(h *hostility) { http.Redirect(h.w, h.r, "http://127.0.0.2:1/", http.StatusPermanentRedirect) }, want: "another origin"},
	"headers without end":              {call: func(h *hostility) { h.raw("HTTP/1.1 200 OK\r\n", "X-Y: z\r\n") }, want: "isError|error"},
	"a header without end":             {call: func(h *hostility) { h.raw("HTTP/1.1 200 OK\r\nX-Y: ", "z") }, want: "isError|error"},
	"interim answers without end":      {call: func(h *hostility) { h.raw("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n") }, want: "isError|error"},
	"trailers without end": {call: func(h *hostility) {
		h.raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n", "X-Y: z\r\n")
	}, want: "isError|error"},
	"no HTTP at all":      {call: func(h *hostility) { h.raw("220 mail.example ESMTP\r\n", "") }, want: "isError|error"},
	"two answers at once": {call: func(h *hostility) { h.raw(twice(h.id), "") }, want: "done"},
	"a length that is a lie": {call: func(h *hostility) {
		h.raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n{", "")
	}, want: "isError|error"},

	// Hostile beginnings of a session.
	"a session id of a megabyte": {initialize: func(h *hostility) {
		h.w.Header().Set("Mcp-Session-Id", strings.Repeat("s", 1<<20))
		h.result(hostileInfo)
	}, want: ""},
	"a session id of 100 kB": {initialize: func(h *hostility) {
		h.w.Header().Set("Mcp-Session-Id", strings.Repeat("s", 100_000))
		h.result(hostileInfo)
	}, want: "done"},
	"a session id of control characters": {initialize: func(h *hostility) {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, h.id, hostileInfo)
		h.raw(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: a\x01\x1b[31m\tb\r\nContent-Length: %d\r\n\r\n%s", len(body), body), "")
	}, want: "malformed"},
	"a handshake that never ends": {initialize: func(h *hostility) { h.json("{"); h.drip(" ") }, want: ""},
	"every session is lost": {call: func(h *hostility) { h.w.WriteHeader(http.StatusNotFound) },
		want: "isError|error", most: map[int]int{0: 30}},
	"everything fails": {call: func(h *hostility) { h.w.WriteHeader(http.StatusInternalServerError); h.flood("no\n") },
		want: "HTTP 500", most: map[int]int{0: 30}},

	// Hostile unrequested messages.
	"a flood on its own stream":        {get: func(h *hostility) { h.stream(""); h.flood(hostileNote) }, want: "done"},
	"a line without end on its stream": {get: func(h *hostility) { h.stream("data: "); h.flood("x") }, want: "done", most: map[int]int{2: 60}},
	"its stream ends at once":          {get: func(h *hostility) { h.stream("retry: 0\n\n") }, want: "done", most: map[int]int{2: 60}},
	"its stream is a bomb":             {get: func(h *hostility) { h.w.Header().Set("Content-Encoding", "gzip"); h.stream(bomb()) }, want: "done", most: map[int]int{2: 60}},

	// The other era.
	"modern, and asks without end": {era: "modern", post: func(h *hostility) {
		switch h.method {
		case "server/discover":
			h.result(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
		case "tools/list":
			h.result(`{"tools":[{"name":"do","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
		case "subscriptions/listen":
			h.stream("")
			h.flood(hostileNews)
		default:
			h.result(`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list","params":{}}},"requestState":"` + strings.Repeat("s", 1<<20) + `"}`)
		}
	}, want: "isError|error"},
}

func twice(id []byte) string {
	one := func(text string) string {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, text)
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	return one("done") + one("forged")
}

// A hostile server harms only its own calls. Meanwhile calls of another server go on, memory stays bounded, the hostile
// server is not asked without end, and the session ends like any other.
func TestHostileServersOverHTTP(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("measures the process, on Linux")
	}
	if elsewhere(t) {
		return
	}
	good := remoteEcho(t)
	slots := make(chan struct{}, 2)
	for name, bad := range hostileServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			bad.asks = new([3]atomic.Int64)
			web := httptest.NewServer(bad)
			t.Cleanup(web.Close)
			t.Cleanup(web.CloseClientConnections)
			era := ""
			if bad.era != "" {
				era = ", era: " + bad.era
			}
			s := serveConfigured(t, fmt.Sprintf("servers:\n  - {name: demo, url: %q}\n  - {name: bad, url: %q, timeout: %s, maxResultBytes: 1048576%s}\n", good, web.URL, hostileTimeout(bad.want), era), "--log-level", "error")
			periods := s.holdsOut(t, bad.want, bad.get != nil || bad.most != nil)
			for of, most := range bad.most {
				if asked := int(bad.asks[of].Load()); asked > most*periods {
					t.Errorf("%s was asked %d times, want at most %d", []string{"initialize", "tools/list", "the stream"}[of], asked, most*periods)
				}
			}
		})
	}
}

// oldServer is a hostile server over HTTP+SSE.
type oldServer struct {
	open func(h *hostility) // the whole stream
	post func(h *hostility)
	want string
	most int // most streams in ten seconds
}

var oldServers = map[string]oldServer{
	"never names its address":         {open: func(h *hostility) { h.stream(": wait\n\n"); <-h.gone }, want: ""},
	"an address without end":          {open: func(h *hostility) { h.stream("event: endpoint\ndata: /"); h.flood("x") }, want: "", most: 40},
	"an address of another origin":    {open: func(h *hostility) { h.stream("event: endpoint\ndata: http://127.0.0.2:1/\n\n"); <-h.gone }, want: "", most: 40},
	"a flood instead of an address":   {open: func(h *hostility) { h.stream(""); h.flood(hostileNote) }, want: ""},
	"addresses without end":           {open: func(h *hostility) { h.stream(""); h.flood("event: endpoint\ndata: /post\n\n") }, want: ""},
	"a stream that ends at once":      {open: func(h *hostility) { h.stream("event: endpoint\ndata: /post\n\n") }, want: "", most: 40},
	"an address that refuses":         {open: func(h *hostility) { h.stream("event: endpoint\ndata: /post\n\n"); <-h.gone }, post: func(h *hostility) { h.w.WriteHeader(http.StatusInternalServerError); h.flood("x") }, want: "", most: 40},
	"an address that never answers":   {open: func(h *hostility) { h.stream("event: endpoint\ndata: /post\n\n"); <-h.gone }, post: func(h *hostility) { <-h.gone }, want: "", most: 40},
	"a stream in gzip that is a bomb": {open: func(h *hostility) { h.w.Header().Set("Content-Encoding", "gzip"); h.stream(bomb()) }, want: "", most: 40},
	"answers before it is asked": {open: func(h *hostility) {
		h.stream("event: endpoint\ndata: /post\n\n")
		for i := range 2000 {
			h.say(fmt.Sprintf("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"cg-%d\",\"result\":{\"protocolVersion\":\"nonsense\"}}\n\n", i))
		}
		<-h.gone
	}, want: ""},
}

func (s oldServer) serve(asked *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := &hostility{w: w, r: r, gone: r.Context().Done()}
		switch {
		case r.Method == http.MethodGet:
			asked.Add(1)
			s.open(h)
		case s.post != nil:
			_, _ = io.Copy(io.Discard, r.Body)
			s.post(h)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}
}

// The same is true of servers over HTTP+SSE.
func TestHostileServersOverSSE(t *testing.T) {
	t.Parallel()
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("measures the process, on Linux")
	}
	if elsewhere(t) {
		return
	}
	good := remoteEcho(t)
	slots := make(chan struct{}, 2)
	for name, bad := range oldServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slots <- struct{}{}
			defer func() { <-slots }()
			var asked atomic.Int64
			web := httptest.NewServer(bad.serve(&asked))
			t.Cleanup(web.Close)
			t.Cleanup(web.CloseClientConnections)
			s := serveConfigured(t, fmt.Sprintf("servers:\n  - {name: demo, url: %q}\n  - {name: bad, url: %q, type: sse, timeout: %s}\n", good, web.URL, hostileTimeout(bad.want)), "--log-level", "error")
			periods := s.holdsOut(t, bad.want, bad.most > 0)
			if n := int(asked.Load()); bad.most > 0 && n > bad.most*periods {
				t.Errorf("the stream was opened %d times, want at most %d", n, bad.most*periods)
			}
		})
	}
}

const (
	goodCall = `{"jsonrpc":"2.0","id":"good","method":"tools/call","params":{"name":"demo_echo","arguments":{}}}`
	badCall  = `{"jsonrpc":"2.0","id":"bad","method":"tools/call","params":{"name":"bad_do","arguments":{}}}`

	// maxHostile bounds callgate's memory under attack: messages of 64 MiB may pass, a few at a time.
	maxHostile = 700 << 20
)

// hostileTimeout returns the timeout for calls of a hostile server that want this result: short if any result will do,
// and as long as a slow machine needs if the result is to be read.
func hostileTimeout(want string) string {
	if want == "" || want == "isError|error" {
		return "3s"
	}
	return waits.Limit.String()
}

// holdsOut calls a good and a bad server in one session, repeatedly if again is set, and checks the results. It returns
// in how many periods of ten seconds the bad server may have been asked, because a slow machine takes longer.
func (s *served) holdsOut(t *testing.T, want string, again bool) (periods int) {
	t.Helper()
	started := time.Now()
	client := &http.Client{Timeout: patience}
	session, err := s.connect(client)
	if err != nil {
		t.Fatal(err)
	}
	good := func(when string) {
		began := time.Now()
		answer, _, err := s.send(client, "POST", session, goodCall)
		if err != nil || !bytes.Contains(answer, []byte("Hello")) {
			t.Errorf("%s, a call of another server: %s, %v", when, answer, err)
		}
		if took := time.Since(began); took > patience/2 {
			t.Errorf("%s, a call of another server took %v", when, took)
		}
	}
	good("at first")
	over := make(chan struct{})
	impatient := &http.Client{Timeout: patience}
	if want == "" { // the server never gets far enough to have a tool
		impatient.Timeout = 2 * time.Second
	}
	go func() {
		defer close(over)
		for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
			answer, _, err := s.send(impatient, "POST", session, badCall)
			as := regexp.MustCompile(want).Match(answer)
			if !as && bytes.Contains(answer, []byte("unknown tool")) && time.Since(began) < patience {
				continue // the server has not got far enough to have a tool
			}
			if want != "" && (err != nil || !as || bytes.Contains(answer, []byte("forged"))) {
				t.Errorf("the call of the hostile server: %.2000s, %v; want %s", answer, err, want)
				return
			}
			if !again || time.Since(began) > 2*time.Second {
				return
			}
		}
	}()
	for ended := false; !ended; {
		good("meanwhile")
		select {
		case <-over:
			ended = true
		case <-time.After(200 * time.Millisecond):
		}
	}
	good("afterwards")
	if peak := s.peak(t); peak > maxHostile && !unraced.Raced {
		t.Errorf("%d MiB at the peak", peak>>20)
	}
	began := time.Now()
	if _, _, err := s.send(client, "DELETE", session, ""); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("the end of the session took %v", took)
	}
	return 1 + int(time.Since(started)/(10*time.Second))
}

// peak returns the most memory that the process has held, in bytes.
func (s *served) peak(t *testing.T) (bytes int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if _, err := fmt.Sscan(value, &bytes); err != nil {
				t.Fatal(err)
			}
			return bytes << 10
		}
	}
	t.Fatal("the system does not tell")
	return 0
}
