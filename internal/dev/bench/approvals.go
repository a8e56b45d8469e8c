package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"callgate/internal/dev/bench/load"
)

// crowd describes with how many people and calls the approvals are measured.
type crowd struct {
	pending int           // approvals that wait all the time
	clients int           // clients that follow everything
	calls   int           // a second, allowed by rules: each is eventsOfCall events for every client
	asks    int           // a second, asked of a person, who approves at once
	lasts   time.Duration // duration of the measurement
}

// eventsOfCall is the number of the gate's events for an allowed call: decision, start, outcome, end.
const eventsOfCall = 4

// approvals holds the measurements of approvals by a person.
type approvals struct {
	shown  load.Latencies // from the question to its frame at a client, over all clients
	passed load.Latencies // from an approver's answer to the call's arrival at the server
	calls  int            // allowed calls that were answered meanwhile
	frames int            // received by all clients together
	lost   int            // clients that were disconnected
	took   time.Duration
	memory load.Memory
	told   bool // the system reports the memory
}

// askSome is a permissions file: calls whose text starts with "quick" run, all others ask.
const askSome = `{ "*": "ask", "bench_stamp": { "*": "ask", "text=quick*": "allow" } }`

// measureApprovals runs callgate with a host that makes calls, and a crowd that watches and approves.
func measureApprovals(callgate, echo, dir string, c crowd) (a approvals, err error) {
	data, config := filepath.Join(dir, "approvals"), filepath.Join(dir, "approvals.yaml")
	text := fmt.Sprintf("dataDir: %q\nlisten: \"127.0.0.1:0\"\nmaxPending: %d\ntimeout: 10m\nhandOver: -1s\nservers:\n  - name: bench\n    command: %q\n", data, c.pending+1000, echo)
	if err := errors.Join(freshDataWith(data, askSome), os.WriteFile(config, []byte(text), 0o600)); err != nil {
		return a, err
	}
	h, err := startBusyHost(callgate, "run", "--config", config)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	people := make([]*onlooker, c.clients)
	for i := range people {
		if people[i], err = watchFrom(data); err != nil {
			return a, err
		}
		defer people[i].conn.Close()
	}
	var watching sync.WaitGroup
	for i, p := range people {
		watching.Go(func() { p.follow(h, i == 0) })
	}
	for i := range c.pending {
		if err := h.call(fmt.Sprintf("wait %d", i)); err != nil {
			return a, err
		}
	}
	for _, p := range people {
		if err := p.waitFor(c.pending); err != nil {
			return a, err
		}
	}
	begun := time.Now()
	h.measure(begun)
	for _, p := range people {
		p.measure(begun)
	}
	if err := h.goOn(c); err != nil {
		return a, err
	}
	a.took = time.Since(begun)
	time.Sleep(200 * time.Millisecond) // the last frames
	a.memory, a.told = load.MemoryOf(h.cmd.Process.Pid)
	a.calls, a.passed = h.results()
	for _, p := range people {
		p.conn.Close()
	}
	watching.Wait()
	for _, p := range people {
		a.shown = append(a.shown, p.shown...)
		a.frames += p.frames
		if p.cutOff {
			a.lost++
		}
	}
	return a, nil
}

// busyHost is a host with many calls open at the same time.
type busyHost struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader

	writing sync.Mutex
	mu      sync.Mutex
	id      int
	since   time.Time            // only what comes later is measured
	open    map[string]time.Time // approved calls, by text, with the time of the approval
	done    load.Latencies       // from approval to stamp, for approved calls
	calls   int                  // answered without an approval
	ended   chan struct{}        // closed when nothing more will be read
}

