package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"callgate/internal/rpc"
)

// taskScript is a server that answers every call with a task, and answers questions about it.
type taskScript struct {
	made  string   // the result of the call
	looks []string // results of tasks/get; the last repeats; "silence" is no answer, and ! begins an error code
	older bool     // it speaks the era with a handshake
	late  bool     // it answers a call when it hears of the cancellation

	mu    sync.Mutex
	heard []string // methods about tasks, with the params of tasks/update
}

func (s *taskScript) serve(_ context.Context, in io.Reader, out io.Writer) error {
	var call rpc.Message
	for lines := bufio.NewScanner(in); lines.Scan(); {
		m, err := rpc.Parse([]byte(lines.Text()))
		if err != nil {
			return err
		}
		if s.late && m.Method == "tools/call" {
			call = m
			continue
		}
		if m.Method == "notifications/cancelled" {
			m = call
		}
		if m.ID == nil {
			continue
		}
		result := "{}"
		switch m.Method {
		case "server/discover":
			if result = modernHello; s.older {
				result = "!-32601"
			}
		case "initialize":
			if result = "!-32601"; s.older {
				result = legacyHello
			}
		case "tools/list":
			result = `{"tools":[]}`
		case "subscriptions/listen":
			continue
		case "tools/call":
			result = s.made
		case "tasks/get":
			s.mu.Lock()
			result = s.looks[0]
			if len(s.looks) > 1 {
				s.looks = s.looks[1:]
			}
			s.mu.Unlock()
		}
		if strings.HasPrefix(m.Method, "tasks/") {
			s.mu.Lock()
			if m.Method == "tasks/update" {
				_, answers, _ := strings.Cut(string(m.Params), `"inputResponses":`)
				s.heard = append(s.heard, m.Method+" "+strings.TrimSuffix(answers, "}"))
			} else {
				s.heard = append(s.heard, m.Method)
			}
			s.mu.Unlock()
		}
		answer := rpc.Result(m.ID, []byte(result))
		switch {
		case result == "silence":
			continue
		case result == "exit":
			return errors.New("I go")
		case strings.HasPrefix(result, "!"):
			answer = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"no"}}`, m.ID, result[1:])
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// said returns how often the server was sent a tasks method.
func (s *taskScript) said(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.heard {
		if strings.HasPrefix(line, method) {
			n++
		}
	}
	return n
}

// look returns a result of tasks/get for task t with that status. more holds further members.
func look(status, more string) string {
	return `{"resultType":"complete","taskId":"t","status":"` + status + `","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000` + more + `}`
}

const made = `{"resultType":"task","taskId":"t","status":"working","ttlMs":60000}`

// follow runs a story with the server in a bubble of fake time. answer is the host's answer to every question; "" means
// none.
func follow(t *testing.T, s *taskScript, answer string, story func(ctx context.Context, u *Upstream, task []byte)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var u *Upstream
		u = New(Config{Name: "s", Serve: s.serve}, Options{Events: Events{Request: func(_ *Upstream, m rpc.Message, _ any) {
			switch {
			case strings.HasPrefix(answer, "!"):
				u.Reply(rpc.Error(m.ID, -7, answer))
			case answer != "":
				u.Reply(rpc.Result(m.ID, []byte(answer)))
			}
		}}})
		u.Start(Hello{Tasks: true})
		defer u.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		m, err := u.Request(ctx, "tools/call", []byte(`{"name":"x"}`))
		if err != nil || !IsTask(m.Result) {
			t.Fatalf("%s, %v", m.Raw, err)
		}
		story(ctx, u, m.Result)
		synctest.Wait()
	})
}

const asksOne = `,"inputRequests":{"a":{"method":"elicitation/create","params":{"message":"?"}}}`

