package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/config"
	"callgate/internal/endpoint"
	"callgate/internal/testserver/waits"
)

// served is a callgate serve of a test.
type served struct {
	t     *testing.T
	url   string
	token string
	data  string
	pid   int
}

// serve starts callgate serve with the demo server, as a separate process.
func serve(t *testing.T, flags ...string) *served {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "hello.txt"), "Hello")
	config := fmt.Sprintf("servers:\n  - {name: demo, command: %q, args: [\".\"], package: callgate-demo, cwd: %q}\n", filepath.Join(servers(t), "demo"), dir)
	return serveConfigured(t, config, flags...)
}

// serveConfigured starts callgate serve with that configuration, and rules that allow everything.
func serveConfigured(t *testing.T, text string, flags ...string) *served {
	t.Helper()
	data, dir := t.TempDir(), t.TempDir()
	write(t, filepath.Join(data, "workers", "default", "permissions.jsonc"), `{ "*": "allow" }`)
	config := filepath.Join(dir, "callgate.yaml")
	write(t, config, text)
	args := append([]string{"serve", "--config", config, "--data-dir", data, "--listen", "off", "--mcp-listen", "127.0.0.1:0", "--log-level", "warn"}, flags...)
	c, err := startClient(callgateProgram(t), args, dir, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	s := &served{t: t, data: data, pid: c.cmd.Process.Pid}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if ports := endpoint.Ports(data); len(ports) == 1 {
			s.url = "http://127.0.0.1:" + ports[0] + "/mcp"
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("no endpoint: %s", &c.stderr)
		}
	}
	token, err := os.ReadFile(filepath.Join(data, "credentials", "mcp"))
	if err != nil {
		t.Fatal(err)
	}
	s.token = string(token)
	return s
}

// send makes one request in a session, or in none for "", and returns the body and the session.
func (s *served) send(client *http.Client, method, session, body string) (answer []byte, id string, err error) {
	r, err := http.NewRequest(method, s.url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	r.Header = http.Header{"Authorization": {"Bearer " + s.token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s", response.Status, answer)
	}
	return answer, response.Header.Get("Mcp-Session-Id"), err
}

const (
	serveHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"round","version":"1"}}}`
	serveReady = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	serveCall  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo_read_file","arguments":{"path":"hello.txt"}}}`
)

// connect begins a session.
func (s *served) connect(client *http.Client) (session string, err error) {
	if _, session, err = s.send(client, "POST", "", serveHello); err == nil {
		_, _, err = s.send(client, "POST", session, serveReady)
	}
	return session, err
}

func (s *served) call(client *http.Client, session string) error {
	answer, _, err := s.send(client, "POST", session, serveCall)
	if err == nil && !bytes.Contains(answer, []byte("Hello")) {
		err = fmt.Errorf("the call was answered with %s", answer)
	}
	return err
}

// usage counts what the process holds: descriptors, threads and children.
func (s *served) usage() (descriptors, threads, children int) {
	s.t.Helper()
	count := func(pattern string) int {
		all, err := filepath.Glob(pattern)
		if err != nil {
			s.t.Fatal(err)
		}
		return len(all)
	}
	root := fmt.Sprintf("/proc/%d/", s.pid)
	tasks, err := filepath.Glob(root + "task/*/children")
	if err != nil {
		s.t.Fatal(err)
	}
	for _, path := range tasks {
		text, err := os.ReadFile(path)
		if err == nil { // a thread may end meanwhile
			children += len(strings.Fields(string(text)))
		}
	}
	return count(root + "fd/*"), count(root + "task/*"), children
}

