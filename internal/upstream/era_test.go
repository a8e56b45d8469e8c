package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
)

const (
	legacyHello = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`
	modernHello = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"m","version":"1"}}}`
)

// scripted returns a server inside this program that answers by method; "" stands for all others. The answer "exit"
// ends it, and "silence" is no answer. An answer that begins with ! is an error, and one that begins with + is an
// acknowledgement without an end.
func scripted(seen func(rpc.Message), answers map[string]string) func(context.Context, io.Reader, io.Writer) error {
	return func(_ context.Context, in io.Reader, out io.Writer) error {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			m, err := rpc.Parse([]byte(lines.Text()))
			if err != nil {
				return err
			}
			if seen != nil {
				seen(m)
			}
			if m.ID == nil {
				continue
			}
			answer, ok := answers[m.Method]
			if !ok {
				answer = answers[""]
			}
			var text []byte
			switch {
			case answer == "exit":
				return errors.New("I know no such thing")
			case answer == "silence":
				continue
			case strings.HasPrefix(answer, "!"):
				text = rpc.Error(m.ID, rpc.CodeMethodNotFound, answer)
			case strings.HasPrefix(answer, "+"):
				params := []byte(strings.Replace(answer[1:], "{", fmt.Sprintf(`{"_meta":{%q:%s},`, subscriptionID, m.ID), 1))
				text = rpc.Request(nil, "notifications/subscriptions/acknowledged", params)
			default:
				text = rpc.Result(m.ID, []byte(answer))
			}
			if _, err := out.Write(append(text, '\n')); err != nil {
				return err
			}
		}
		return nil
	}
}

// A slow server gets the question for its era and the offer of the handshake at the same time. It is met in the legacy
// era if it accepts the handshake, because that is what it was told last. Otherwise it is met in the modern era, if it
// speaks that.
func TestErasOfSlowServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers map[string]string
		want    string
		starts  int32
	}{
		"both":                       {map[string]string{"server/discover": modernHello, "initialize": legacyHello}, "2025-11-25", 1},
		"legacy":                     {map[string]string{"initialize": legacyHello, "": "!unknown"}, "2025-11-25", 1},
		"modern":                     {map[string]string{"server/discover": modernHello, "": "!unknown"}, modernVersion, 1},
		"modern, ignores the other":  {map[string]string{"server/discover": modernHello, "": "silence"}, modernVersion, 1},
		"modern, ends for the other": {map[string]string{"server/discover": modernHello, "": "exit"}, modernVersion, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int32
				serve := scripted(nil, c.answers)
				u := open(t, Config{Name: "s", Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
					if starts.Add(1) == 1 {
						time.Sleep(probePatience + 500*time.Millisecond)
					}
					return serve(ctx, in, out)
				}}, Options{})
				info, err := u.Ready(short(t))
				if err != nil {
					t.Fatal(err)
				}
				if info.ProtocolVersion != c.want {
					t.Errorf("it is spoken to in %s, want %s", info.ProtocolVersion, c.want)
				}
				// A server that ends on an unknown method may have ended again.
				if in := u.current.Load(); in != nil && (in.modern != nil) != (c.want == modernVersion) {
					t.Errorf("requests are those of the other era")
				}
				if n := starts.Load(); n != c.starts {
					t.Errorf("started %d times, want %d", n, c.starts)
				}
			})
		})
	}
}

