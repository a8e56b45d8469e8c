package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// message is one JSON-RPC message. Its members are the bytes from the line.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type server struct {
	noise, strict bool
	tasks         bool
	exit          func(code int) // called by the tool crash
	record        io.Writer      // gets every line that arrives; nil for none
	more          []string       // further tools that answer like echo

	writing sync.Mutex // held for one whole line
	out     io.Writer

	mu        sync.Mutex
	asked     int                      // requests sent to the client so far
	answers   map[string]chan message  // by id of the waiting request
	running   map[string]chan struct{} // by id of the call; closed when the client cancels it
	cancelled [][]byte                 // params of all notifications/cancelled, in order
	changed   bool                     // the tool change_definition was called
	made      []*task                  // in the order of their making
	calls     sync.WaitGroup           // running handlers
}

func newServer(out io.Writer, exit func(int)) *server {
	return &server{out: out, exit: exit, answers: map[string]chan message{}, running: map[string]chan struct{}{}}
}

// serve answers the lines of in until it ends, then ends the calls that still run. It returns only errors of reading
// and recording.
func (s *server) serve(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	first := true
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if s.record != nil {
				if _, err := fmt.Fprintf(s.record, "%s\n", line); err != nil {
					return err
				}
			}
			s.receive(line, first)
			first = false
		}
		if err != nil {
			s.cancelAll()
			s.calls.Wait()
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

func (s *server) receive(line []byte, first bool) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		s.fail(json.RawMessage("null"), -32700, "not JSON", nil)
		return
	}
	if first && s.strict && m.Method != "initialize" {
		s.exit(1)
		return
	}
	switch {
	case m.Method == "":
		s.deliver(m)
	case m.ID == nil:
		s.notified(m)
	default:
		s.begin(m)
	}
}

// begin handles one request concurrently with others, so that a slow call holds up nothing.
func (s *server) begin(m message) {
	cancel := make(chan struct{})
	s.mu.Lock()
	s.running[string(m.ID)] = cancel
	s.mu.Unlock()
	s.calls.Go(func() {
		defer func() {
			s.mu.Lock()
			delete(s.running, string(m.ID))
			s.mu.Unlock()
		}()
		s.handle(m, cancel)
	})
}

func (s *server) handle(m message, cancel <-chan struct{}) {
	if s.noise {
		s.write([]byte("noise: handling " + m.Method))
	}
	if m.Method == "tools/call" {
		s.callTool(m, cancel)
		return
	}
	if s.tasks && s.serveTask(m, cancel) {
		return
	}
	result, ok := s.fixed(m)
	if !ok {
		s.fail(m.ID, -32601, "method not found: "+m.Method, nil)
		return
	}
	s.answer(m.ID, result)
}

func (s *server) notified(m message) {
	if m.Method != "notifications/cancelled" {
		return
	}
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = append(s.cancelled, m.Params)
	if cancel, ok := s.running[string(params.RequestID)]; ok {
		close(cancel)
		delete(s.running, string(params.RequestID))
	}
}

func (s *server) cancelAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, cancel := range s.running {
		close(cancel)
		delete(s.running, id)
	}
}

// deliver passes the client's answer to the call that asked.
func (s *server) deliver(m message) {
	s.mu.Lock()
	answer, ok := s.answers[string(m.ID)]
	delete(s.answers, string(m.ID))
	s.mu.Unlock()
	if ok {
		answer <- m
	}
}

// ask sends a request to the client and waits for the answer, or until cancel is closed; then ok is false.
func (s *server) ask(method, params string, cancel <-chan struct{}) (answer message, ok bool) {
	waiting := make(chan message, 1)
	s.mu.Lock()
	s.asked++
	id := fmt.Sprintf(`"awkward-%d"`, s.asked)
	s.answers[id] = waiting
	s.mu.Unlock()
	s.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, id, method, params))
	select {
	case answer = <-waiting:
		return answer, true
	case <-cancel:
		return message{}, false
	}
}

func (s *server) answer(id, result json.RawMessage) {
	s.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result))
}

// fail answers with a JSON-RPC error. If data is nil, it is left out.
func (s *server) fail(id json.RawMessage, code int, text string, data json.RawMessage) {
	line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s`, id, code, quote(text))
	if data != nil {
		line = fmt.Appendf(line, `,"data":%s`, data)
	}
	s.write(append(line, "}}"...))
}

func (s *server) notify(method, params string) {
	s.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"%s","params":%s}`, method, params))
}

// quote returns text as a JSON string.
func quote(text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return quoted
}

// write sends one line. It ignores a client that is gone: the reader notices that.
func (s *server) write(line []byte) {
	s.writing.Lock()
	defer s.writing.Unlock()
	_, _ = s.out.Write(append(line, '\n'))
}
