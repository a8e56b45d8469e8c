package siem

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"callgate/audit"
	"callgate/internal/testserver/waits"
)

// bench is a trail, and what a receiver got of it.
type bench struct {
	t       *testing.T
	dir     string
	log     *audit.Log
	next    int
	trouble atomic.Value

	mu  sync.Mutex
	got []string // ids of records
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	b.trouble.Store("")
	var err error
	if b.log, err = audit.Open(audit.Dir(b.dir), audit.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.log.Close() })
	return b
}

func (b *bench) write(n int) {
	b.t.Helper()
	for range n {
		b.next++
		if _, err := b.log.Append(audit.Record{Event: audit.Control, Summary: fmt.Sprintf("record %d\nforged", b.next)}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) export(c Config) *Export {
	if err := c.Check(); err != nil {
		b.t.Fatal(err)
	}
	return &Export{
		Config: c, Dir: audit.Dir(b.dir), State: filepath.Join(b.dir, "export", c.Name+".json"), Logger: slog.New(slog.DiscardHandler),
		Trouble: func(text ...string) { b.trouble.Store(strings.Join(text, "\n")) },
	}
}

// run runs an export until the returned function is called. That function waits for its end.
func run(e *Export) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.Run(ctx) }()
	return func() { cancel(); <-done }
}

func (b *bench) took(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = append(b.got, id)
}

// all waits until every record of the trail has arrived. It returns how many arrived twice.
func (b *bench) all() (twice int) {
	b.t.Helper()
	want := map[string]bool{}
	for r, err := range audit.Read(audit.Dir(b.dir), audit.Filter{}) {
		if err != nil {
			b.t.Fatal(err)
		}
		want[r.Hash] = true
	}
	waits.Until(b.t, "every record has come", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		twice = 0
		have := map[string]bool{}
		for _, id := range b.got {
			if have[id] {
				twice++
			}
			have[id] = true
		}
		for id := range want {
			if !have[id] && !have[id[:32]] { // the IDs of syslog are shorter
				return false
			}
		}
		return true
	})
	return twice
}

// TestHTTPS has a receiver that is down, refuses, accepts a batch without saying so, and recovers, and an exporter that
// ends meanwhile. All records must arrive, in batches, and none twice that had a receipt.
func TestHTTPS(t *testing.T) {
	b := newBench(t)
	var mood atomic.Value
	mood.Store("down")
	header := filepath.Join(t.TempDir(), "header")
	if err := os.WriteFile(header, []byte("Authorization: Splunk of-a-test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var list []struct {
			Metadata struct{ UID string }
			Message  string
		}
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &list); err != nil || r.Header.Get("Authorization") != "Splunk of-a-test" || len(list) > maxRecords {
			t.Errorf("%v: %.100s", err, body)
		}
		if mood.Load() == "down" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		for _, one := range list {
			b.took(one.Metadata.UID)
		}
		if mood.Load() == "mute" {
			mood.Store("down")
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	b.write(3*maxRecords + 7)
	e := b.export(Config{Name: "web", URL: server.URL, Header: header})
	stop := run(e)
	waits.Until(t, "trouble is told", func() bool { return strings.Contains(b.trouble.Load().(string), "503") })
	second := b.export(Config{Name: "web", URL: server.URL, Header: header})
	stopSecond := run(second) // in place of another process
	mood.Store("up")
	if twice := b.all(); twice != 0 {
		t.Errorf("%d records came twice with receipts", twice)
	}
	waits.Until(t, "trouble has ended", func() bool { return b.trouble.Load() == "" && e.Behind.Load() == 0 })
	mood.Store("mute")
	b.write(5)
	waits.Until(t, "a batch is taken without a receipt", func() bool { return strings.Contains(b.trouble.Load().(string), "not sent") })
	stop()
	mood.Store("up")
	b.write(1) // the other one takes over
	if twice := b.all(); twice > 5 {
		t.Errorf("%d records came twice, want the 5 without a receipt at most", twice)
	}
	waits.Until(t, "the other process has it all", func() bool { return second.Sent.Load() >= 6 && second.Behind.Load() == 0 })
	stopSecond()
	before := asked.Load()
	again := b.export(Config{Name: "web", URL: server.URL, Header: header})
	stop = run(again)
	b.write(1)
	b.all()
	stop()
	if n := again.Sent.Load(); n != 1 || asked.Load()-before != 1 {
		t.Errorf("after a restart %d records came in %d requests, want the new one", n, asked.Load()-before)
	}
}

// taker is a receiver that accepts everything.
func (b *bench) taker() *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var list []struct{ Metadata struct{ UID string } }
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			b.t.Error(err)
		}
		for _, one := range list {
			b.took(one.Metadata.UID)
		}
	}))
	b.t.Cleanup(server.Close)
	return server
}