func TestEras(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers map[string]string
		only    Era
		want    string // version, or part of the error
		starts  int32
	}{
		"legacy":                       {map[string]string{"initialize": legacyHello, "": "!unknown"}, AnyEra, "2025-11-25", 1},
		"modern":                       {map[string]string{"server/discover": modernHello, "": "!unknown"}, AnyEra, modernVersion, 1},
		"both":                         {map[string]string{"server/discover": modernHello, "initialize": legacyHello}, AnyEra, modernVersion, 1},
		"both, legacy wanted":          {map[string]string{"server/discover": modernHello, "initialize": legacyHello}, Legacy, "2025-11-25", 1},
		"modern, legacy wanted":        {map[string]string{"server/discover": modernHello, "": "!unknown"}, Legacy, "another era", 1},
		"legacy, modern wanted":        {map[string]string{"initialize": legacyHello, "": "!unknown"}, Modern, "refuses server/discover", 1},
		"ends at the question":         {map[string]string{"initialize": legacyHello, "tools/list": `{"tools":[]}`, "": "exit"}, AnyEra, "2025-11-25", 2},
		"does not answer the question": {map[string]string{"initialize": legacyHello, "": "silence"}, AnyEra, "2025-11-25", 1},
		"discovers older ones":         {map[string]string{"server/discover": `{"supportedVersions":["2025-11-25"],"capabilities":{}}`, "initialize": legacyHello}, AnyEra, "2025-11-25", 1},
		"discovers nonsense":           {map[string]string{"server/discover": `{"supportedVersions":7}`, "initialize": legacyHello}, AnyEra, "2025-11-25", 1},
		"always ends":                  {map[string]string{"": "exit"}, AnyEra, "I know no such thing", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var starts atomic.Int32
			serve := scripted(nil, c.answers)
			u := open(t, Config{Name: "s", terms: Terms{Era: c.only}, Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
				starts.Add(1)
				return serve(ctx, in, out)
			}}, Options{})
			info, err := u.Ready(short(t))
			var got string
			if err != nil {
				got = err.Error()
			} else {
				got = info.ProtocolVersion
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
			if n := starts.Load(); n != c.starts {
				t.Errorf("started %d times, want %d", n, c.starts)
			}
		})
	}
}

// The second start of a server that ends at the question does not ask again, nor does the next process.
func TestEraIsRemembered(t *testing.T) {
	t.Parallel()
	starts, dir := t.TempDir()+"/starts", t.TempDir()
	cfg := configOf(t, behaviour{Unknown: "exit", StartFile: starts})
	for i, want := range []int{2, 3, 4} {
		u := open(t, cfg, Options{CacheDir: dir})
		if _, err := u.Ready(short(t)); err != nil {
			t.Fatal(err)
		}
		u.Close()
		text, err := os.ReadFile(starts)
		if err != nil || strings.Count(string(text), "\n") != want {
			t.Errorf("run %d: %d starts, want %d, %v", i+1, strings.Count(string(text), "\n"), want, err)
		}
	}
}

func TestModernServerThatAsks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var legs []string
	leg := 0
	serve := func(_ context.Context, in io.Reader, out io.Writer) error {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			m, err := rpc.Parse([]byte(lines.Text()))
			if err != nil || m.ID == nil {
				continue
			}
			result := "{}"
			switch m.Method {
			case "server/discover":
				result = modernHello
			case "tools/list":
				result = `{"tools":[]}`
			case "tools/call":
				mu.Lock()
				legs = append(legs, string(m.ID)+string(m.Params))
				leg++
				result = []string{
					`{"resultType":"input_required","requestState":"st\u0061te \"1\"","inputRequests":{"a":{"method":"roots/list"},"b\"c":{"method":"elicitation/create","params":{"mode":"url","url":"https://x","message":"m"}}}}`,
					`{"resultType":"input_required","requestState":"2"}`,
					`{"resultType":"complete","content":[],"n":1.0}`,
				}[leg-1]
				mu.Unlock()
			}
			if _, err := out.Write(append(rpc.Result(m.ID, []byte(result)), '\n')); err != nil {
				return err
			}
		}
		return nil
	}
	h := newHost(t)
	u := open(t, Config{Name: "s", Serve: serve}, Options{Events: h.events()})
	go func() {
		for range 2 {
			line := strings.Fields(h.wait("request"))
			answer := `{"roots":[]}`
			if line[2] == "elicitation/create" {
				if !strings.Contains(strings.Join(line, " "), `"elicitationId":"cg-`) {
					t.Errorf("no id for a legacy host: %q", line)
				}
				answer = `{"action":"accept"}`
			}
			u.Reply(rpc.Result([]byte(line[1]), []byte(answer)))
		}
	}()
	got := call(t, u, "tools/call", `{"name":"x","arguments":{"a":1.0},"inputResponses":{"forged":1}}`)
	if got != `{"resultType":"complete","content":[],"n":1.0}` {
		t.Errorf("%s", got)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(legs) != 3 {
		t.Fatalf("%d legs", len(legs))
	}
	ids := map[string]bool{}
	for i, want := range [][]string{
		{`"name":"x","arguments":{"a":1.0}`},
		{`"inputResponses":{"a":{"roots":[]},"b\"c":{"action":"accept"}},"requestState":"st\u0061te \"1\"","name":"x","arguments":{"a":1.0}`},
		{`"requestState":"2","name":"x","arguments":{"a":1.0}`},
	} {
		id, params, _ := strings.Cut(legs[i], "{")
		ids[id] = true
		for _, w := range want {
			if !strings.Contains(params, w) {
				t.Errorf("leg %d: %s is not in %s", i+1, w, params)
			}
		}
		if i > 0 && strings.Contains(params, "forged") {
			t.Errorf("leg %d: %s", i+1, params)
		}
	}
	if len(ids) != 3 {
		t.Errorf("ids %v", ids)
	}
}

