package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/testserver/unraced"
)

// largeEcho starts a server behind a URL with three tools: echo answers at once, large answers with as many MiB as the
// call asks for, and hang never answers.
func largeEcho(t *testing.T) string {
	t.Helper()
	mib := strings.Repeat("0123456789abcdef", 1<<16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments struct{ MiB int }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&m); r.Method != http.MethodPost || err != nil || m.ID == nil {
			w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == http.MethodPost])
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,`, m.ID)
		switch m.Method + " " + m.Params.Name {
		case "initialize ":
			_, _ = io.WriteString(w, `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}}`)
		case "tools/list ":
			_, _ = io.WriteString(w, `"result":{"tools":[{"name":"echo"},{"name":"large"},{"name":"hang"}]}}`)
		case "tools/call echo":
			_, _ = io.WriteString(w, `"result":{"content":[{"type":"text","text":"Hello"}]}}`)
		case "tools/call hang":
			<-r.Context().Done()
		case "tools/call large":
			_, _ = io.WriteString(w, `"result":{"content":[{"type":"text","text":"`)
			for range m.Params.Arguments.MiB {
				_, _ = io.WriteString(w, mib)
			}
			_, _ = io.WriteString(w, `"}]}}`)
		default:
			_, _ = io.WriteString(w, `"error":{"code":-32601,"message":"no"}}`)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// hostileHosts is a callgate serve with two sessions: one of a well-behaved host, and one of a hostile host.
type hostileHosts struct {
	*served
	client    *http.Client
	good, bad string
}

func underHosts(t *testing.T) *hostileHosts {
	t.Helper()
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("measures the process, on Linux")
	}
	h := &hostileHosts{client: &http.Client{Timeout: patience}}
	// Without the bound on messages in flight, so that the test sees what one host uses.
	h.served = serveConfigured(t, fmt.Sprintf("limits: {maxInFlightBytes: 0}\nservers:\n  - {name: demo, url: %q, maxResultBytes: 67108864}\n", largeEcho(t)), "--log-level", "error")
	var err error
	for _, session := range []*string{&h.good, &h.bad} {
		if *session, err = h.connect(h.client); err != nil {
			t.Fatal(err)
		}
	}
	h.behaves(t, "at first")
	return h
}

// behaves calls a tool as the well-behaved host.
func (h *hostileHosts) behaves(t *testing.T, when string) {
	t.Helper()
	began := time.Now()
	answer, _, err := h.send(h.client, "POST", h.good, goodCall)
	if err != nil || !bytes.Contains(answer, []byte("Hello")) {
		t.Errorf("%s, the call of another host: %.300s, %v", when, answer, err)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("%s, the call of another host took %v", when, took)
	}
}

// dial opens a connection and begins a request on it, with rest as further headers and maybe a body.
func (h *hostileHosts) dial(t *testing.T, method, session, rest string) *net.TCPConn {
	t.Helper()
	address := strings.TrimSuffix(strings.TrimPrefix(h.url, "http://"), "/mcp")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, h.head(method, session, address)+rest); err != nil {
		t.Fatal(err)
	}
	return conn.(*net.TCPConn)
}

func (h *hostileHosts) head(method, session, address string) string {
	return fmt.Sprintf("%s /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Session-Id: %s\r\n", method, address, h.token, session)
}

// returnsTo waits until the process holds no more descriptors than before, plus a few. Up to 128 connections to a
// server may stay open for the next requests.
func (h *hostileHosts) returnsTo(t *testing.T, before int) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		now, _, _ := h.usage()
		if now <= before+128+8 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d descriptors, %d before", now, before)
		}
	}
}

// Requests that never end keep nobody else waiting, and end with their connections. A request that does not even
// complete its head is soon given up.
func TestHostsThatNeverEndTheirRequests(t *testing.T) {
	t.Parallel()
	h := underHosts(t)
	before, _, _ := h.usage()
	nameless := h.dial(t, "POST", h.bad, "")
	var open []net.Conn
	for i := range 300 {
		rest := "Content-Length: 1000\r\n\r\n{\"jsonrpc\""
		switch i % 3 {
		case 1:
			rest = "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"jso"
		case 2:
			rest = "X-More: "
		}
		open = append(open, h.dial(t, "POST", h.bad, rest))
	}
	h.behaves(t, "meanwhile")
	if _, err := io.Copy(io.Discard, nameless); err != nil {
		t.Errorf("a request without an end is waited for: %v", err)
	}
	for _, conn := range open {
		conn.Close()
	}
	h.returnsTo(t, before)
	h.behaves(t, "afterwards")
}

