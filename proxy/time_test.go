package proxy

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/rpc"
	"callgate/internal/upstream"
	"callgate/proxy/internal/catalogue"
)

// inBubble runs a story in a bubble of fake time. No server can run there, so the server behind the proxy never starts,
// or its program does not exist.
func inBubble(t *testing.T, rules string, story func(w *world, h *testHost)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, rules, false, []string{"s"}, script{})
		w.proxy.o.Servers[0].Upstream.Command = "/no/such/program"
		w.proxy.set.Load().HandOver = -1
		fromHost, in := io.Pipe()
		out, toHost := io.Pipe()
		h := &testHost{t: t, in: in, out: bufio.NewReader(out), got: make(chan rpc.Message, 1000), done: make(chan error, 1)}
		go func() {
			h.done <- w.proxy.Run(context.Background(), w.view, fromHost, toHost)
			toHost.Close()
		}()
		h.collect()
		h.quiet() // the first message opens the session
		story(w, h)
		h.close()
	})
}

// silent fails if anything came, or comes before everybody waits.
func (h *testHost) silent() {
	h.t.Helper()
	synctest.Wait()
	select {
	case m := <-h.got:
		h.t.Fatalf("the host got %s", m.Raw)
	default:
	}
}

// offer puts a tool into the table, because the server does not run and cannot list it.
func (w *world) offer(name string) {
	for h := range w.proxy.hosts {
		tool := tools.Describe(h.servers[0].about, name, "s_"+name, []byte(`{"name":"`+name+`"}`))
		h.offers.now.Store(&table{&catalogue.Catalogue{Tools: map[string]*catalogue.Offer{"s_" + name: {Tool: tool, Name: name, Shown: "s_" + name}}}, h.servers})
	}
}

const cancelOne = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`

// A tool that nobody knows yet may belong to a server that is starting. The call waits, but no longer than a server may
// take.
func TestCallOfAToolThatMayStillCome(t *testing.T) {
	inBubble(t, allowAll, func(w *world, h *testHost) {
		began := time.Now()
		h.calls("1", "s_do", `{}`)
		time.Sleep(upstream.DefaultStartTimeout - time.Second)
		h.silent()
		h.want(`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool: s_do"}}`)
		if waited := time.Since(began); waited != upstream.DefaultStartTimeout {
			t.Errorf("waited %s", waited)
		}
	})
}

func TestCancelWhileTheToolMayStillCome(t *testing.T) {
	inBubble(t, allowAll, func(w *world, h *testHost) {
		h.calls("1", "s_do", `{}`)
		time.Sleep(time.Second)
		h.send(cancelOne)
		h.silent()
		h.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) // the id is free again
		h.want(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		time.Sleep(2 * upstream.DefaultStartTimeout)
		h.silent()
		if refused := w.records(audit.Decision); len(refused) != 1 || refused[0].Decision != gate.DecidedDenied {
			t.Errorf("recorded as %+v", refused)
		}
	})
}

// callgate does not wait for a server whose program does not exist.
func TestInitializeWithoutServers(t *testing.T) {
	inBubble(t, allowAll, func(w *world, h *testHost) {
		began := time.Now()
		h.greet(helloParams)
		h.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		h.want(`{"jsonrpc":"2.0","id":2,"result":{"tools":[]}}`)
		h.calls("3", "s_do", `{}`)
		h.want(`{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"unknown tool: s_do; server \"s\" is down: cannot start: exec: \"/no/such/program\": stat /no/such/program: no such file or directory"}}`)
		if waited := time.Since(began); waited > patience {
			t.Errorf("the host waited %s", waited)
		}
	})
}