// TestNoLock has an export that cannot tell whether another process sends, which it must report.
func TestNoLock(t *testing.T) {
	b := newBench(t)
	b.write(1)
	e := b.export(Config{Name: "web", URL: b.taker().URL})
	inTheWay := e.State + ".lock"
	if err := os.MkdirAll(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	defer run(e)()
	waits.Until(t, "trouble is told", func() bool { return strings.Contains(b.trouble.Load().(string), "not sent to web") })
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	b.all()
	waits.Until(t, "trouble has ended", func() bool { return b.trouble.Load() == "" })
}

// TestDamagedLog has a damaged log next to a good one. It must be reported as long as it exists.
func TestDamagedLog(t *testing.T) {
	b := newBench(t)
	b.write(1)
	logs, err := audit.Logs(audit.Dir(b.dir))
	if err != nil || len(logs) != 1 {
		t.Fatal(logs, err)
	}
	damaged := filepath.Join(audit.Dir(b.dir), logs[0][:strings.LastIndexByte(logs[0], '-')+1]+strings.Repeat("0", 16)+".jsonl")
	if err := os.WriteFile(damaged, []byte("no record\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer run(b.export(Config{Name: "web", URL: b.taker().URL}))()
	waits.Until(t, "the damage is told", func() bool { return strings.Contains(b.trouble.Load().(string), "damaged") })
	if err := os.Remove(damaged); err != nil {
		t.Fatal(err)
	}
	waits.Until(t, "trouble has ended", func() bool { return b.trouble.Load() == "" })
}

// listener is a syslog receiver that counts what it reads from each connection.
func (b *bench) listener(address string) (addr string, down func()) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		b.t.Fatal(err)
	}
	var mu sync.Mutex
	var open []net.Conn
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			go func() {
				in := bufio.NewReader(conn)
				for {
					length, err := in.ReadString(' ')
					if err != nil {
						return
					}
					n, err := strconv.Atoi(strings.TrimSpace(length))
					if err != nil {
						b.t.Errorf("frame %q", length)
						return
					}
					frame := make([]byte, n)
					if _, err := io.ReadFull(in, frame); err != nil {
						return
					}
					fields := strings.SplitN(string(frame), " ", 8)
					if len(fields) != 8 || !strings.HasSuffix(fields[0], ">1") || fields[3] != "callgate" || !strings.HasPrefix(fields[7], "\xef\xbb\xbfCEF:0|callgate|") || strings.Contains(fields[7], "\n") {
						b.t.Errorf("message %q", frame)
						return
					}
					b.took(fields[5])
				}
			}()
		}
	}()
	return l.Addr().String(), func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			_ = conn.(*net.TCPConn).SetLinger(0) // like a machine that crashes
			conn.Close()
		}
	}
}

// TestSyslog has a receiver that crashes with what it was sent, and comes back. Syslog has no receipts, so the last
// seconds are sent again.
func TestSyslog(t *testing.T) {
	b := newBench(t)
	address, down := b.listener("127.0.0.1:0")
	stop := run(b.export(Config{Name: "old", URL: "syslog+tcp://" + address, Format: FormatCEF}))
	defer func() { stop() }()
	b.write(20)
	b.all()
	down()
	b.write(20)
	waits.Until(t, "trouble is told", func() bool { return strings.Contains(b.trouble.Load().(string), "not sent") })
	_, down = b.listener(address)
	defer func() { down() }()
	b.all()
	waits.Until(t, "trouble has ended", func() bool { return b.trouble.Load() == "" })
	state := filepath.Join(b.dir, "export", "old.json")
	waits.Until(t, "the position is kept", func() bool { text, err := os.ReadFile(state); return err == nil && len(text) > 2 })
}