// A host that reads a large result slowly holds only that result, however many such hosts there are: the servers behind
// it wait. It gets the result complete.
func TestHostsThatReadSlowly(t *testing.T) {
	h := underHosts(t)
	const (
		readers = 4
		mib     = 60
	)
	before := h.resident()
	var conns []*net.TCPConn
	for i := range readers {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"demo_large","arguments":{"mib":%d}}}`, i+10, mib)
		conn := h.dial(t, "POST", h.bad, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
		if err := conn.SetReadBuffer(64 << 10); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	h.behaves(t, "meanwhile")
	held := h.resident() - before
	for began := time.Now(); ; { // until all results have arrived
		time.Sleep(time.Second)
		now := h.resident() - before
		if now <= held+1<<20 && now > readers*mib<<20 || time.Since(began) > patience/2 {
			break
		}
		held = now
	}
	time.Sleep(time.Second)
	later := h.resident() - before
	peak := h.peak(t) - before
	t.Logf("%d readers of %d MiB: %d MiB held, %d MiB a second later, %d MiB at the peak", readers, mib, held>>20, later>>20, peak>>20)
	if later > held+32<<20 && !unraced.Raced {
		t.Errorf("memory grows while nobody reads: %d MiB, then %d MiB", held>>20, later>>20)
	}
	if limit := int64(readers * mib * 4 << 20); peak > limit && !unraced.Raced {
		t.Errorf("%d MiB at the peak, want at most %d MiB", peak>>20, limit>>20)
	}
	var reading sync.WaitGroup
	for i, conn := range conns {
		reading.Go(func() { // all at once, because a host that reads nothing for long is cut off
			read, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Error(err)
				return
			}
			n, err := io.Copy(io.Discard, read.Body)
			if n < mib<<20 || err != nil {
				t.Errorf("reader %d got %d bytes, %v", i, n, err)
			}
		})
	}
	reading.Wait()
	h.behaves(t, "afterwards")
}

// Requests that are written without reading an answer are answered one after the other, as the answers are read.
func TestHostsThatPipeline(t *testing.T) {
	h := underHosts(t)
	const many = 3000
	conn := h.dial(t, "POST", h.bad, "Content-Length: 40\r\n\r\n"+`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	head := h.head("POST", h.bad, conn.RemoteAddr().String())
	written := make(chan error, 1)
	go func() {
		for i := 1; i < many; i++ {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
			if _, err := fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", head, len(body), body); err != nil {
				written <- err
				return
			}
		}
		written <- nil
	}()
	time.Sleep(500 * time.Millisecond)
	h.behaves(t, "meanwhile")
	from := bufio.NewReader(conn)
	for i := range many {
		response, err := http.ReadResponse(from, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(response.Body)
		if want := fmt.Sprintf(`"id":%d,`, i); err != nil || !bytes.Contains(answer, []byte(want)) {
			t.Fatalf("answer %d: %s, %v", i, answer, err)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// A session has a bounded number of requests at once, and all of them end with it.
func TestHostsThatFloodASession(t *testing.T) {
	h := underHosts(t)
	before, _, _ := h.usage()
	const many = 1300
	client := &http.Client{Timeout: patience, Transport: &http.Transport{MaxConnsPerHost: 0}}
	var all sync.WaitGroup
	refused := make(chan string, many)
	for i := range many {
		all.Go(func() {
			answer, _, err := h.send(client, "POST", h.bad, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"demo_hang","arguments":{}}}`, i+10))
			if err != nil && strings.Contains(err.Error(), "400") {
				refused <- err.Error()
			} else if bytes.Contains(answer, []byte("Hello")) {
				t.Error("a call that hangs was answered")
			}
		})
	}
	select {
	case why := <-refused:
		if !strings.Contains(why, "1024 requests of this session run already") {
			t.Error(why)
		}
	case <-time.After(patience):
		t.Error("nothing was refused")
	}
	h.behaves(t, "meanwhile")
	if _, _, err := h.send(h.client, "DELETE", h.bad, ""); err != nil {
		t.Error(err)
	}
	all.Wait()
	client.CloseIdleConnections()
	h.returnsTo(t, before)
	h.behaves(t, "afterwards")
}

// Of the streams that a host opens in one session, only the newest stays; the others end.
func TestHostsThatListenManyTimes(t *testing.T) {
	h := underHosts(t)
	before, _, _ := h.usage()
	var last net.Conn
	for range 600 {
		last = h.dial(t, "GET", h.bad, "\r\n")
		if line, err := bufio.NewReaderSize(last, 16).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("%q, %v", line, err)
		}
	}
	h.returnsTo(t, before)
	h.behaves(t, "afterwards")
	last.Close()
}

// The id of an event is valid only in its session, and a session only for its client.
func TestHostsThatAskForWhatIsNotTheirs(t *testing.T) {
	h := underHosts(t)
	// The good host's call streams, and the host knows an event of that stream.
	conn := h.dial(t, "POST", h.good, fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(hangCall), hangCall))
	from := bufio.NewReader(conn)
	id := ""
	for id == "" {
		line, err := from.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(text)
		}
	}
	for name, c := range map[string]struct{ session, last, want string }{
		"another session's event":      {h.bad, id, "404"},
		"an event that never was":      {h.bad, "zzz-1", "404"},
		"no event":                     {h.bad, "-", "404"},
		"a number beyond all":          {h.bad, "0-99999999999999999999", "404"},
		"a session that is not":        {"made-up", id, "404"},
		"a session id of control text": {"a\tb", id, "404"},
		"no session":                   {"", id, "400"},
	} {
		t.Run(name, func(t *testing.T) {
			r := h.dial(t, "GET", c.session, "Last-Event-ID: "+c.last+"\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(r), nil)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(response.Status, c.want) {
				t.Errorf("%s, want %s", response.Status, c.want)
			}
		})
	}
	h.behaves(t, "afterwards")
}

const hangCall = `{"jsonrpc":"2.0","id":"hang","method":"tools/call","params":{"name":"demo_hang","arguments":{}}}`

// A message that is too large is refused before it has arrived, and costs nothing.
func TestHostsThatSayTooMuch(t *testing.T) {
	h := underHosts(t)
	before := h.resident()
	for name, c := range map[string]struct {
		rest, more string
		want       string
	}{
		"a message of 65 MiB": {fmt.Sprintf("Content-Length: %d\r\n\r\n{\"a\":\"", 65<<20), "x", "413"},
		"without a length":    {"Transfer-Encoding: chunked\r\n\r\n", "1000\r\n" + strings.Repeat("x", 0x1000) + "\r\n", "413"},
		"headers of 1 MiB":    {"X-More: ", "x", "431"},
		"many headers":        {"", "X-More: x\r\n", "431"},
	} {
		t.Run(name, func(t *testing.T) {
			conn := h.dial(t, "POST", h.bad, c.rest)
			stop := make(chan struct{})
			go func() {
				defer close(stop)
				for text := strings.Repeat(c.more, 1<<16/len(c.more)); ; {
					if _, err := io.WriteString(conn, text); err != nil {
						return
					}
				}
			}()
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil && !strings.HasPrefix(response.Status, c.want) {
				t.Errorf("%s, want %s", response.Status, c.want)
			}
			conn.Close() // the answer may be lost if unread data is left at the close
			<-stop
		})
	}
	deep := strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000)
	if _, _, err := h.send(h.client, "POST", h.bad, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo_echo","arguments":`+deep+`}}`); err == nil || !strings.Contains(err.Error(), "400") {
		t.Errorf("what is nested without end: %.300v", err)
	}
	h.behaves(t, "afterwards")
	if grown := h.peak(t) - before; grown > 512<<20 && !unraced.Raced {
		t.Errorf("%d MiB at the peak", grown>>20)
	}
}