// slowlyKind runs a server whose handshake takes twice as long as hosts wait.
func slowlyKind(_ context.Context, in io.Reader, out io.Writer) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		m, err := rpc.Parse([]byte(lines.Text()))
		if err != nil {
			return err
		}
		answer := rpc.Result(m.ID, []byte(`{"tools":[]}`))
		switch {
		case m.ID == nil:
			continue
		case m.Method == "initialize":
			time.Sleep(2 * patience)
			answer = rpc.Result(m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"instructions":"Be kind."}`))
		case m.Method == "server/discover":
			answer = rpc.Error(m.ID, -32601, "no such method")
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// A discovery does not wait for a slow server, but the next one knows it.
func TestDiscoverASlowServer(t *testing.T) {
	inBubble(t, allowAll, func(w *world, h *testHost) {
		w.proxy.o.Servers[0].Upstream.Command, w.proxy.o.Servers[0].Upstream.Serve = "", slowlyKind
		for id, kind := range []bool{false, true} {
			h.modern(fmt.Sprint(id), "server/discover", `"x":1`, `{}`)
			if m := h.next(); string(m.ID) != fmt.Sprint(id) || strings.Contains(string(m.Result), "Be kind.") != kind {
				t.Errorf("%d: %s", id, m.Raw)
			}
			time.Sleep(2 * patience)
		}
	})
}

func TestCancelWhileAPersonIsAsked(t *testing.T) {
	inBubble(t, `{ "*": "ask" }`, func(w *world, h *testHost) {
		w.offer("do")
		h.calls("1", "s_do", `{}`)
		h.silent()
		if n := len(w.gate.Pending()); n != 1 {
			t.Fatalf("%d approvals wait", n)
		}
		h.send(cancelOne)
		h.silent()
		if n := len(w.gate.Pending()); n != 0 {
			t.Errorf("%d approvals wait for a call that was taken back", n)
		}
		if got := w.records(audit.Decision); len(got) != 1 || got[0].Decision != gate.DecidedCancelled {
			t.Errorf("recorded as %+v", got)
		}
		h.send(cancelOne) // late: the request has ended
		h.silent()
	})
}

func TestAnswersOfAPerson(t *testing.T) {
	inBubble(t, `{ "*": "ask" }`, func(w *world, h *testHost) {
		w.offer("do")
		for _, c := range []struct {
			name   string
			answer func(a *gate.Approval) error
			want   string
			waited time.Duration
		}{
			{"nobody", func(*gate.Approval) error { return nil }, "callgate: APPROVAL_TIMEOUT", 120 * time.Second},
			{"no", func(a *gate.Approval) error {
				return w.gate.Answer(a.ID, gate.Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: "reject", Feedback: "use git", By: "web:alice"})
			}, "callgate: A person refused this call and says: use git", 0},
			{"yes, to a server that does not run", func(a *gate.Approval) error {
				return w.gate.Answer(a.ID, gate.Answer{SessionID: a.SessionID, Digest: a.Digest, Decision: "approve", By: "web:alice"})
			}, "callgate: the call was not run: the server was not started", 0},
		} {
			began := time.Now()
			h.calls("1", "s_do", fmt.Sprintf(`{"text":%q}`, c.name))
			synctest.Wait()
			if err := c.answer(w.gate.Pending()[0]); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			time.Sleep(c.waited)
			text, isError := h.text("1")
			if !isError || !strings.Contains(text, c.want) {
				t.Errorf("%s: %q, want %q", c.name, text, c.want)
			}
			if waited := time.Since(began); waited != c.waited {
				t.Errorf("%s: waited %s", c.name, waited)
			}
		}
		synctest.Wait() // the outcome is recorded after the host has its answer
		if got := w.records(audit.Outcome); len(got) != 1 {
			t.Errorf("%d calls were forwarded", len(got))
		}
	})
}

// The end of the connection takes back all waiting calls, whatever they wait for.
func TestEndWhileCallsWait(t *testing.T) {
	inBubble(t, `{ "*": "ask" }`, func(w *world, h *testHost) {
		w.offer("do")
		h.calls("1", "s_do", `{}`)
		h.calls("2", "s_other", `{}`)
		h.silent()
		began := time.Now()
		h.close()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the end took %s", took)
		}
		if n := len(w.gate.Pending()); n != 0 {
			t.Errorf("%d approvals wait for a host that is gone", n)
		}
		if got := w.records(audit.Decision); len(got) != 2 {
			t.Errorf("%d decisions on record for two calls", len(got))
		}
	})
}

// A server that fails now and then may be up when a person has answered. If a server is left alone, its waiting calls
// are withdrawn.
func TestApprovalsOfAServerThatStaysDown(t *testing.T) {
	inBubble(t, `{"*": "allow", "s_do": "ask"}`, func(w *world, h *testHost) {
		h.greet(`{}`)
		w.offer("do")
		h.calls("1", "s_do", `{}`)
		synctest.Wait()
		w.offer("other")
		for id, broken := 2, false; !broken; id++ {
			if id > 20 {
				t.Fatal("the server is never left alone")
			}
			if n := len(w.gate.Pending()); n != 1 {
				t.Fatalf("%d approvals wait before call %d", n, id)
			}
			h.calls(fmt.Sprint(id), "s_other", `{}`)
			synctest.Wait()
			for host := range w.proxy.hosts {
				status := host.servers[0].up.Status()
				if broken = status.Broken; !broken {
					time.Sleep(time.Until(status.RetryAt))
				}
			}
		}
		if n := len(w.gate.Pending()); n != 0 {
			t.Errorf("%d approvals wait for a server that is left alone", n)
		}
		for {
			m := h.next()
			if string(m.ID) != "1" {
				continue
			}
			if text := string(m.Result); !strings.Contains(text, "so callgate waits 1m0s") || !strings.Contains(text, `"isError":true`) {
				t.Errorf("the call got %s", m.Raw)
			}
			return
		}
	})
}

// A prompt that waits for a person reports that to its host, as a tool call does.
func TestHeartbeatOfAPrompt(t *testing.T) {
	inBubble(t, `{ "*": "ask" }`, func(w *world, h *testHost) {
		for host := range w.proxy.hosts {
			s := host.servers[0]
			host.offers.now.Store(&table{&catalogue.Catalogue{Prompts: map[string]*catalogue.Offer{"s_greet": {Tool: kindTool(tools.KindPrompt, s), Name: "greet"}}}, host.servers})
		}
		h.send(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"s_greet","_meta":{"progressToken":"t"}}}`)
		h.silent()
		time.Sleep(beat)
		h.want(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.0001,"message":"waiting for a person's approval, 12s so far"}}`)
		h.send(cancelOne)
		h.silent()
	})
}