func startBusyHost(command ...string) (*busyHost, error) {
	h := &busyHost{cmd: exec.Command(command[0], command[1:]...), open: map[string]time.Time{}, ended: make(chan struct{})}
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.in, h.out = in, bufio.NewReaderSize(out, 1<<20)
	if err := h.cmd.Start(); err != nil {
		return nil, err
	}
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`,
	} {
		if err := h.write(line); err != nil {
			return nil, errors.Join(err, h.close())
		}
	}
	go h.read()
	return h, nil
}

func (h *busyHost) write(line string) error {
	h.writing.Lock()
	defer h.writing.Unlock()
	_, err := io.WriteString(h.in, line+"\n")
	return err
}

// call makes the server stamp text.
func (h *busyHost) call(text string) error {
	h.mu.Lock()
	h.id++
	id := h.id
	h.mu.Unlock()
	return h.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"bench_stamp","arguments":{"text":%q}}}`, id, text))
}

// goOn makes calls for as long as the crowd lasts.
func (h *busyHost) goOn(c crowd) error {
	tick := time.NewTicker(time.Second / time.Duration(c.calls+c.asks))
	defer tick.Stop()
	end := time.After(c.lasts)
	every := max(1, (c.calls+c.asks)/c.asks)
	for n := 0; ; n++ {
		select {
		case <-end:
			return nil
		case <-h.ended:
			return errors.New("callgate ended")
		case <-tick.C:
		}
		text := "quick"
		if n%every == 0 {
			text = fmt.Sprintf("now %d %d", n, rand.Uint64())
		}
		if err := h.call(text); err != nil {
			return err
		}
	}
}

// approved records when the answer to the question about text was sent.
func (h *busyHost) approved(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open[text] = time.Now()
}

func (h *busyHost) measure(since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since, h.calls, h.done = since, 0, nil
}

func (h *busyHost) results() (int, load.Latencies) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls, h.done
}