func TestFollow(t *testing.T) {
	t.Parallel()
	silence := []string{"silence"}
	for name, c := range map[string]struct {
		made   string
		looks  []string
		answer string
		want   string // in the answer or the error
		stops  int    // how often the server is told to stop
	}{
		"completed":             {made, []string{look("working", ""), look("completed", `,"result":{"content":[],"n":1.0}`)}, "", `"result":{"content":[],"n":1.0}`, 0},
		"completed at once":     {strings.Replace(made, `"working"`, `"completed","result":{"content":[]}`, 1), silence, "", `"result":{"content":[]}`, 0},
		"failed":                {made, []string{look("failed", `,"error":{"code":-5,"message":"m","data":{"z":1,"a":2}}`)}, "", `"error":{"code":-5,"message":"m","data":{"z":1,"a":2}}`, 0},
		"cancelled":             {made, []string{look("cancelled", "")}, "", "the server has stopped the task", 0},
		"no result":             {made, []string{look("completed", "")}, "", "neither a result nor an error", 0},
		"a result that is none": {made, []string{look("completed", `,"result":7`)}, "", "neither a result nor an error", 0},
		"no error":              {made, []string{look("failed", `,"result":{}`)}, "", "neither a result nor an error", 0},
		"answers":               {made, []string{look("input_required", asksOne), look("input_required", asksOne), look("completed", `,"result":{}`)}, `{"action":"accept"}`, `"result":{}`, 0},
		"a host that declines":  {made, []string{look("input_required", asksOne), look("completed", `,"result":{}`)}, "!no", `"result":{}`, 0},
		"a host that refuses":   {made, []string{look("input_required", strings.Replace(asksOne, "elicitation/create", "sampling/createMessage", 1))}, "!no", `"error":{"code":-7`, 1},
		"nobody answers":        {made, []string{look("input_required", asksOne), look("completed", `,"result":{}`)}, "", `"result":{}`, 0},
		"asks for a call":       {made, []string{look("input_required", `,"inputRequests":{"a":{"method":"tools/call"}}`)}, "", `asks for "tools/call"`, 1},
		"asks nothing":          {made, []string{look("input_required", "")}, "", "asks for nothing", 1},
		"asks a lot":            {made, []string{look("input_required", `,"inputRequests":{`+many(40)+`}`)}, "{}", "more than 32", 1},
		"another task":          {made, []string{strings.Replace(look("completed", `,"result":{}`), `"t"`, `"u"`, 1)}, "", "it speaks of another task", 1},
		"a status of its own":   {made, []string{look("pondering", "")}, "", `its status is "pondering"`, 1},
		"members twice":         {made, []string{look("completed", `,"result":{"isError":true},"result":{}`)}, "", "lost track of", 1},
		"members in capitals":   {made, []string{look("completed", `,"result":{},"Status":"working"`)}, "", "lost track of", 1},
		"forgets it":            {made, []string{"!-32602"}, "", "no longer knows the task", 0},
		"is short of time":      {made, []string{"!-32603", "!-32603", look("completed", `,"result":{}`)}, "", `"result":{}`, 0},
		"errors":                {made, []string{"!-32603"}, "", "lost track of the task", 1},
		"silent":                {made, silence, "", "lost track of the task", 1},
		"ends":                  {made, []string{"exit"}, "", "lost track of the task", 0},
		"without end":           {made, []string{look("working", "")}, "", "time to live is over", 1},
		"no id":                 {`{"resultType":"task","status":"working"}`, silence, "", "it has no taskId", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &taskScript{made: c.made, looks: c.looks}
			follow(t, s, c.answer, func(ctx context.Context, u *Upstream, task []byte) {
				m, err := u.Follow(ctx, task, func(Task) {})
				if got := fmt.Sprintf("%s %v", m.Raw, err); !strings.Contains(got, c.want) {
					t.Errorf("%s, want %q", got, c.want)
				}
				if ctx.Err() != nil {
					t.Error("it took a day")
				}
				if n := s.said("tasks/cancel"); n != c.stops {
					t.Errorf("the server was told to stop %d times: %q", n, s.heard)
				}
			})
			updates := map[string]int{"answers": 1, "a host that declines": 1}
			if n := s.said("tasks/update"); n != updates[name] {
				t.Errorf("%d answers reached the server: %q", n, s.heard)
			}
		})
	}
}

