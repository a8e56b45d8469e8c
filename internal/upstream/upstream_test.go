package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
	"callgate/internal/upstream/lifetime"
)

var hello = Hello{
	ProtocolVersion: "2025-06-18",
	Capabilities:    []byte(`{ "roots":{} ,"x":1.0}`),
	ClientInfo:      []byte(`{"name":"host","version":"1"}`),
}

// host records an upstream's events.
type host struct {
	t     testing.TB
	mu    sync.Mutex
	lines []string
	more  chan struct{}
}

func newHost(t testing.TB) *host { return &host{t: t, more: make(chan struct{}, 1)} }

func (h *host) add(format string, args ...any) {
	h.mu.Lock()
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
	h.mu.Unlock()
	select {
	case h.more <- struct{}{}:
	default:
	}
}

func (h *host) events() Events {
	return Events{
		Notification: func(_ *Upstream, m rpc.Message, _ any) { h.add("notification %s %s", m.Method, m.Params) },
		Request:      func(_ *Upstream, m rpc.Message, _ any) { h.add("request %s %s %s", m.ID, m.Method, m.Params) },
		StateChanged: func(_ *Upstream, s State) { h.add("state %v", s) },
		ListChanged: func(u *Upstream, k Kind) {
			list, _ := u.Lists.Known(k)
			h.add("list %v %s", k, keys(list))
		},
	}
}

func keys(l List) string {
	var all []string
	for _, i := range l.Items {
		all = append(all, i.Key)
	}
	return strings.Join(all, ",")
}

// wait returns the first event that begins with prefix, and drops it and all before it.
func (h *host) wait(prefix string) string {
	h.t.Helper()
	timeout := time.After(waits.Limit)
	for {
		h.mu.Lock()
		i := slices.IndexFunc(h.lines, func(l string) bool { return strings.HasPrefix(l, prefix) })
		if i >= 0 {
			line := h.lines[i]
			h.lines = slices.Delete(h.lines, i, i+1)
			h.mu.Unlock()
			return line
		}
		h.mu.Unlock()
		select {
		case <-h.more:
		case <-timeout:
			h.t.Fatalf("no event %q; there are %q", prefix, h.all())
		}
	}
}

func (h *host) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.lines)
}

// open returns a started upstream that is closed at the end of the test.
func open(t testing.TB, cfg Config, o Options) *Upstream {
	t.Helper()
	if o.Logger == nil {
		o.Logger = logger(t)
	}
	u := New(cfg, o)
	u.grace = 300 * time.Millisecond
	t.Cleanup(u.Close)
	u.Start(hello)
	return u
}

func logger(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func short(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), waits.Limit)
	t.Cleanup(cancel)
	return ctx
}

// call sends a request that must succeed, and returns its result.
func call(t testing.TB, u *Upstream, method, params string) string {
	t.Helper()
	var raw []byte
	if params != "" {
		raw = []byte(params)
	}
	m, err := u.Request(short(t), method, raw)
	if err != nil || m.Error != nil {
		t.Fatalf("%s: %v, error %s", method, err, m.Error)
	}
	return string(m.Result)
}

