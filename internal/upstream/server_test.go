package upstream

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// If this variable holds a behaviour, the test binary is the server.
const behaviourVariable = "UPSTREAM_TEST_BEHAVIOUR"

// If this one does, it is a process that runs such a server, prints the process ids, and waits to be killed.
const parentVariable = "UPSTREAM_TEST_PARENT"

// beParent runs the server whose configuration text holds.
func beParent(text string) {
	var cfg Config
	if err := json.Unmarshal([]byte(text), &cfg); err != nil {
		panic(err)
	}
	u := New(cfg, Options{})
	u.Start(hello)
	m, err := u.Request(context.Background(), "child", nil)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d %s\n", u.Status().PID, m.Result)
	forever()
}

// behaviour says what the server does besides answering.
type behaviour struct {
	Start     string                     // "", "silent", "refuse", "exit", "deaf", "malformed"
	Version   string                     // in the handshake; "" means the host's
	Noise     string                     // written to stdout before anything else
	Stubborn  bool                       // ignores the end of stdin, and SIGTERM
	Pages     map[string][]string        // raw results by method, served by cursor
	Loop      string                     // list method with a further page after every page
	Caps      string                     // capabilities; "" means those that Pages need
	Announce  int                        // list_changed notifications after the handshake, and again with Late
	Unknown   string                     // "exit": an unknown method ends the server
	StartFile string                     // gets a line for each start
	Late      map[string][]string        // replaces Pages after the first list request of that method
	Extra     map[string]json.RawMessage // members of the initialize result
}

func TestMain(m *testing.M) {
	if text := os.Getenv(behaviourVariable); text != "" {
		var b behaviour
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			panic(err)
		}
		serve(b)
		os.Exit(0)
	}
	if text := os.Getenv(parentVariable); text != "" {
		beParent(text)
	}
	os.Exit(m.Run())
}

// configOf returns a configuration that runs the test binary as such a server.
func configOf(t testing.TB, b behaviour) Config {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Name: "test", Command: self, Env: []string{behaviourVariable + "=" + string(text)}}
}

type server struct {
	behaviour
	mu        sync.Mutex
	out       *bufio.Writer
	cancelled []string
	asked     map[string]string
	listed    map[string]int
}

func serve(b behaviour) {
	if b.Stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	if b.StartFile != "" {
		f, err := os.OpenFile(b.StartFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	}
	s := &server{behaviour: b, out: bufio.NewWriter(os.Stdout), asked: map[string]string{}, listed: map[string]int{}}
	if b.Noise != "" {
		s.write(b.Noise)
	}
	switch b.Start {
	case "exit":
		fmt.Fprintln(os.Stderr, "first line\nno \x1b[31mdatabase\x1b[0m found")
		os.Exit(3)
	case "deaf":
		forever()
	}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if b.Stubborn {
				forever()
			}
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintf(os.Stderr, "bad message %q: %v\n", line, err)
			os.Exit(9)
		}
		s.handle(m)
	}
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
}

func (s *server) write(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out.WriteString(line)
	s.out.WriteByte('\n')
	s.out.Flush()
}

func (s *server) announce(n int) {
	for range n {
		s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}
}

func (s *server) result(m message, format string, args ...any) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, fmt.Sprintf(format, args...)))
}

