package hooks

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"callgate/internal/testserver/waits"
)

const testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// receiver is a webhook's other end, behind TLS. It checks every signature and remembers what it took.
type receiver struct {
	*httptest.Server
	caFile string

	mu     sync.Mutex
	answer func(n int, w http.ResponseWriter) // answers the nth request, from 1; nil takes everything
	taken  []string                           // details, in order
	ids    []string                           // of every attempt
	wrong  []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	verifier, err := standardwebhooks.NewWebhook(testSecret)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err := errors.Join(err, verifier.Verify(body, q.Header)); err != nil || q.Method != http.MethodPost || q.Header.Get("Content-Type") != "application/json" {
			r.wrong = append(r.wrong, fmt.Sprintf("%s %v: %v", q.Method, q.Header, err))
		}
		r.ids = append(r.ids, q.Header.Get("webhook-id"))
		if r.answer != nil {
			if r.answer(len(r.ids), w); w.(*recorder).status >= 300 {
				return
			}
		}
		var m message
		if err := json.Unmarshal(body, &m); err != nil {
			r.wrong = append(r.wrong, err.Error())
		}
		r.taken = append(r.taken, m.Detail)
	}))
	handler := r.Server.Config.Handler
	r.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { handler.ServeHTTP(&recorder{w, 200}, q) })
	r.Server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(r.Close)
	r.caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(r.caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *receiver) has() (taken, ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken), slices.Clone(r.ids)
}

func (r *receiver) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.wrong {
		t.Error(w)
	}
}

func (r *receiver) hook() Config {
	return Config{Name: "send", Event: []string{ToolCompleted}, Action: Action{URL: r.URL, SecretEnv: "TEST_WEBHOOK_SECRET", CAFile: r.caFile, AllowPrivate: true}}
}