func TestHandshakeAndRawRequests(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{Noise: "Server listening on \x1b[1mstdio\n\n[1,2]"}), Options{})
	info, err := u.Ready(short(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.ProtocolVersion != "2025-06-18" || string(info.Instructions) != `"be nice"` || string(info.ServerInfo) != `{"name":"test","version":"1"}` {
		t.Errorf("info = %s", info.Raw)
	}
	if !bytes.Contains(info.Raw, []byte(`"capabilities":{"roots":{},"x":1.0},"clientInfo":{"name":"host","version":"1"}`)) {
		t.Errorf("the server was greeted with %s", info.Raw)
	}

	params := `{"n":9007199254740993,"f":1.0,"u":"\u0041"}`
	if got := call(t, u, "echo", params); got != params {
		t.Errorf("echo = %s", got)
	}
	if got := call(t, u, "echo", "{\"a\":\n\r\n1}"); got != `{"a":   1}` {
		t.Errorf("line ends arrive as %q", got)
	}
	m, err := u.Request(short(t), "fault", nil)
	if err != nil || string(m.Error) != `{"code":-32042,"message":"special","data":{"n":1.0}}` {
		t.Errorf("error response = %s, %v", m.Error, err)
	}
	m, err = u.Forward(short(t), func(id []byte) []byte {
		return []byte(`{"extra":[1.0],"params":{"k":"v"},"id":` + string(id) + `,` + "\n" + `"method":"echo","jsonrpc":"2.0"}`)
	})
	if err != nil || string(m.Result) != `{"k":"v"}` {
		t.Errorf("forwarded: %s, %v", m.Raw, err)
	}
}

func TestManyCallersStartOneProcess(t *testing.T) {
	t.Parallel()
	starts := filepath.Join(t.TempDir(), "starts")
	u := open(t, configOf(t, behaviour{StartFile: starts}), Options{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if _, err := u.Ready(short(t)); err != nil {
				t.Error(err)
			}
			u.Start(hello)
			want := fmt.Sprintf(`{"n":%d}`, i)
			if m, err := u.Request(short(t), "echo", []byte(want)); err != nil || string(m.Result) != want {
				t.Errorf("echo = %s, %v", m.Result, err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(starts)
	if err != nil || strings.Count(string(text), "\n") != 1 {
		t.Errorf("started %q, %v", text, err)
	}
}

func TestStartThatFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		cfg    Config
		reason string
		stderr string
	}{
		{"no such program", Config{Command: "callgate-no-such-program"}, `there is no program "callgate-no-such-program" on the PATH`, ""},
		{"no command", Config{}, "no command", ""},
		{"no such folder", Config{Command: "/bin/sh", Dir: "/callgate/no/such/folder"}, "no such file or directory", ""},
		{"bad environment", Config{Command: "/bin/sh", Env: []string{"SECRET"}}, "NAME=value", ""},
		{"exit", configOf(t, behaviour{Start: "exit"}), "exit status 3", "first line|no  [31mdatabase [0m found"},
		{"silence", configOf(t, behaviour{Start: "silent"}), "not finished within", ""},
		{"refusal", configOf(t, behaviour{Start: "refuse"}), "refuses the handshake", ""},
		{"malformed answer", configOf(t, behaviour{Start: "malformed"}), "malformed", ""},
		{"capabilities that are none", configOf(t, behaviour{Caps: `[]`}), "capabilities are malformed", ""},
		{"unknown version", configOf(t, behaviour{Version: "2099-01-01"}), `"2099-01-01"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Name = "files"
			if c.name == "silence" {
				c.cfg.StartTimeout = 500 * time.Millisecond
			}
			h := newHost(t)
			u := open(t, c.cfg, Options{Events: h.events()})
			_, err := u.Ready(short(t))
			var down *DownError
			if !errors.As(err, &down) {
				t.Fatalf("error = %v", err)
			}
			if down.Server != "files" || !strings.Contains(down.Reason, c.reason) || strings.ContainsRune(err.Error(), 0x1b) {
				t.Errorf("error = %q", err)
			}
			if got := strings.Join(down.Stderr, "|"); !strings.HasPrefix(got, c.stderr) { // with coverage it writes more
				t.Errorf("stderr = %q", got)
			}
			h.wait("state down")

			_, err = u.Request(short(t), "echo", nil)
			if !errors.As(err, &down) || !strings.Contains(err.Error(), "tried again in") {
				t.Errorf("within the backoff: %v", err)
			}
			if s := u.Status(); s.State != Down || s.RetryAt.IsZero() || s.Reason != down.Explain() {
				t.Errorf("status = %+v", s)
			}
		})
	}
}

func TestUseBeforeStart(t *testing.T) {
	t.Parallel()
	u := New(configOf(t, behaviour{}), Options{})
	defer u.Close()
	if _, err := u.Ready(short(t)); !errors.Is(err, errNotStarted) {
		t.Errorf("error = %v", err)
	}
}

func TestCrashInMidCallAndRestartOnUse(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{Unknown: "exit"}), Options{Events: h.events()})
	call(t, u, "echo", "{}")
	first := u.Status().PID

	other := make(chan error, 1)
	go func() {
		_, err := u.Request(short(t), "hang", nil)
		other <- err
	}()
	call(t, u, "echo", "{}") // the other request has been sent
	_, err := u.Request(short(t), "crash", nil)
	var down *DownError
	if !errors.As(err, &down) || down.Reason != "exit status 7" || !slices.Contains(down.Stderr, "about to crash") {
		t.Fatalf("error = %#v", err)
	}
	if err := <-other; !errors.As(err, &down) {
		t.Errorf("the other caller got %v", err)
	}
	h.wait("state down")

	time.Sleep(time.Until(u.Status().RetryAt))
	call(t, u, "echo", "{}")
	if again := u.Status().PID; again == first || again == 0 {
		t.Errorf("restarted as %d, was %d", again, first)
	}
	if _, err := u.Request(short(t), "unknown", nil); !errors.As(err, &down) || down.Reason != "exit status 5" {
		t.Errorf("error = %v", err)
	}
	if wait := time.Until(down.RetryAt); wait > 2*minBackoff || wait < minBackoff/2 {
		t.Errorf("second failure waits %v", wait)
	}
}

func TestServerThatClosesItsStreams(t *testing.T) {
	t.Parallel()
	t.Run("stdout", func(t *testing.T) {
		u := open(t, configOf(t, behaviour{}), Options{})
		_, err := u.Request(short(t), "shut", nil)
		var down *DownError
		if !errors.As(err, &down) || !strings.Contains(down.Reason, "closed its standard output") {
			t.Errorf("error = %v", err)
		}
	})
	t.Run("stdin", func(t *testing.T) {
		u := open(t, configOf(t, behaviour{}), Options{})
		call(t, u, "close stdin", "")
		_, err := u.Request(short(t), "echo", nil)
		var down *DownError
		if !errors.As(err, &down) || !strings.Contains(down.Reason, "takes no more input") {
			t.Errorf("error = %v", err)
		}
	})
}

func TestGiantMessageEndsTheServer(t *testing.T) {
	t.Parallel()
	cfg := configOf(t, behaviour{})
	cfg.MaxMessage = 1 << 20
	u := open(t, cfg, Options{})
	call(t, u, "giant", `{"n":1000000}`)
	_, err := u.Request(short(t), "giant", []byte(`{"n":3000000}`))
	var down *DownError
	if !errors.As(err, &down) || !strings.Contains(down.Reason, "longer than 1048576 bytes") {
		t.Errorf("error = %v", err)
	}
}

func TestCancelIsSent(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{}), Options{})
	call(t, u, "echo", "{}")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(500*time.Millisecond, func() { cancel(errors.New(`the "person" left`)) })
	if _, err := u.Request(ctx, "hang", nil); err != context.Canceled {
		t.Errorf("error = %v", err)
	}
	got := call(t, u, "cancelled", "")
	if !strings.Contains(got, `requestId\":\"cg-`) || !strings.Contains(got, `the \\\"person\\\" left`) {
		t.Errorf("the server got %s", got)
	}

	ctx, stop := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer stop()
	if _, err := u.Request(ctx, "slow", []byte(`{"n":1500}`)); err != context.DeadlineExceeded {
		t.Errorf("error = %v", err)
	}
	time.Sleep(2 * time.Second) // the late answer must not confuse anybody
	if got := call(t, u, "echo", `{"x":1}`); got != `{"x":1}` {
		t.Errorf("after a late answer: %s", got)
	}
}

// posted is a request that no goroutine waits for.
type posted struct {
	method, params string
	heard          chan<- end
}

type end struct {
	m   rpc.Message
	err error
}

func (p posted) Compose(id []byte) []byte          { return rpc.Request(id, p.method, []byte(p.params)) }
func (p posted) Answered(m rpc.Message, err error) { p.heard <- end{m, err} }

// A posted request ends as one does that somebody waits for.
func TestPost(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{}), Options{})
	call(t, u, "echo", "{}")
	heard := make(chan end, 1)
	post := func(life *lifetime.Request, method, params string) bool {
		return u.Post(life, posted{method, params, heard})
	}
	life := lifetime.New(t.Context(), nil)
	if !post(life, "echo", `{"x":1.0}`) {
		t.Fatal("not sent")
	}
	if e := <-heard; e.err != nil || string(e.m.Result) != `{"x":1.0}` {
		t.Errorf("%s, %v", e.m.Raw, e.err)
	}

	if !post(life, "hang", "{}") {
		t.Fatal("not sent")
	}
	life.End(errors.New("the person left"))
	if e := <-heard; e.err != context.Canceled {
		t.Errorf("a cancelled request: %v", e.err)
	}
	if got := call(t, u, "cancelled", ""); !strings.Contains(got, "the person left") {
		t.Errorf("the server got %s", got)
	}
	if post(life, "echo", "{}") {
		t.Error("a request is sent for who has gone")
	}

	life = lifetime.New(t.Context(), nil)
	if !post(life, "hang", "{}") {
		t.Fatal("not sent")
	}
	u.Close()
	var down *DownError
	if e := <-heard; !errors.As(e.err, &down) || down.Reason != "closed" {
		t.Errorf("when the server ends: %v", e.err)
	}
	if post(life, "echo", "{}") {
		t.Error("a request is sent to a server that is closed")
	}
}

// A call can be cancelled just as a person approves it. The server then never hears of it.
func TestNothingIsSentForWhoHasGone(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{}), Options{})
	call(t, u, "echo", "{}")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := u.Forward(ctx, func(id []byte) []byte {
		t.Error("a request of nobody was composed")
		return rpc.Request(id, "echo", []byte(`{}`))
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if got := call(t, u, "cancelled", ""); strings.Contains(got, "requestId") {
		t.Errorf("the server was told of the end of what never began: %s", got)
	}
}

func TestServerThatDoesNotReadBlocksNobody(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{}), Options{})
	call(t, u, "stop reading", `{"n":700}`)
	big := []byte(`"` + strings.Repeat("y", 300_000) + `"`)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := u.Request(ctx, "echo", big); err != context.DeadlineExceeded {
		t.Errorf("error = %v", err)
	}
	for range 100 {
		u.Notify("notifications/told", []byte(`{"n":1}`))
	}
	if since := time.Since(began); since > 600*time.Millisecond {
		t.Skipf("the machine is too slow to tell: %v", since)
	}
	if got := call(t, u, "echo", string(big)); got != string(big) {
		t.Errorf("got %d bytes", len(got))
	}
	if got := call(t, u, "cancelled", ""); strings.Count(got, "told")+strings.Count(got, `{\"n\":1}`) != 100 || !strings.Contains(got, "deadline") {
		t.Errorf("notifications arrived: %.300s", got)
	}
}

