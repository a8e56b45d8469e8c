package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"callgate/internal/dev/bench/load"
)

// waySSE reaches a server over HTTP+SSE: one stream for everything that comes, and an address for messages to send.
type waySSE struct {
	url  string
	tool string

	client  *http.Client
	address string             // for messages to send
	stop    context.CancelFunc // ends the stream

	mu      sync.Mutex
	waiting map[int]chan []byte // by the id of the request
	ended   error               // why the stream ended
	last    int                 // the last id
}

// connect opens the stream, shakes hands and waits for the tool.
func (w *waySSE) connect() error {
	w.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128}}
	w.waiting = map[int]chan []byte{}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "text/event-stream")
	response, err := w.client.Do(r)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.Join(fmt.Errorf("the stream: %s", response.Status), response.Body.Close())
	}
	named := make(chan string, 1)
	go func() {
		defer response.Body.Close()
		w.end(w.read(response.Body, named))
	}()
	select {
	case reference := <-named:
		base, err := url.Parse(w.url)
		if err != nil {
			return err
		}
		address, err := base.Parse(reference)
		if err != nil {
			return err
		}
		w.address = address.String()
	case <-time.After(startLimit):
		return errors.New("the stream names no address")
	}
	if _, err := w.request("initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"load","version":"1"}}`); err != nil {
		return err
	}
	if err := w.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	_, _, err = w.calls(1, 1, "ready")
	return err
}

// close ends the stream, and with it the session.
func (w *waySSE) close() {
	w.stop()
	w.client.CloseIdleConnections()
}

// read handles incoming events until the stream ends.
func (w *waySSE) read(stream io.Reader, named chan<- string) error {
	lines := bufio.NewReaderSize(stream, 1<<20)
	name := ""
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if value, ok := bytes.CutPrefix(line, []byte("event:")); ok {
			name = string(bytes.TrimSpace(value))
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case len(line) == 0:
			name = ""
		case ok && name == "endpoint":
			named <- string(bytes.TrimSpace(value))
		case ok:
			w.arrived(bytes.Clone(bytes.TrimSpace(value)))
		}
	}
}

// arrived passes an answer to the request that waits for it, and drops everything else.
func (w *waySSE) arrived(message []byte) {
	var m struct {
		ID     int    `json:"id"`
		Method string `json:"method"`
	}
	if json.Unmarshal(message, &m) != nil || m.Method != "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.waiting[m.ID]; c != nil {
		delete(w.waiting, m.ID)
		c <- message
	}
}

func (w *waySSE) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = fmt.Errorf("the stream ended: %w", err)
	for id, c := range w.waiting {
		delete(w.waiting, id)
		close(c)
	}
}

func (w *waySSE) request(method, params string) ([]byte, error) {
	answer := make(chan []byte, 1)
	w.mu.Lock()
	w.last++
	id, ended := w.last, w.ended
	w.waiting[id] = answer
	w.mu.Unlock()
	if ended != nil {
		return nil, ended
	}
	if err := w.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)); err != nil {
		return nil, err
	}
	limit := time.NewTimer(startLimit)
	defer limit.Stop()
	select {
	case message, ok := <-answer:
		if !ok {
			return nil, errors.New("the stream ended before the answer")
		}
		return message, nil
	case <-limit.C:
		return nil, fmt.Errorf("%s was not answered", method)
	}
}

func (w *waySSE) post(body string) error {
	response, err := w.client.Post(w.address, "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return errors.New(response.Status)
	}
	return nil
}

// calls implements caller.
func (w *waySSE) calls(n, width int, text string) (load.Latencies, time.Duration, error) {
	return inFlight(n, width, func(int) error {
		answer, err := w.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":{"text":%q}}`, w.tool, text))
		if err == nil && !bytes.Contains(answer, []byte(text)) {
			err = fmt.Errorf("not the text that was sent: %.200s", answer)
		}
		return err
	})
}

// inFlight makes n calls with width of them at the same time.
func inFlight(n, width int, call func(i int) error) (load.Latencies, time.Duration, error) {
	var all sync.WaitGroup
	latencies := make(load.Latencies, n)
	failures := make([]error, width)
	began := time.Now()
	for worker := range width {
		all.Go(func() {
			for i := worker; i < n && failures[worker] == nil; i += width {
				sent := time.Now()
				failures[worker] = call(i)
				latencies[i] = time.Since(sent)
			}
		})
	}
	all.Wait()
	return latencies, time.Since(began), errors.Join(failures...)
}
