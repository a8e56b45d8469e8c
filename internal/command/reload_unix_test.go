//go:build unix

package command

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"callgate/audit"
	"callgate/internal/endpoint"
	"callgate/internal/testserver/waits"
)

// listens opens a stream and returns once it has begun. The channel gets its end.
func (s *served) listens(client *http.Client, method, session, body string) <-chan error {
	s.t.Helper()
	r, err := http.NewRequest(method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + s.token}, "Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	} else {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "subscriptions/listen")
	}
	response, err := client.Do(r)
	if err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("%v, %v", response, err)
	}
	ended := make(chan error, 1)
	go func() {
		defer response.Body.Close()
		_, err := io.Copy(io.Discard, response.Body)
		ended <- err
	}()
	return ended
}

// TestReload changes the configuration under callgate serve. Sessions go on, what can takes effect, and an invalid file
// changes nothing.
func TestReload(t *testing.T) {
	data, dir, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, filepath.Join(data, "workers", "default", "permissions.jsonc"), `{ "*": "allow" }`)
	write(t, filepath.Join(dir, "hello.txt"), "Hello")
	file := filepath.Join(dir, "callgate.yaml")
	const server = "  - {name: %s, command: %q, args: [\".\"], package: callgate-demo, cwd: %q, env: [\"KEY=a-secret\"]}\n"
	one := func(name string) string {
		return fmt.Sprintf(server, name, filepath.Join(servers(t), "demo"), dir)
	}
	write(t, file, "servers:\n"+one("demo"))
	c, err := startClient(callgateProgram(t), []string{"serve", "--config", file, "--data-dir", data, "--listen", "off", "--mcp-listen", "127.0.0.1:0"}, dir, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	s := &served{t: t, pid: c.cmd.Process.Pid}
	waits.Until(t, "hosts are served", func() bool {
		ports := endpoint.Ports(data)
		if len(ports) == 1 {
			s.url = "http://127.0.0.1:" + ports[0] + "/mcp"
		}
		return len(ports) == 1
	})
	token, err := os.ReadFile(filepath.Join(data, "credentials", "mcp"))
	if err != nil {
		t.Fatal(err)
	}
	s.token = string(token)
	host := &http.Client{}
	session, err := s.connect(host)
	if err != nil {
		t.Fatal(err)
	}
	works := func() {
		t.Helper()
		if err := s.call(host, session); err != nil {
			t.Fatal(err)
		}
	}
	works()
	recorded := func() (all string) {
		for r, err := range audit.Read(audit.Dir(data), audit.Filter{}) {
			if err == nil && strings.HasPrefix(r.Summary, "Configuration read again") {
				all += r.Summary + "\n"
			}
		}
		return all
	}

	another := filepath.Join(dir, "token")
	write(t, another, "a-token-of-another-host-of-this-test")
	if err := os.Chmod(another, 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, file, fmt.Sprintf("mode: no-prompt\nmetrics: true\ndataDir: %q\ntimeout: 7m\nmcpTokens: [{name: other, file: %q}]\nservers:\n", elsewhere, another)+one("demo")+one("extra"))
	waits.Until(t, "the new configuration is taken over", func() bool {
		return strings.Contains(c.stderr.String(), "take effect when callgate is restarted: metrics")
	})
	for _, want := range []string{"mode ask → no-prompt", "timeout 2m0s → 7m0s", "metrics false → true (after a restart)", "servers (extra added)"} {
		if got := recorded(); !strings.Contains(got, want) || strings.Contains(got, "a-secret") {
			t.Errorf("the trail says %q, want %q", got, want)
		}
	}
	works()
	answer, _, err := s.send(host, "POST", session, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"demo_read_file","arguments":{"path":"token"}}}`)
	if err != nil || !bytes.Contains(answer, []byte("belongs to callgate itself")) {
		t.Errorf("a file of the new configuration was read: %s, %v", answer, err)
	}
	next, err := s.connect(host)
	if err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "a new session has the new server", func() bool {
		list, _, err := s.send(host, "POST", next, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
		return err == nil && bytes.Contains(list, []byte("extra_read_file"))
	})

	other := &served{t: t, url: s.url, token: "a-token-of-another-host-of-this-test"}
	others, err := other.connect(host)
	if err != nil {
		t.Fatal(err)
	}
	removed := map[string]<-chan error{
		"GET":  other.listens(host, "GET", others, ""),
		"POST": other.listens(host, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"new","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`),
	}
	stays := s.listens(host, "GET", session, "")

	before := recorded()
	for what, text := range map[string]string{
		"whatever": "mode: whatever\nservers:\n" + one("demo"),
		"is empty": "\n",
		"_x":       "servers:\n" + one("demo") + one("demo_x"),
	} {
		write(t, file, text)
		if err := syscall.Kill(s.pid, syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		waits.Until(t, "a wrong configuration is refused: "+what, func() bool {
			for line := range strings.Lines(c.stderr.String()) {
				if strings.Contains(line, "is refused") && strings.Contains(strings.ReplaceAll(line, `\"`, ""), what) {
					return true
				}
			}
			return false
		})
		works()
	}
	write(t, file, "mode: no-prompt\ntimeout: 7m\nservers:\n"+one("demo")+one("extra"))
	waits.Until(t, "the configuration is well again", func() bool { return strings.Contains(c.stderr.String(), "the configuration works again") })
	if recorded() == before {
		t.Error("nothing is on record of the last one")
	}
	for what, ended := range removed {
		select {
		case <-ended:
		case <-time.After(waits.Limit):
			t.Errorf("a %s goes on whose token was removed", what)
		}
	}
	works()
	select {
	case err := <-stays:
		t.Errorf("a host that is still let in lost its stream: %v", err)
	default:
	}
	if _, _, err := s.send(host, "DELETE", session, ""); err != nil {
		t.Error(err)
	}
	<-stays
}