func TestModernServerThatMisbehaves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ result, want string }{
		"a task":          {`{"resultType":"task","taskId":"1"}`, `of the type "task"`},
		"a new type":      {`{"resultType":"hologram"}`, "nobody asked for"},
		"asks nothing":    {`{"resultType":"input_required"}`, "asks for nothing"},
		"asks a method":   {`{"resultType":"input_required","inputRequests":{"a":{"method":"tools/call"}}}`, `asks for "tools/call"`},
		"asks a list":     {`{"resultType":"input_required","inputRequests":[]}`, "not an object"},
		"asks a lot":      {`{"resultType":"input_required","inputRequests":{` + many(40) + `}}`, "more than 32"},
		"asks twice":      {`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"},"a":{"method":"roots/list"}}}`, `"a"`},
		"asks for ever":   {`{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`, "gave up after 10"},
		"a number as map": {`{"resultType":"input_required","inputRequests":{"a":7}}`, "more input, but"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			var u *Upstream
			events := h.events()
			events.Request = func(_ *Upstream, m rpc.Message, _ any) { u.Reply(rpc.Result(m.ID, []byte(`{"roots":[]}`))) }
			u = New(Config{Name: "s", Serve: scripted(nil, map[string]string{"server/discover": modernHello, "tools/list": `{"tools":[]}`, "": c.result})}, Options{Events: events, Logger: logger(t)})
			t.Cleanup(u.Close)
			u.Start(hello)
			if m, err := u.Request(short(t), "tools/call", []byte(`{"name":"x"}`)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v, want %q", m.Raw, err, c.want)
			}
		})
	}
}

// A server that refuses a revision and names the same one is asked again, but not endlessly.
func TestServerThatWantsToBeAskedAgain(t *testing.T) {
	t.Parallel()
	for _, only := range []Era{AnyEra, Modern} {
		for refusals, want := range map[int]string{1: "", 5: "it refuses"} {
			asked := 0
			serve := func(_ context.Context, in io.Reader, out io.Writer) error {
				for lines := bufio.NewScanner(in); lines.Scan(); {
					m, err := rpc.Parse([]byte(lines.Text()))
					if err != nil || m.ID == nil {
						return err
					}
					answer := rpc.Result(m.ID, []byte(modernHello))
					switch {
					case m.Method == "initialize":
						answer = rpc.Error(m.ID, rpc.CodeMethodNotFound, "no")
					case m.Method == "server/discover":
						if asked++; asked <= refusals {
							answer = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"]}}}`, m.ID)
						}
					}
					if _, err := out.Write(append(answer, '\n')); err != nil {
						return err
					}
				}
				return nil
			}
			u := open(t, Config{Name: "s", terms: Terms{Era: only}, Serve: serve}, Options{})
			if _, err := u.Ready(short(t)); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("era %q, refused %d times: %v", only, refusals, err)
			}
			u.Close()
			if asked > 2+1 { // the handshake's refusal may lead back once
				t.Errorf("era %q, refused %d times: asked %d times", only, refusals, asked)
			}
		}
	}
}