func (h *busyHost) read() {
	defer close(h.ended)
	for {
		line, err := h.out.ReadBytes('\n')
		if err != nil {
			return
		}
		var answer struct {
			Result struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"result"`
		}
		if json.Unmarshal(line, &answer) != nil || len(answer.Result.Content) == 0 {
			continue
		}
		stamp, text, _ := strings.Cut(answer.Result.Content[0].Text, " ")
		nanos, err := strconv.ParseInt(stamp, 10, 64)
		if err != nil {
			continue
		}
		h.mu.Lock()
		if at, ok := h.open[text]; ok {
			h.done = append(h.done, time.Unix(0, nanos).Sub(at))
			delete(h.open, text)
		} else {
			h.calls++
		}
		h.mu.Unlock()
	}
}

func (h *busyHost) close() error {
	err := h.in.Close()
	limit := time.AfterFunc(10*time.Second, func() { _ = h.cmd.Process.Kill() }) // it may have ended already
	defer limit.Stop()
	select {
	case <-h.ended:
	case <-time.After(10 * time.Second):
	}
	var exit *exec.ExitError
	if waitErr := h.cmd.Wait(); !errors.As(waitErr, &exit) {
		err = errors.Join(err, waitErr)
	}
	return err
}

// onlooker is a client of the companion. It looks no further into frames than it has to: its own cost is not measured.
type onlooker struct {
	conn *websocket.Conn

	mu     sync.Mutex
	since  time.Time // only what comes later is measured
	seen   int       // questions so far
	shown  load.Latencies
	frames int
	cutOff bool
}

// watchFrom connects to the companion of a data directory. The companion may still be starting.
func watchFrom(data string) (*onlooker, error) {
	var at struct{ Address string }
	for deadline := time.Now().Add(10 * time.Second); at.Address == ""; time.Sleep(10 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(data, "companion.json")); err == nil {
			_ = json.Unmarshal(text, &at) // half a file is read again
		}
		if time.Now().After(deadline) {
			return nil, errors.New("callgate does not announce its companion")
		}
	}
	token, err := os.ReadFile(filepath.Join(data, "credentials", "approve"))
	if err != nil {
		return nil, err
	}
	conn, _, err := websocket.DefaultDialer.Dial("ws://"+at.Address+"/ws", http.Header{"Authorization": {"Bearer " + string(token)}})
	if err != nil {
		return nil, err
	}
	hello := `{"v":1,"type":"hello","client":{"name":"bench","version":"1","kind":"custom"},"sessions":["*"]}`
	return &onlooker{conn: conn}, conn.WriteMessage(websocket.TextMessage, []byte(hello))
}

var question = []byte(`"type":"tool_approve_request"`)

// follow reads until the connection ends. With answers, it approves the questions about "now".
func (p *onlooker) follow(h *busyHost, answers bool) {
	for {
		_, frame, err := p.conn.ReadMessage()
		now := time.Now()
		if err != nil {
			p.mu.Lock()
			p.cutOff = websocket.IsCloseError(err, websocket.CloseTryAgainLater, websocket.ClosePolicyViolation)
			p.mu.Unlock()
			return
		}
		p.mu.Lock()
		p.frames++
		p.mu.Unlock()
		if !bytes.Contains(frame[:min(len(frame), 64)], question) {
			continue
		}
		var f struct {
			SessionID, ToolCallID, ArgsDigest string
			Args                              struct{ Text string }
			CreatedAt                         time.Time
		}
		if json.Unmarshal(frame, &f) != nil {
			continue
		}
		p.mu.Lock()
		p.seen++
		if !p.since.IsZero() && f.CreatedAt.After(p.since) {
			p.shown = append(p.shown, now.Sub(f.CreatedAt))
		}
		p.mu.Unlock()
		if answers && len(f.Args.Text) > 3 && f.Args.Text[:3] == "now" {
			h.approved(f.Args.Text)
			answer := fmt.Sprintf(`{"v":1,"type":"tool_approve","sessionId":%q,"toolCallId":%q,"argsDigest":%q,"decision":"approve"}`, f.SessionID, f.ToolCallID, f.ArgsDigest)
			if p.conn.WriteMessage(websocket.TextMessage, []byte(answer)) != nil {
				return
			}
		}
	}
}

func (p *onlooker) measure(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since, p.frames = since, 0
}

// waitFor waits until that many questions have arrived.
func (p *onlooker) waitFor(questions int) error {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		seen := p.seen
		p.mu.Unlock()
		if seen >= questions {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("a client has %d of %d questions", seen, questions)
		}
	}
}

// report writes the measurements, and whether the goals were met.
func (a approvals) report(out io.Writer, c crowd) error {
	verdict := func(ok bool) string {
		if ok {
			return "met"
		}
		return "missed"
	}
	memory := "not told by this system"
	if a.told {
		memory = fmt.Sprintf("%.1f now, %.1f at the peak", mib(a.memory.Now, true), mib(a.memory.Peak, true))
	}
	shown99, passed50 := a.shown.Quantile(.99), a.passed.Quantile(.5)
	_, err := fmt.Fprintf(out, `
%d approvals waiting, %d clients, %.0f calls a second (%.0f events), %d questions answered at once:

| | p50 | p99 |
|---|---:|---:|
| question asked → frame at a client, ms | %.2f | %.2f |
| approval sent → call at the server, ms | %.2f | %.2f |

%.0f frames a second reached the clients; %d of them were cut off; memory of callgate in MiB: %s.

- question to frame at most 20 ms in 99 of 100: %s (%.2f ms)
- approval to forwarded call at most 1 ms in the median: %s (%.2f ms)
`,
		c.pending, c.clients, float64(a.calls)/a.took.Seconds(), eventsOfCall*float64(a.calls)/a.took.Seconds(), len(a.passed),
		millis(a.shown.Quantile(.5)), millis(shown99), millis(passed50), millis(a.passed.Quantile(.99)),
		float64(a.frames)/a.took.Seconds(), a.lost, memory,
		verdict(shown99 <= 20*time.Millisecond), millis(shown99), verdict(passed50 <= time.Millisecond), millis(passed50))
	return err
}
