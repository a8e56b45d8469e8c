package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"callgate/audit"
	"callgate/gate"
	"callgate/gate/tools"
	"callgate/internal/rpc"
	"callgate/internal/testserver/waits"
	"callgate/internal/upstream"
	"callgate/permissions/store"
)

// patienceOfTests bounds every wait. It is long because machines are slow.
const patienceOfTests = waits.Limit

// approvalsWait is how long approvals wait in new worlds; 0 means without limit.
var approvalsWait time.Duration

// world is a proxy with a gate, a record and scripted upstreams.
type world struct {
	t     testing.TB
	gate  *gate.Gate
	audit string
	proxy *Proxy
	view  View
}

// newWorld returns a proxy with servers in the order of aliases. rules is the content of the permissions file.
func newWorld(t testing.TB, rules string, untouched bool, aliases []string, scripts ...script) *world {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, dir := t.TempDir(), t.TempDir()
	file := filepath.Join(data, "workers", "default", "permissions.jsonc")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute) // a file that was just written is read again at every call
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, audit: audit.Dir(data)}
	log, err := audit.Open(w.audit, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	protected, err := gate.NewProtected([]string{data}, "/home/u", []string{"7777"})
	if err != nil {
		t.Fatal(err)
	}
	w.gate = gate.New(gate.Options{
		Worker: "default", Audit: log, Protected: protected, Timeout: approvalsWait,
		Store: store.Open(file, store.Options{Home: "/home/u"}),
	})
	t.Cleanup(func() {
		w.gate.Close()
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	var servers []Server
	for i, alias := range aliases {
		text, err := json.Marshal(scripts[i])
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, Server{
			Upstream: upstream.Config{Name: alias, Command: self, Env: []string{scriptVariable + "=" + string(text), "GORACE=atexit_sleep_ms=0"}, Dir: dir},
			Tools:    tools.Server{Name: alias},
			Place:    tools.Place{Dir: dir, Roots: []string{dir}, Home: "/home/u"},
		})
	}
	if untouched {
		w.view.Server = aliases[0]
	}
	w.proxy, err = New(Options{Gate: w.gate, Servers: servers, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// testHost is a host connected by pipes. It reads everything as it comes.
type testHost struct {
	t    testing.TB
	in   io.WriteCloser
	out  *bufio.Reader
	got  chan rpc.Message
	end  func()     // does what a signal to the process does
	done chan error // what Run returned
}

// connect starts a host that has not said anything yet.
func (w *world) connect() *testHost {
	w.t.Helper()
	fromHost, in, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, toHost, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	h := &testHost{t: w.t, in: in, out: bufio.NewReaderSize(out, 1<<20), got: make(chan rpc.Message, 1000), done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	h.end = cancel
	go func() {
		err := w.proxy.Run(ctx, w.view, fromHost, toHost)
		h.done <- err
		fromHost.Close()
		toHost.Close()
	}()
	w.t.Cleanup(func() {
		h.close()
		cancel()
		out.Close()
	})
	return h
}

// close ends the connection and waits until nothing of it is running.
func (h *testHost) close() {
	if h.in == nil {
		return
	}
	h.in.Close()
	h.in = nil
	select {
	case err := <-h.done:
		if err != nil {
			h.t.Errorf("Run: %v", err)
		}
	case <-time.After(patienceOfTests):
		h.t.Error("Run does not end")
	}
}

func (h *testHost) send(line string) {
	h.t.Helper()
	if _, err := io.WriteString(h.in, line+"\n"); err != nil {
		h.t.Fatal(err)
	}
}

// read reads the next message from the pipe, for hosts without collect.
func (h *testHost) read() rpc.Message {
	h.t.Helper()
	line, err := h.out.ReadBytes('\n')
	if err != nil {
		h.t.Fatal(err)
	}
	m, err := rpc.Parse(line[:len(line)-1])
	if err != nil {
		h.t.Fatalf("callgate wrote %q: %v", line, err)
	}
	return m
}

// collect starts to read messages, for next.
func (h *testHost) collect() *testHost {
	go func() {
		defer close(h.got)
		for {
			line, err := h.out.ReadBytes('\n')
			if err != nil {
				return
			}
			m, err := rpc.Parse(line[:len(line)-1])
			if err != nil {
				h.t.Errorf("callgate wrote %q: %v", line, err)
				return
			}
			h.got <- m
		}
	}()
	return h
}

// next returns the next message.
func (h *testHost) next() rpc.Message {
	h.t.Helper()
	select {
	case m, ok := <-h.got:
		if !ok {
			h.t.Fatal("callgate closed the connection")
		}
		return m
	case <-time.After(patienceOfTests):
		h.t.Fatal("nothing comes")
	}
	panic("unreachable")
}

// want fails unless the next message is line.
func (h *testHost) want(line string) {
	h.t.Helper()
	if m := h.next(); string(m.Raw) != line {
		h.t.Fatalf("got  %s\nwant %s", m.Raw, line)
	}
}

// quiet fails if anything came unasked. A ping is answered after everything that was sent before it.
func (h *testHost) quiet() {
	h.t.Helper()
	h.send(`{"jsonrpc":"2.0","id":"quiet","method":"ping"}`)
	h.want(`{"jsonrpc":"2.0","id":"quiet","result":{}}`)
}

const helloParams = `{"protocolVersion":"2025-06-18","capabilities":{"roots":{},"elicitation":{},"sampling":{}},"clientInfo":{"name":"h","version":"1"}}`

// greet makes the handshake and waits until every server's tools are known. It returns the result of initialize.
func (h *testHost) greet(params string) []byte {
	h.t.Helper()
	h.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":` + params + `}`)
	m := h.next()
	if string(m.ID) != `"init"` || m.Result == nil {
		h.t.Fatalf("initialize: %s", m.Raw)
	}
	return m.Result
}

// calls sends tools/call with that id.
func (h *testHost) calls(id, tool, arguments string) {
	h.t.Helper()
	h.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, arguments))
}

// text returns the text of the next message, which must be the response to id.
func (h *testHost) text(id string) (text string, isError bool) {
	h.t.Helper()
	m := h.next()
	var result struct {
		Content []struct{ Text string }
		IsError bool
	}
	if string(m.ID) != id || m.Result == nil || json.Unmarshal(m.Result, &result) != nil || len(result.Content) == 0 {
		h.t.Fatalf("not the result of %s: %s", id, m.Raw)
	}
	return result.Content[0].Text, result.IsError
}