func many(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`"k%d":{"method":"roots/list"}`, i))
	}
	return strings.Join(all, ",")
}

// A host that cancels its call also cancels the questions of that call.
func TestQuestionIsWithdrawnWithItsCall(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	u := open(t, Config{Name: "s", Serve: scripted(nil, map[string]string{
		"server/discover": modernHello, "tools/list": `{"tools":[]}`,
		"": `{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?"}}}}`,
	})}, Options{Events: h.events()})
	ctx, cancel := context.WithCancel(short(t))
	var id string
	go func() {
		id = strings.Fields(h.wait("request"))[1]
		cancel()
	}()
	if _, err := u.Request(ctx, "tools/call", []byte(`{"name":"x"}`)); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if line := h.wait("notification notifications/cancelled"); !strings.Contains(line, id) {
		t.Error(line)
	}
}

// The conversation remembers what the modern era has no request for.
func TestModernStandIns(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	u := open(t, Config{Name: "s", Serve: scripted(func(m rpc.Message) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, m.Method+" "+string(m.Params))
	}, map[string]string{
		"server/discover": modernHello, "tools/list": `{"tools":[]}`, "": "{}",
		"subscriptions/listen": `+{"notifications":{"resourceSubscriptions":["a://b"]}}`,
	})}, Options{})
	for _, r := range [][2]string{
		{"ping", ``}, {"logging/setLevel", `{"level":"debug"}`}, {"resources/subscribe", `{"uri":"a://b"}`}, {"tools/call", `{"name":"x"}`},
	} {
		if got := call(t, u, r[0], r[1]); got != "{}" {
			t.Errorf("%s: %s", r[0], got)
		}
	}
	for _, r := range [][2]string{{"logging/setLevel", `{"level":7}`}, {"resources/subscribe", `{}`}} {
		if m, err := u.Request(short(t), r[0], []byte(r[1])); err != nil || m.Error == nil {
			t.Errorf("%s %s: %s, %v", r[0], r[1], m.Raw, err)
		}
	}
	listening := `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a://b"]}`
	for deadline := time.Now().Add(waits.Limit); ; time.Sleep(10 * time.Millisecond) {
		mu.Lock()
		all := strings.Join(seen, "\n")
		mu.Unlock()
		if strings.Contains(all, listening) && strings.Contains(all, `"io.modelcontextprotocol/logLevel":"debug"`) {
			for _, gone := range []string{"ping", "setLevel", "resources/subscribe"} {
				if strings.Contains(all, gone+" ") {
					t.Errorf("%s reached the server", gone)
				}
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(all)
		}
	}
}