// A server that wants to be left alone is, within limits.
func TestFollowLeavesTheServerAlone(t *testing.T) {
	t.Parallel()
	for poll, want := range map[string]int{"1": 600, "5000": 12, "3600000": 2, "-1": 60, `"x"`: 60} {
		s := &taskScript{made: strings.Replace(made, "60000}", "null,\"pollIntervalMs\":"+poll+"}", 1), looks: []string{strings.Replace(look("working", `,"pollIntervalMs":`+poll), `"ttlMs":60000,`, "", 1)}}
		follow(t, s, "", func(ctx context.Context, u *Upstream, task []byte) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute+time.Second/20)
			defer cancel()
			if _, err := u.Follow(ctx, task, func(Task) {}); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			if n := s.said("tasks/get"); n != want {
				t.Errorf("with %s it was asked %d times in a minute", poll, n)
			}
			if s.said("tasks/cancel") != 1 {
				t.Error("it was not told that nobody wants the task")
			}
		})
	}
}

// A question that the server no longer asks is withdrawn from the host.
func TestFollowTakesQuestionsBack(t *testing.T) {
	s := &taskScript{made: made, looks: []string{look("input_required", asksOne), look("input_required", asksOne), look("working", ""), look("working", ""), look("completed", `,"result":{}`)}}
	synctest.Test(t, func(t *testing.T) {
		var asked, withdrawn []string
		u := New(Config{Name: "s", Serve: s.serve}, Options{Events: Events{
			Request:      func(_ *Upstream, m rpc.Message, _ any) { asked = append(asked, string(m.ID)) },
			Notification: func(_ *Upstream, m rpc.Message, _ any) { withdrawn = append(withdrawn, string(m.Params)) },
		}})
		u.Start(Hello{Tasks: true})
		defer u.Close()
		m, err := u.Request(t.Context(), "tools/call", []byte(`{"name":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := u.Follow(t.Context(), m.Result, func(Task) {}); err != nil {
			t.Error(err)
		}
		if len(asked) != 1 || len(withdrawn) != 1 || !strings.Contains(withdrawn[0], asked[0]) {
			t.Errorf("asked %q, withdrawn %q", asked, withdrawn)
		}
	})
}

// A task that the server makes of a call before it hears of the cancellation is stopped.
func TestTaskOfACancelledCall(t *testing.T) {
	t.Parallel()
	for made, older := range map[string]bool{made: false, `{"task":{"taskId":"t","status":"working"}}`: true, `{"content":[]}`: false, `{"task":"t"}`: true} {
		synctest.Test(t, func(t *testing.T) {
			s := &taskScript{made: made, late: true, older: older}
			u := New(Config{Name: "s", Serve: s.serve}, Options{})
			u.Start(Hello{Tasks: true})
			defer u.Close()
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Minute, cancel)
			if m, err := u.Request(ctx, "tools/call", []byte(`{"name":"x"}`)); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, %v", m.Raw, err)
			}
			synctest.Wait()
			stops := 0
			if strings.Contains(made, "taskId") {
				stops = 1
			}
			if n := s.said("tasks/cancel"); n != stops {
				t.Errorf("%s: the server was told to stop %d times", made, n)
			}
		})
	}
}

// Modern servers are told of the tasks extension if the host may get such tasks, and of no tasks of older revisions.
func TestCapabilitiesForTasks(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:                                    `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
		`{}`:                                  `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`,
		`{"tasks":{"list":{}},"sampling":{}}`: `{"extensions":{"io.modelcontextprotocol/tasks":{}},"sampling":{}}`,
		`{"extensions":{"a/b":{"x":1.0}}}`:    `{"extensions":{"io.modelcontextprotocol/tasks":{},"a/b":{"x":1.0}}}`,
		`{"extensions":{"io.modelcontextprotocol/tasks":{"k":1}}}`: `{"extensions":{"io.modelcontextprotocol/tasks":{"k":1}}}`,
		`{"extensions":7}`: `{"extensions":7}`,
	} {
		hello := Hello{Capabilities: []byte(raw), Tasks: true}
		if raw == "" {
			hello.Capabilities = nil
		}
		if got := string(newModern(hello).client); !strings.HasSuffix(got, `Capabilities":`+want) {
			t.Errorf("%s: %s", raw, got)
		}
	}
}