// Nothing is left of hosts that connected, called and disconnected: the numbers of descriptors, threads and processes
// are as before. CALLGATE_TEST_ROUNDS sets how often.
func TestServeLeavesNothingBehind(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("counts what processes hold, on Linux")
	}
	rounds := 40
	if text := os.Getenv("CALLGATE_TEST_ROUNDS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	s := serve(t)
	client := &http.Client{Timeout: waits.Limit}
	round := func() error {
		session, err := s.connect(client)
		if err == nil {
			err = s.call(client, session)
		}
		if err != nil {
			return err
		}
		_, _, err = s.send(client, "DELETE", session, "")
		return err
	}
	for range 4 {
		if err := round(); err != nil {
			t.Fatal(err)
		}
	}
	before, threadsBefore, childrenBefore := s.usage()
	const hosts = 4
	var all sync.WaitGroup
	failures := make(chan error, hosts)
	for host := range hosts {
		all.Go(func() {
			for range rounds / hosts {
				if err := round(); err != nil {
					failures <- fmt.Errorf("host %d: %w", host, err)
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	client.CloseIdleConnections()
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		after, threads, children := s.usage()
		if after <= before+2 && threads <= threadsBefore+16 && children <= childrenBefore {
			t.Logf("%d rounds: %d descriptors, %d threads, %d children; before: %d, %d, %d", rounds, after, threads, children, before, threadsBefore, childrenBefore)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %d rounds: %d descriptors, %d threads, %d children; before: %d, %d, %d", rounds, after, threads, children, before, threadsBefore, childrenBefore)
		}
	}
}

// A session that nobody uses ends, and with it the server's process. The next request of its host is told so.
func TestServeReapsIdleSessions(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("counts processes, on Linux")
	}
	t.Setenv("CALLGATE_IDLE_TIMEOUT_SECONDS", "1")
	s := serve(t, "--idle-shutdown", "2s")
	session, err := s.connect(http.DefaultClient)
	if err == nil {
		err = s.call(http.DefaultClient, session)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, children := s.usage(); children == 0 {
		t.Fatal("no server runs for the session")
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		_, _, children := s.usage()
		if children == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server of an idle session still runs")
		}
	}
	if err := s.call(http.DefaultClient, session); err == nil || !strings.Contains(err.Error(), "-32001") && !strings.Contains(err.Error(), "refused") {
		t.Errorf("a session that has ended: %v", err)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) { // and without any session, callgate ends
		if _, err := os.Stat(fmt.Sprintf("/proc/%d/fd/0", s.pid)); err != nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("callgate still runs without a session")
		}
	}
}

// remoteEcho starts a server behind a URL that answers at once, so that only callgate is measured.
func remoteEcho(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&m); r.Method != "POST" || err != nil || m.ID == nil {
			w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == "POST"])
			return
		}
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`,
			"tools/list": `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`,
			"tools/call": `{"content":[{"type":"text","text":"Hello"}]}`,
		}[m.Method]
		w.Header().Set("Content-Type", "application/json")
		if result == "" {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// With many connected hosts, most of them idle, the busy ones are still served. CALLGATE_TEST_SESSIONS sets how many.
func TestServeManySessions(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("measures the process, on Linux")
	}
	sessions, calls := 100, 10
	if text := os.Getenv("CALLGATE_TEST_SESSIONS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		sessions, calls = n, 100
	}
	s := serveConfigured(t, fmt.Sprintf("servers:\n  - {name: demo, url: %q}\n", remoteEcho(t)))
	client := &http.Client{Timeout: waits.Limit, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	connect := func(n int) (ids []string) {
		for range n {
			id, err := s.connect(client)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		return ids
	}
	connect(20)
	before := s.resident()
	idle := connect(sessions)
	after := s.resident()
	t.Logf("%d sessions: %d KiB each", sessions, (after-before)>>10/int64(sessions))

	const busy = 64
	body := strings.Replace(serveCall, "demo_read_file", "demo_echo", 1)
	var all sync.WaitGroup
	failures := make(chan error, busy)
	began := time.Now()
	for _, id := range idle[:min(busy, len(idle))] {
		all.Go(func() {
			for range calls {
				answer, _, err := s.send(client, "POST", id, body)
				if err == nil && !bytes.Contains(answer, []byte("Hello")) {
					err = fmt.Errorf("answered with %s", answer)
				}
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	took := time.Since(began)
	t.Logf("%d calls of %d sessions at once: %.0f a second", busy*calls, busy, float64(busy*calls)/took.Seconds())
}

// resident returns the memory of the process in bytes.
func (s *served) resident() int64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.pid))
	if err != nil {
		s.t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// Whoever has the sealing secret can make handles, so no host has it.
func TestHostsCannotSealHandles(t *testing.T) {
	dir := t.TempDir()
	secret := config.Files{DataDir: dir}.SealingSecret()
	mcp, err := os.ReadFile(filepath.Join(dir, "credentials", "mcp"))
	if err != nil || len(secret) == 0 || bytes.Equal(bytes.TrimSpace(mcp), secret) {
		t.Errorf("handles are sealed with what hosts hold, or with nothing: %v", err)
	}
}