// TestStuckSyslog has a receiver that stops reading. The program must be able to end all the same.
func TestStuckSyslog(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	s := &syslog{c: &Config{Format: FormatCEF}, conn: near, host: "-"}
	defer s.close()
	ctx, cancel := context.WithCancel(context.Background())
	sent := make(chan error, 1)
	go func() {
		_, err := s.send(ctx, []audit.Line{{}})
		sent <- err
	}()
	if _, err := far.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-sent:
		if err == nil {
			t.Error("it says that everything was sent")
		}
	case <-time.After(answerWithin / 2):
		t.Error("it still sends")
	}
}

// TestTroubleWithoutAddress has a receiver that cannot be reached. People must not see its URL, in which some receivers
// have a secret.
func TestTroubleWithoutAddress(t *testing.T) {
	server := httptest.NewServer(nil)
	address := server.URL
	server.Close()
	b := newBench(t)
	b.write(1)
	stop := run(b.export(Config{Name: "web", URL: address + "/collector/a-secret"}))
	defer stop()
	waits.Until(t, "trouble is told", func() bool { return b.trouble.Load() != "" })
	if text := b.trouble.Load().(string); strings.Contains(text, "a-secret") {
		t.Errorf("people see %s", text)
	}
}

// TestRsyslog sends to rsyslog if it is installed. Everything that rsyslog writes must be there once in the end.
func TestRsyslog(t *testing.T) {
	program, err := exec.LookPath("rsyslogd")
	if err != nil {
		t.Skip("rsyslogd is not installed")
	}
	b := newBench(t)
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	out := filepath.Join(dir, "out")
	text := fmt.Sprintf("module(load=\"imtcp\")\ninput(type=\"imtcp\" port=\"%s\" address=\"127.0.0.1\")\ntemplate(name=\"t\" type=\"string\" string=\"%%msgid%% %%app-name%% %%msg%%\\n\")\naction(type=\"omfile\" file=%q template=\"t\")\n", port, out)
	file := filepath.Join(dir, "rsyslog.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() *exec.Cmd {
		cmd := exec.Command(program, "-n", "-f", file, "-i", filepath.Join(dir, "pid"))
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	end := func(cmd *exec.Cmd) { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = os.Remove(filepath.Join(dir, "pid")) }
	cmd := start()
	stop := run(b.export(Config{Name: "rsyslog", URL: "syslog+tcp://127.0.0.1:" + port}))
	defer stop()
	b.write(100)
	arrived := func(n int) func() bool {
		return func() bool {
			text, err := os.ReadFile(out)
			seen := map[string]bool{}
			for line := range strings.Lines(string(text)) {
				if id, rest, _ := strings.Cut(line, " "); strings.HasPrefix(rest, "callgate ") && strings.Contains(rest, `"class_uid":6003`) {
					seen[id] = true
				}
			}
			return err == nil && len(seen) == n
		}
	}
	waits.Until(t, "rsyslog has the records", arrived(100))
	end(cmd)
	b.write(50)
	waits.Until(t, "trouble is told", func() bool { return strings.Contains(b.trouble.Load().(string), "not sent") })
	cmd = start()
	defer func() { end(cmd) }()
	waits.Until(t, "rsyslog has them all", arrived(150))
}

func TestCheck(t *testing.T) {
	for _, c := range []Config{
		{Name: "", URL: "https://a/b"}, {Name: "../x", URL: "https://a/b"}, {Name: "a", URL: "http://example.com/"}, {Name: "a", URL: "https://u:p@example.com/"},
		{Name: "a", URL: "syslog+tcp://example.com:514"}, {Name: "a", URL: "syslog+tls://example.com"}, {Name: "a", URL: "syslog+tls://example.com:6514", Header: "f"},
		{Name: "a", URL: "https://a/b", Format: "xml"}, {Name: "a", URL: "udp://a:1"}, {Name: "a", URL: "https:///b"},
	} {
		if c.Check() == nil {
			t.Errorf("taken: %+v", c)
		}
	}
	for _, c := range []Config{{Name: "a", URL: "https://a/b", Format: "cef"}, {Name: "a", URL: "syslog+tls://example.com:6514"}, {Name: "a", URL: "syslog+tcp://127.0.0.1:514"}} {
		if err := c.Check(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