// startIn starts a Runner in a folder, with hardly any pauses.
func startIn(t *testing.T, dir string, hooks ...Config) (*Runner, *lines) {
	t.Helper()
	t.Setenv("TEST_WEBHOOK_SECRET", testSecret)
	r, err := New(Options{Hooks: hooks, Worker: "w1", StateFile: filepath.Join(dir, "hooks.json"), QueueDir: filepath.Join(dir, "queues"), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	r.pace = pace{look: 20 * time.Millisecond, backoff: 10 * time.Millisecond, deciding: maxDeciding}
	log := &lines{}
	if err := r.Start(slog.New(slog.NewTextHandler(log, nil))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r, log
}

func fire(r *Runner, from, to int) (details []string) {
	for i := from; i <= to; i++ {
		detail := fmt.Sprintf("event %d", i)
		r.Fire(Event{Name: ToolCompleted, Tool: "a_b", Detail: detail, Ended: true})
		details = append(details, detail)
	}
	return details
}

func TestWebhookDelivers(t *testing.T) {
	to := newReceiver(t)
	r, _ := startIn(t, t.TempDir(), to.hook())
	want := fire(r, 1, 50)
	waits.Until(t, "all are taken", func() bool { taken, _ := to.has(); return len(taken) >= 50 })
	if taken, ids := to.has(); !slices.Equal(taken, want) || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 50 {
		t.Errorf("taken %q with %d ids", taken, len(ids))
	}
	output, err := r.Test(t.Context(), "send", Event{Name: ToolTest, Detail: "a test"})
	if taken, _ := to.has(); err != nil || output != "200 OK" || taken[len(taken)-1] != "a test" {
		t.Errorf("%q, %q: %v", output, taken[len(taken)-1], err)
	}
	to.check(t)
}

// An event that is not taken comes again with the same id, in order. Nothing that was taken comes twice.
func TestWebhookRetries(t *testing.T) {
	to := newReceiver(t)
	to.answer = func(n int, w http.ResponseWriter) {
		switch {
		case n%5 == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case n%5 == 2:
			w.WriteHeader(http.StatusTooManyRequests)
		case n%5 == 3:
			panic(http.ErrAbortHandler) // the connection breaks
		}
	}
	r, log := startIn(t, t.TempDir(), to.hook())
	want := fire(r, 1, 10)
	waits.Until(t, "all are taken", func() bool { taken, _ := to.has(); return len(taken) >= 10 })
	taken, ids := to.has()
	if !slices.Equal(taken, want) || len(slices.Compact(slices.Clone(ids))) != 10 || len(ids) < 20 {
		t.Errorf("taken %q, attempts %q", taken, ids)
	}
	for _, says := range []string{"503 Service Unavailable", "429 Too Many Requests", "EOF"} {
		if !strings.Contains(log.String(), says) {
			t.Errorf("the log does not say %q", says)
		}
	}
	to.check(t)
}

func TestWebhookGivesUp(t *testing.T) {
	to := newReceiver(t)
	to.answer = func(n int, w http.ResponseWriter) {
		switch n {
		case 1:
			w.WriteHeader(http.StatusBadRequest)
		case 2:
			w.Header().Set("Location", "http://169.254.169.254/latest/meta-data")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	}
	r, log := startIn(t, t.TempDir(), to.hook())
	fire(r, 1, 3)
	waits.Until(t, "the third is taken", func() bool { taken, _ := to.has(); return len(taken) == 1 })
	if taken, ids := to.has(); taken[0] != "event 3" || len(ids) != 3 || r.List(nil)[0].Failures != 2 {
		t.Errorf("%q, %q, %+v", taken, ids, r.List(nil)[0])
	}
	for _, says := range []string{"400 Bad Request", "leads elsewhere and is not followed"} {
		if !strings.Contains(log.String(), says) {
			t.Errorf("the log does not say %q", says)
		}
	}

	// 410: the receiver wants no more, now and after a restart.
	to.mu.Lock()
	to.answer = func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusGone) }
	to.mu.Unlock()
	fire(r, 4, 6)
	waits.Until(t, "it is off", func() bool { return !r.List(nil)[0].Enabled })
	fire(r, 7, 9)
	r.Close()
	if _, ids := to.has(); len(ids) != 4 || !strings.Contains(r.List(nil)[0].LastFailure.Error, "wants no more events") {
		t.Errorf("%q, %+v", ids, r.List(nil)[0])
	}
	to.check(t)
}

func TestWebhookToASlowReceiver(t *testing.T) {
	to := newReceiver(t)
	release := make(chan struct{})
	slow := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer slow.Close()
	defer close(release)
	hook := to.hook()
	hook.Timeout = time.Second // four hundred of these in a row would take longer than waits.Limit
	hook.Action.URL = slow.URL // from the same authority
	r, log := startIn(t, t.TempDir(), hook)
	began := time.Now()
	fire(r, 1, 400)
	if took := time.Since(began); took > waits.Limit {
		t.Errorf("firing took %s", took)
	}
	waits.Until(t, "it is said", func() bool { return strings.Contains(log.String(), "no answer within 1s") })
	began = time.Now()
	r.Close()
	if took := time.Since(began); took > waits.Limit {
		t.Errorf("closing took %s", took)
	}
}

// Events that were not taken wait on disk for the next process. Of several processes that share the folder, one sends.
func TestWebhookSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	to := newReceiver(t)
	down := true
	to.answer = func(_ int, w http.ResponseWriter) {
		if down {
			w.WriteHeader(http.StatusBadGateway)
		}
	}
	one, _ := startIn(t, dir, to.hook())
	want := fire(one, 1, 20)
	waits.Until(t, "it was tried", func() bool { _, ids := to.has(); return len(ids) > 0 })
	one.Close()
	to.mu.Lock()
	down = false
	to.mu.Unlock()
	if taken, _ := to.has(); len(taken) != 0 {
		t.Fatalf("taken: %q", taken)
	}
	two, _ := startIn(t, dir, to.hook())
	three, _ := startIn(t, dir, to.hook())
	waits.Until(t, "the old ones are taken", func() bool { taken, _ := to.has(); return len(taken) >= 20 })
	if taken, _ := to.has(); !slices.Equal(taken, want) {
		t.Errorf("taken %q", taken)
	}
	more := append(fire(two, 21, 40), fire(three, 41, 60)...)
	waits.Until(t, "those of both are taken", func() bool { taken, _ := to.has(); return len(taken) >= 60 })
	two.Close()
	last := fire(three, 61, 70)
	waits.Until(t, "the other one goes on", func() bool { taken, _ := to.has(); return len(taken) >= 70 })
	three.Close()
	taken, _ := to.has()
	if got, want := slices.Sorted(slices.Values(taken)), slices.Sorted(slices.Values(slices.Concat(want, more, last))); !slices.Equal(got, want) {
		t.Errorf("taken %q", got)
	}
	to.check(t)
}

func TestQueueIsBounded(t *testing.T) {
	q := newQueue(t.TempDir())
	big := make([]byte, maxBytes/4)
	for i := range 4 {
		if err := q.put(big); err != nil {
			t.Fatal(i, err)
		}
	}
	if err := q.put(big); err == nil || !strings.Contains(err.Error(), "which is the limit") {
		t.Errorf("the fifth quarter: %v", err)
	}
	waiting, err := q.list()
	if err != nil || len(waiting) != 4 {
		t.Fatal(waiting, err)
	}
	if err := q.remove(waiting[0]); err != nil {
		t.Fatal(err)
	}
	if err := q.put(big); err != nil {
		t.Errorf("after one was taken: %v", err)
	}
	if err := os.WriteFile(filepath.Join(q.dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if waiting, err := q.list(); err != nil || len(waiting) != 4 || !slices.IsSortedFunc(waiting, func(a, b entry) int { return a.at.Compare(b.at) }) {
		t.Errorf("%v %v", waiting, err)
	}
}

func TestPrivateAddressesAreRefused(t *testing.T) {
	to := newReceiver(t)
	port := to.Listener.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0"} {
		hook := to.hook()
		hook.Action.URL, hook.Action.AllowPrivate = fmt.Sprintf("https://%s:%d/", host, port), false
		r, _ := startIn(t, t.TempDir(), hook)
		if _, err := r.Test(t.Context(), "send", Event{Name: ToolTest}); !errors.Is(err, errPrivate) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if _, ids := to.has(); len(ids) != 0 {
		t.Error("it was connected to")
	}
}

func TestWebhookConfigurations(t *testing.T) {
	t.Setenv("TEST_WEBHOOK_SECRET", testSecret)
	t.Setenv("TEST_BAD_SECRET", "hunter2")
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": testSecret + "\n", "short": "whsec_YWJj", "nopem": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		action Action
		more   Config
		want   string
	}{
		{action: Action{URL: "https://example.com/hook?x=1", SecretFile: "secret"}},
		{action: Action{URL: "https://example.com/", SecretFile: "~/secret"}},
		{action: Action{URL: "https://example.com", SecretEnv: "TEST_WEBHOOK_SECRET"}},
		{action: Action{URL: "http://127.0.0.1:80/", AllowPrivate: true}},
		{action: Action{URL: "http://localhost/", AllowPrivate: true}},
		{action: Action{URL: "http://127.0.0.1:80/"}, want: "use https"},
		{action: Action{URL: "http://10.0.0.1/", AllowPrivate: true}, want: "use https"},
		{action: Action{URL: "ftp://example.com/"}, want: "ftp is not https"},
		{action: Action{URL: "example.com"}, want: "write https://"},
		{action: Action{Type: "webhook"}, want: "write https://"},
		{action: Action{URL: "https://a:b@example.com/"}, want: "has a user"},
		{action: Action{URL: "https://example.com/", SecretEnv: "TEST_NO_SECRET"}, want: "TEST_NO_SECRET must have whsec_"},
		{action: Action{URL: "https://example.com/", SecretEnv: "TEST_BAD_SECRET"}, want: "openssl rand"},
		{action: Action{URL: "https://example.com/", SecretFile: "short"}, want: "24 random bytes"},
		{action: Action{URL: "https://example.com/", SecretFile: "missing"}, want: "secretFile"},
		{action: Action{URL: "https://example.com/", SecretFile: "secret", SecretEnv: "X"}, want: "one of them"},
		{action: Action{URL: "https://example.com/", CAFile: "nopem"}, want: "no certificate"},
		{action: Action{URL: "https://example.com/"}, more: Config{Secrets: true}, want: "never posts any"},
		{action: Action{URL: "https://example.com/"}, more: Config{Timeout: time.Minute}, want: "at most 30s"},
	} {
		c.more.Name, c.more.Event, c.more.Action = "h", []string{ToolCompleted}, c.action
		r, err := New(Options{Hooks: []Config{c.more}, Dir: dir, Home: dir, QueueDir: filepath.Join(dir, "q"), StateFile: filepath.Join(dir, "s")})
		if err == nil {
			if problem := r.List(nil)[0].Problem; problem != "" {
				err = errors.New(problem)
			}
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: got %v, want %q", c.action, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the secret: %v", err)
		}
	}
}

// A webhook that is off may lack its secret when callgate starts. A test of it says so. Switched on, it keeps its
// events until the secret is there.
func TestWebhookWithoutItsSecret(t *testing.T) {
	dir, to := t.TempDir(), newReceiver(t)
	hook := to.hook()
	hook.Enabled, hook.Action.SecretEnv, hook.Action.SecretFile = new(bool), "", "secret"
	r, log := startIn(t, dir, hook)
	if _, err := r.Test(t.Context(), "send", Event{Name: ToolCompleted}); err == nil || !strings.Contains(err.Error(), "secretFile") {
		t.Errorf("the test says %v", err)
	}
	if err := r.SetEnabled("send", true); err != nil {
		t.Fatal(err)
	}
	want := fire(r, 1, 2)
	waits.Until(t, "an attempt fails", func() bool { return strings.Contains(log.String(), "secretFile") })
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte(testSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "the events are taken", func() bool { taken, _ := to.has(); return slices.Equal(taken, want) })
	to.check(t)
}

// Events that wait for a webhook that is no longer configured are reported, posted when it comes back, and dropped when
// they are too old.
func TestWebhookThatIsNotConfiguredAnyMore(t *testing.T) {
	dir, to := t.TempDir(), newReceiver(t)
	queues := filepath.Join(dir, "queues")
	old := newQueue(filepath.Join(queues, "send"))
	for _, body := range []string{`{"event":"old"}`, `{"event":"young"}`} {
		if err := old.put([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	waiting, err := old.list()
	if err != nil {
		t.Fatal(err)
	}
	stale := fmt.Sprintf("%020d-OLD%s", time.Now().Add(-maxAge-time.Minute).UnixNano(), eventFile)
	if err := os.Rename(filepath.Join(old.dir, waiting[0].file), filepath.Join(old.dir, stale)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(queues, "stray"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	log := &lines{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	orphans, err := Orphans(queues, nil)
	if err != nil || len(orphans) != 1 || orphans[0].Name != "send" || orphans[0].Events != 2 || time.Since(orphans[0].Oldest) < maxAge {
		t.Fatalf("%+v, %v", orphans, err)
	}
	if err := Expire(queues, nil, logger); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"are dropped\" hook=send events=1", "dropped when they are too old\" hook=send events=1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, log)
		}
	}
	if left, err := old.list(); err != nil || len(left) != 1 || left[0].file != waiting[1].file {
		t.Fatalf("%+v, %v", left, err)
	}

	r, _ := startIn(t, dir, to.hook())
	if orphans, err := Orphans(queues, r); err != nil || len(orphans) != 0 {
		t.Errorf("%+v, %v", orphans, err)
	}
	waits.Until(t, "it is posted after all", func() bool { _, ids := to.has(); return len(ids) == 1 })
	if err := Expire(filepath.Join(dir, "nowhere"), r, logger); err != nil {
		t.Error(err)
	}
}

// The outcome of a call is in the queue before anything relies on it. Once Fire has returned, a killed process loses
// nothing of it.
func TestWebhookIsKeptAtOnce(t *testing.T) {
	hook := newReceiver(t).hook()
	hook.Enabled = new(bool) // nobody takes an event out
	r, _ := startIn(t, t.TempDir(), hook)
	w := r.hooks[0].action.(*webhook)
	for n := 1; n <= 20; n++ {
		if err := r.queue(r.hooks[0], Event{Name: ToolCompleted, Ended: true}); err != nil {
			t.Fatal(err)
		}
		if waiting, err := w.queue.list(); err != nil || len(waiting) != n {
			t.Fatalf("%d events are kept after %d were told: %v", len(waiting), n, err)
		}
	}
}