func TestServerRequests(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{}), Options{Events: h.events()})
	call(t, u, "ask", `{"id":1,"n":5}`)
	line := h.wait("request ")
	own, rest, _ := strings.Cut(strings.TrimPrefix(line, "request "), " ")
	if own == "1" || rest != `sampling/createMessage {"n":5}` {
		t.Fatalf("event = %s", line)
	}
	u.Reply([]byte("{\"id\":" + own + ",\n\"result\":{\"v\":1.0},\"jsonrpc\":\"2.0\"}"))
	u.Reply([]byte(`{"id":` + own + `,"result":"twice","jsonrpc":"2.0"}`))
	u.Reply([]byte(`{"id":1,"result":"forged","jsonrpc":"2.0"}`))
	u.Reply([]byte(`no JSON`))
	if got := call(t, u, "answers", ""); got != `{"1":"{\"v\":1.0}"}` {
		t.Errorf("the server got %s", got)
	}

	call(t, u, "ping me", `{"id":"p"}`)
	if got := call(t, u, "answers", ""); !strings.Contains(got, `"\"p\"":"{}"`) {
		t.Errorf("ping: the server got %s", got)
	}

	call(t, u, "ask", `{"id":"q","n":1}`)
	own, _, _ = strings.Cut(strings.TrimPrefix(h.wait("request "), "request "), " ")
	call(t, u, "withdraw", `{"id":"nobody's"}`)
	call(t, u, "withdraw", `{"id":"q"}`)
	if got, want := h.wait("notification "), `notification notifications/cancelled {"requestId":`+own+`,"reason":"r"}`; got != want {
		t.Errorf("event = %s, want %s", got, want)
	}
	u.Reply([]byte(`{"id":` + own + `,"result":"too late","jsonrpc":"2.0"}`))
	if got := call(t, u, "answers", ""); strings.Contains(got, "too late") {
		t.Errorf("the server got %s", got)
	}
}