func (s *server) fault(m message, code int, text string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s,"data":{"n":1.0}}}`, m.ID, code, encode(text)))
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (s *server) handle(m message) {
	var p struct {
		RequestID json.RawMessage
		Cursor    *string
		N         int
		ID        json.RawMessage
		Line      string
	}
	if len(m.Params) > 0 && m.Params[0] == '{' {
		if err := json.Unmarshal(m.Params, &p); err != nil {
			panic(err)
		}
	}
	switch m.Method {
	case "initialize":
		s.initialize(m)
	case "notifications/initialized":
		s.announce(s.Announce)
	case "notifications/cancelled":
		s.cancelled = append(s.cancelled, string(m.Params))
	case "notifications/told":
		s.cancelled = append(s.cancelled, string(m.Params))
	case "cancelled":
		s.result(m, "%s", encode(s.cancelled))
	case "echo":
		s.result(m, "%s", m.Params)
	case "fault":
		s.fault(m, -32042, "special")
	case "environ":
		s.result(m, "%s", encode(os.Environ()))
	case "args":
		dir, err := os.Getwd()
		if err != nil {
			panic(err)
		}
		s.result(m, "%s", encode([]any{os.Args, dir}))
	case "hang":
	case "slow":
		time.AfterFunc(time.Duration(p.N)*time.Millisecond, func() { s.result(m, `"late"`) })
	case "crash":
		fmt.Fprintln(os.Stderr, "about to crash")
		os.Exit(7)
	case "shut":
		os.Stdin.Close()
		os.Stdout.Close()
		forever()
	case "close stdin":
		os.Stdin.Close()
		s.result(m, "{}")
		forever()
	case "giant":
		s.write(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":"` + strings.Repeat("x", p.N) + `"}`)
	case "stop reading":
		s.result(m, "{}")
		time.Sleep(time.Duration(p.N) * time.Millisecond)
	case "chatter":
		for i := range p.N {
			fmt.Fprintln(os.Stderr, "line", i, strings.Repeat("z", 10))
		}
		s.result(m, "{}")
	case "child":
		s.child(m)
	case "change":
		s.Pages["tools/list"] = []string{`{"tools":[{"name":"changed"}]}`}
		s.announce(p.N)
		s.result(m, "{}")
	case "notify":
		s.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":` + string(m.Params) + `}}`)
		s.result(m, "{}")
	case "say":
		s.write(p.Line)
		s.result(m, "{}")
	case "ask":
		s.write(fmt.Sprintf(`{"x":1.0,"jsonrpc":"2.0","id":%s,"method":"sampling/createMessage","params":{"n":%d}}`, p.ID, p.N))
		s.result(m, "{}")
	case "withdraw":
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s,"reason":"r"}}`, p.ID))
		s.result(m, "{}")
	case "ping me":
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, p.ID))
		s.result(m, "{}")
	case "answers":
		s.result(m, "%s", encode(s.asked))
	case "":
		s.asked[string(m.ID)] = string(m.Result)
	default:
		s.other(m, p.Cursor)
	}
}

func (s *server) initialize(m message) {
	switch s.Start {
	case "silent":
		return
	case "refuse":
		s.fault(m, -32602, "no such \x1b[2Jversion")
		return
	case "malformed":
		s.result(m, `{"protocolVersion":7}`)
		return
	}
	var hello struct{ ProtocolVersion string }
	if err := json.Unmarshal(m.Params, &hello); err != nil {
		panic(err)
	}
	version := s.Version
	if version == "" {
		version = hello.ProtocolVersion
	}
	caps := s.Caps
	if caps == "" {
		declared := map[string]any{}
		for method := range s.Pages {
			declared[strings.Split(method, "/")[0]] = map[string]any{"listChanged": true}
		}
		if s.Loop != "" {
			declared[strings.Split(s.Loop, "/")[0]] = map[string]any{}
		}
		caps = encode(declared)
	}
	result := map[string]any{
		"protocolVersion": version,
		"capabilities":    json.RawMessage(caps),
		"serverInfo":      map[string]any{"name": "test", "version": "1"},
		"instructions":    "be nice",
		"echo":            m.Params,
	}
	for name, value := range s.Extra {
		result[name] = value
	}
	s.result(m, "%s", encode(result))
}

func (s *server) other(m message, cursor *string) {
	if m.Method == s.Loop {
		s.listed[m.Method]++
		n := s.listed[m.Method]
		s.result(m, `{"tools":[{"name":"t%d"}],"nextCursor":"c%d"}`, n, n)
		return
	}
	pages, ok := s.Pages[m.Method]
	switch {
	case ok:
		s.listed[m.Method]++
		page := 0
		if cursor != nil { // the cursor of page 1 is "", of page 2 "2", and so on
			page = 1
			fmt.Sscan(*cursor, &page)
		}
		s.result(m, "%s", pages[page])
		if late, ok := s.Late[m.Method]; ok && page == len(pages)-1 {
			s.Pages[m.Method] = late
			s.announce(s.Announce)
		}
	case s.Unknown == "exit":
		os.Exit(5)
	case m.ID != nil:
		s.fault(m, -32601, "method not found")
	}
}

// child starts a process that ignores SIGTERM and the end of its input and holds stdout open.
func (s *server) child(m message) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), behaviourVariable+"="+encode(behaviour{Start: "deaf", Stubborn: true}))
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	if err := c.Start(); err != nil {
		panic(err)
	}
	s.result(m, "%d", c.Process.Pid)
}

// forever blocks without counting as a deadlock.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}