// sessions is a server over HTTP that forgets its sessions when told to.
type sessions struct {
	mu      sync.Mutex
	epoch   int
	inits   int
	broken  bool
	tools   string
	answers int
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := rpc.Parse(body)
	s.mu.Lock()
	defer s.mu.Unlock()
	session := fmt.Sprintf("s-%d", s.epoch)
	switch {
	case r.Method != http.MethodPost || err != nil:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case m.Method == "initialize":
		s.inits++
		w.Header().Set("Mcp-Session-Id", session)
	case r.Header.Get("Mcp-Session-Id") != session:
		http.Error(w, "who are you?", http.StatusNotFound)
		return
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
		return
	}
	answer := "{}"
	switch m.Method {
	case "initialize":
		answer = legacyHello
	case "tools/list":
		answer = s.tools
	default:
		s.answers++
		if s.broken {
			http.Error(w, "out of order", http.StatusBadGateway)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(rpc.Result(m.ID, []byte(answer)))
}

func TestLostSessionIsBegunAgain(t *testing.T) {
	t.Parallel()
	s := &sessions{tools: `{"tools":[{"name":"a"}]}`}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	h := newHost(t)
	u := open(t, Config{Name: "s", URL: web.URL, terms: Terms{Era: Legacy}}, Options{Events: h.events()})
	call(t, u, "tools/call", `{"name":"a"}`)
	h.wait("list tools a")
	s.mu.Lock()
	s.epoch++
	s.tools = `{"tools":[{"name":"a","description":"new"},{"name":"b"}]}`
	s.mu.Unlock()
	call(t, u, "tools/call", `{"name":"a"}`) // it was not run the first time, so it is sent again
	h.wait("list tools a,b")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inits != 2 || s.answers != 2 {
		t.Errorf("%d handshakes, %d calls", s.inits, s.answers)
	}
}

// A server that fails every request is down after a few. It says why, and comes back by itself.
func TestServerThatFailsEveryRequestIsDown(t *testing.T) {
	t.Parallel()
	s := &sessions{tools: `{"tools":[]}`}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	h := newHost(t)
	u := open(t, Config{Name: "s", URL: web.URL, terms: Terms{Era: Legacy}}, Options{Events: h.events()})
	call(t, u, "x", "")
	h.wait("state ready")
	for _, kind := range []Kind{Tools, Prompts, Resources, Templates} {
		h.wait(fmt.Sprintf("list %v", kind)) // an answer in between would restart the count
	}
	s.mu.Lock()
	s.broken = true
	s.mu.Unlock()
	for range maxFaults {
		if _, err := u.Request(short(t), "x", nil); err == nil || !strings.Contains(err.Error(), "HTTP 502 Bad Gateway: out of order") {
			t.Fatal(err)
		}
	}
	h.wait("state down")
	if reason := u.Status().Reason; !strings.Contains(reason, "5 requests in a row failed") {
		t.Error(reason)
	}
	s.mu.Lock()
	s.broken = false
	s.mu.Unlock()
	h.wait("state ready")
	call(t, u, "x", "")
}

func TestCircuitOpensAndTriesOnce(t *testing.T) {
	t.Parallel()
	var starts atomic.Int32
	var works atomic.Bool
	good := scripted(nil, map[string]string{"initialize": legacyHello, "": "{}"})
	u := open(t, Config{Name: "s", terms: Terms{Era: Legacy}, Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		starts.Add(1)
		if works.Load() {
			return good(ctx, in, out)
		}
		return errors.New("broken")
	}}, Options{})
	var down *DownError
	for range openAfter {
		if _, err := u.Ready(short(t)); !errors.As(err, &down) {
			t.Fatal(err)
		}
		u.mu.Lock()
		u.status.RetryAt = time.Now() // the wait is over
		u.mu.Unlock()
	}
	if !strings.Contains(down.Reason, fmt.Sprintf("failed %d times in a row, so callgate waits 1m", openAfter)) {
		t.Error(down.Reason)
	}
	works.Store(true)
	before := starts.Load()
	if _, err := u.Ready(short(t)); err != nil || starts.Load() != before+1 {
		t.Errorf("%v after %d starts", err, starts.Load()-before)
	}
}

// Endless lists are cut, and definitions that nothing could refer to are skipped, over HTTP as over stdio.
func TestHostileListsOverHTTP(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tools, want string }{
		"endless pages": {`{"tools":[{"name":"a"}],"nextCursor":"again"}`, "a"},
		"invalid":       {`{"tools":[{"name":7},{},[],{"name":"a"},{"name":"a"},{"name":"b","Name":"c"},null]}`, "a"},
		"no array":      {`{"tools":{}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(&sessions{tools: c.tools})
			t.Cleanup(web.Close)
			u := open(t, Config{Name: "s", URL: web.URL, terms: Terms{Era: Legacy}}, Options{})
			list, err := u.Lists.Fresh(short(t), Tools)
			if keys(list) != c.want || c.want != "" && err != nil {
				t.Errorf("%q, %v", keys(list), err)
			}
			call(t, u, "x", "")
		})
	}
}