func TestServerThatSpeaksBeforeItIsGreeted(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{
		Noise: `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/message","params":{}}` + "\n" +
			`{"jsonrpc":"2.0","id":null,"method":"roots/list"}`,
		Pages: map[string][]string{"tools/list": {`{"tools":[{"name":"a"}]}`}},
	}), Options{Events: h.events()})
	if list, err := u.Lists.Fresh(short(t), Tools); err != nil || keys(list) != "a" {
		t.Errorf("tools = %s, %v", keys(list), err)
	}
	h.wait("notification notifications/message")
	h.wait("request ")
}

func TestServerOutOfTurn(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{}), Options{Events: h.events()})
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"cg-999","result":{}}`,
		`{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"m"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestid":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":[]}`,
		`{"jsonrpc":"2.0","method":"a","Method":"notifications/message"}`,
		`{"jsonrpc":"2.0","id":8,"method":"first"}`,
		`{"jsonrpc":"2.0","id":8,"method":"same id"}`,
	} {
		call(t, u, "say", encode(map[string]string{"line": line}))
	}
	h.wait("request ")
	if got := call(t, u, "answers", ""); got != `{"8":""}` { // the error for the id that is in use
		t.Errorf("the server got %s", got)
	}
	for _, line := range h.all() {
		if !strings.HasPrefix(line, "state") && !strings.HasPrefix(line, "list") {
			t.Errorf("event %q", line)
		}
	}
}

func TestAnswerNeverReachesTheNextProcess(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{}), Options{Events: h.events()})
	call(t, u, "ask", `{"id":1,"n":1}`)
	old, _, _ := strings.Cut(strings.TrimPrefix(h.wait("request "), "request "), " ")
	if _, err := u.Request(short(t), "crash", nil); err == nil {
		t.Fatal("it did not crash")
	}
	time.Sleep(time.Until(u.Status().RetryAt))
	call(t, u, "ask", `{"id":1,"n":2}`)
	h.wait("request ")
	u.Reply([]byte(`{"id":` + old + `,"result":"yes","jsonrpc":"2.0"}`))
	if got := call(t, u, "answers", ""); got != `{}` {
		t.Errorf("the second process got %s", got)
	}
}

func TestFloodOfServerRequestsIsRefused(t *testing.T) {
	t.Parallel()
	var a asks
	in := &incarnation{}
	for i := range maxAsks {
		if _, ok := a.add(in, fmt.Appendf(nil, "%d", i)); !ok {
			t.Fatalf("request %d refused", i)
		}
	}
	if _, ok := a.add(in, []byte("more")); ok {
		t.Error("one more accepted")
	}
	a.drop(in)
	if _, ok := a.add(in, []byte("1")); !ok {
		t.Error("refused after the others were dropped")
	}
	if _, ok := a.add(in, []byte("1")); ok {
		t.Error("the same id accepted twice")
	}
	if _, ok := a.add(&incarnation{}, []byte("1")); !ok {
		t.Error("the same id of another process refused")
	}
}

func TestServerRequestsWithoutAListener(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{}), Options{})
	call(t, u, "ask", `{"id":1,"n":5}`)
	if got := call(t, u, "answers", ""); got != `{"1":""}` {
		t.Errorf("the server got %s", got)
	}
}

func TestNotificationsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, configOf(t, behaviour{}), Options{Events: h.events()})
	u.Notify("notifications/told", []byte(`{"early":true}`)) // the server is not ready: dropped
	call(t, u, "echo", "{}")
	for i := range 50 {
		u.Notify("notifications/told", fmt.Appendf(nil, `{"n":%d}`, i))
		if i%10 == 0 {
			call(t, u, "notify", fmt.Sprint(i))
			if got, want := h.wait("notification"), fmt.Sprintf(`notification notifications/message {"data":%d}`, i); got != want {
				t.Fatalf("got %s, want %s", got, want)
			}
		}
	}
	var want []string
	for i := range 50 {
		want = append(want, fmt.Sprintf(`{"n":%d}`, i))
	}
	if got := call(t, u, "cancelled", ""); got != encode(want) {
		t.Errorf("the server got %s", got)
	}
}

func TestStatesInOrder(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := New(configOf(t, behaviour{}), Options{Events: h.events()})
	u.Start(hello)
	call(t, u, "echo", "{}")
	u.Close()
	u.Close()
	var got []string
	for _, line := range h.all() {
		if s, ok := strings.CutPrefix(line, "state "); ok {
			got = append(got, s)
		}
	}
	if want := []string{"starting", "ready", "closed"}; !slices.Equal(got, want) {
		t.Errorf("states = %q, want %q", got, want)
	}
	_, err := u.Request(short(t), "echo", nil)
	var down *DownError
	if !errors.As(err, &down) || down.Reason != "closed" {
		t.Errorf("after Close: %v", err)
	}
}

func TestCloseWhileStartingAndInMidCall(t *testing.T) {
	t.Parallel()
	for _, b := range []behaviour{{Start: "silent"}, {}} {
		u := open(t, configOf(t, b), Options{})
		failed := make(chan error, 1)
		go func() {
			_, err := u.Request(short(t), "hang", nil)
			failed <- err
		}()
		time.Sleep(100 * time.Millisecond)
		u.Close()
		var down *DownError
		if err := <-failed; !errors.As(err, &down) || down.Reason != "closed" {
			t.Errorf("error = %v", err)
		}
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	var b backoff
	for i, want := range []time.Duration{
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second,
		time.Minute, 2 * time.Minute, 4 * time.Minute, 5 * time.Minute, 5 * time.Minute,
	} {
		if got := b.next(); got != want {
			t.Errorf("failure %d waits %v, want %v", i+1, got, want)
		}
		if b.open() != (i >= 5) {
			t.Errorf("failure %d: open %v", i+1, b.open())
		}
	}
	for range 100 {
		b.next()
	}
	if got := b.next(); got != maxOpen {
		t.Errorf("after many failures: %v", got)
	}
}

func TestStderrIsCleanedCutAndLimited(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newStderr(slog.New(slog.NewTextHandler(&log, nil)))
	text := "plain\n\n\x1b[31mred\x1b[0m\u202e\r\nbad \xff byte\n" + strings.Repeat("l", 3*maxLine) + "\n"
	for i := range 300 {
		text += fmt.Sprintf("line %d\n", i)
	}
	s.read(strings.NewReader(text + "no line end"))
	last := s.last()
	if len(last) != keptLines || last[len(last)-1] != "no line end" || last[0] != "line 281" {
		t.Errorf("kept %q", last)
	}
	for _, want := range []string{"line=plain", `line="[31mred [0m"`, "bad \uFFFD byte", "line=" + strings.Repeat("l", maxLine) + "\n", "lines left out"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %.60q", want)
		}
	}
	if n := strings.Count(log.String(), "server stderr"); n < logBurst || n > logBurst+50 {
		t.Errorf("%d lines logged", n)
	}
	if strings.Contains(log.String(), strings.Repeat("l", maxLine+1)) {
		t.Error("a long line was not cut")
	}
}

func TestChattyServerDoesNotHang(t *testing.T) {
	t.Parallel()
	u := open(t, configOf(t, behaviour{}), Options{Logger: slog.New(slog.DiscardHandler)})
	call(t, u, "chatter", `{"n":20000}`)
}

func BenchmarkRequest(b *testing.B) {
	u := open(b, configOf(b, behaviour{}), Options{Logger: slog.New(slog.DiscardHandler)})
	ctx := context.Background()
	if _, err := u.Ready(ctx); err != nil {
		b.Fatal(err)
	}
	params := []byte(`{"name":"read_file","arguments":{"path":"/tmp/x"}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := u.Request(ctx, "echo", params); err != nil {
			b.Fatal(err)
		}
	}
}
