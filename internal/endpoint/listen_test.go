package endpoint

import (
	"bufio"
	"context"
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

	"callgate/internal/testserver/waits"
)

const patienceOfTests = waits.Limit

// listening is a server whose GETs all listen to one stream.
type listening struct {
	*Server
	of   *stream
	web  *httptest.Server
	mu   sync.Mutex
	done int // listeners that have stopped following
}

func listens(t *testing.T, start func(*httptest.Server)) *listening {
	t.Helper()
	l := &listening{Server: &Server{}, of: newStream("0")}
	l.web = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visit{w: w, r: r, held: &held{}}
		l.listen(v, beginListening(v), listener{of: l.of, from: l.of.unread(), resumable: true, done: func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.done++
		}})
	}))
	start(l.web)
	t.Cleanup(l.web.Close)
	t.Cleanup(func() { // before the web server, which waits for those that are left
		l.of.end()
		l.wg.Wait()
	})
	return l
}

func (l *listening) open(t *testing.T) (*http.Response, *bufio.Reader) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patienceOfTests)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.web.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := l.web.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response, bufio.NewReader(response.Body)
}

func (l *listening) say(t *testing.T, text string) {
	t.Helper()
	if err := l.of.put([]byte(text), false, nil); err != nil {
		t.Fatal(err)
	}
}

func hears(t *testing.T, from *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			t.Fatalf("%v, want %.40q", err, want)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			if strings.TrimSuffix(text, "\n") != want {
				t.Fatalf("%.40q, want %.40q", text, want)
			}
			return
		}
	}
}

func (l *listening) waitsFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patienceOfTests); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		ok := is()
		l.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// Messages of every size come in order, at once and later, on any kind of connection. The newest reader reads, the end
// comes as an end, and then nothing is left.
func TestListen(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){
		"HTTP/1.1":          (*httptest.Server).Start,
		"HTTP/1.1 over TLS": (*httptest.Server).StartTLS,
		"HTTP/2":            func(web *httptest.Server) { web.EnableHTTP2 = true; web.StartTLS() },
	} {
		t.Run(name, func(t *testing.T) {
			l := listens(t, start)
			first, from := l.open(t)
			if want := strings.Fields(name)[0]; !strings.HasPrefix(first.Proto, want) {
				t.Fatalf("%s, want %s", first.Proto, want)
			}
			large := strings.Repeat("0123456789abcdef", 3*piece/16)
			for i := range 50 {
				l.say(t, fmt.Sprint(i))
				if i%10 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			l.say(t, large)
			for i := range 50 {
				hears(t, from, fmt.Sprint(i))
			}
			hears(t, from, large)
			l.waitsFor(t, "the last message is not taken for read", func() bool { return l.of.unread() == 52 })

			_, later := l.open(t)
			if _, err := io.Copy(io.Discard, from); err != nil {
				t.Errorf("the first reader is not sent away in order: %v", err)
			}
			l.say(t, "for the second")
			hears(t, later, "for the second")
			l.of.end()
			if _, err := io.Copy(io.Discard, later); err != nil {
				t.Errorf("the stream does not end in order: %v", err)
			}
			l.waitsFor(t, "a listener is left", func() bool { return l.done == 2 })
		})
	}
}

// A host that is gone, or that uses the connection for something else, no longer listens. Later messages wait for the
// next listener.
func TestListenerThatGoes(t *testing.T) {
	for name, leave := range map[string]func(net.Conn) error{
		"closed":    net.Conn.Close,
		"half":      func(c net.Conn) error { return c.(*net.TCPConn).CloseWrite() },
		"reset":     func(c net.Conn) error { c.(*net.TCPConn).SetLinger(0); return c.Close() },
		"pipelined": func(c net.Conn) error { _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			l := listens(t, (*httptest.Server).Start)
			conn, err := net.Dial("tcp", l.web.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", conn.RemoteAddr())
			l.say(t, "one")
			hears(t, bufio.NewReader(conn), "one")
			if err := leave(conn); err != nil {
				t.Fatal(err)
			}
			l.waitsFor(t, "it still listens", func() bool { return l.done == 1 })
			l.say(t, "two")
			_, next := l.open(t)
			hears(t, next, "two")
		})
	}
}

// While the server closes, nobody begins to listen, and nothing is left open.
func TestListenWhileClosing(t *testing.T) {
	l := listens(t, (*httptest.Server).Start)
	l.Server.open.mu.Lock()
	l.Server.open.closed = true
	l.Server.open.mu.Unlock()
	_, from := l.open(t)
	if _, err := io.Copy(io.Discard, from); err == nil {
		t.Error("the stream ends as if it were whole")
	}
	l.waitsFor(t, "it still listens", func() bool { return l.done == 1 })
}

// HTTP/1.0 has no chunks: net/http keeps the connection, and the stream still goes to its end.
func TestListenOverHTTP10(t *testing.T) {
	l := listens(t, (*httptest.Server).Start)
	conn, err := net.Dial("tcp", l.web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
	l.say(t, "one")
	from := bufio.NewReader(conn)
	hears(t, from, "one")
	l.of.end()
	if rest, err := io.ReadAll(from); err != nil || string(rest) != "\n" {
		t.Errorf("%q, %v", rest, err)
	}
}

// A waiting listener costs one goroutine.
func TestListenersAreCheap(t *testing.T) {
	l := listens(t, (*httptest.Server).Start)
	const many = 50
	var streams [many]*stream
	next := make(chan *stream, many)
	for i := range streams {
		streams[i] = newStream("0")
		next <- streams[i]
	}
	l.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visit{w: w, r: r, held: &held{}}
		l.listen(v, beginListening(v), listener{of: <-next, from: 1, done: func() {}})
	})
	before := runtime.NumGoroutine()
	for range many {
		conn, err := net.Dial("tcp", l.web.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", conn.RemoteAddr())
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	l.waitsFor(t, "more than a goroutine each", func() bool { return runtime.NumGoroutine()-before <= many })
	for _, s := range streams {
		s.end()
	}
}

// A host that does not read cannot keep a server from ending.
func TestAStuckReaderIsHungUpOn(t *testing.T) {
	ours, theirs := net.Pipe() // nobody reads theirs
	defer theirs.Close()
	s := &Server{}
	line, h := &waiting{conn: ours}, &held{}
	s.open.hold(h)
	st := newStream("a")
	if err := st.put([]byte(`{}`), false, nil); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	if !s.open.begin(func() { defer close(ended); defer s.open.unlisten(h); line.follow(listener{of: st, from: 1}) }, h, line) {
		t.Fatal("it did not begin")
	}
	s.open.hangUp()
	<-ended
	s.wg.Wait()
	if len(s.open.held) != 0 {
		t.Errorf("%d connections are left", len(s.open.held))
	}
}
