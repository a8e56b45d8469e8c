package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"callgate/internal/spawn"
)

// message is one message on a connection, or the end of the connection if it has no text.
type message struct {
	At   time.Time       `json:"at"`
	Down bool            `json:"down"` // towards the host
	Text json.RawMessage `json:"text,omitempty"`
}

// recorder records what crosses a connection. Only one process may write to a file.
type recorder struct {
	mu   sync.Mutex
	file *os.File
}

func record(path string) (*recorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	return &recorder{file: f}, err
}

// note records a message. Text that is not JSON becomes a string.
func (r *recorder) note(down bool, text []byte) {
	if text = bytes.TrimSpace(text); len(text) > 0 && !json.Valid(text) {
		text, _ = json.Marshal(string(text)) // encoding a string cannot fail
	}
	line, err := json.Marshal(message{time.Now(), down, text})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.file.Write(append(line, '\n'))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hosts: the record of a connection has gaps:", err)
	}
}

// recorded returns what was recorded so far: nothing for a connection that never was.
func recorded(path string) (all []message, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for decoder := json.NewDecoder(f); ; {
		var m message
		switch err := decoder.Decode(&m); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the last one is being written
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, m)
	}
}

// refusal returns the answer of a legacy server to a discovery. It returns nil for every other message.
func refusal(text []byte) []byte {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(text, &m) != nil || m.Method != "server/discover" {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
}

// processSuffix is the suffix of the file in which a recording process leaves its id.
const processSuffix = ".pid"

// alive reports whether the process that recorded last under this path still runs.
func alive(path string) bool {
	text, err := os.ReadFile(path + processSuffix)
	if err != nil {
		return false // there never was one
	}
	pid, err := strconv.Atoi(string(text))
	return err == nil && spawn.Exists(pid)
}

// tee runs the command as a server over stdio and records what crosses. With legacy it refuses discoveries.
func tee(path string, legacy bool, command []string) error {
	r, err := record(path)
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(path+processSuffix, strconv.AppendInt(nil, int64(os.Getpid()), 10), 0o600); err != nil {
		return err
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	go func() {
		s := <-asked
		r.note(false, nil)
		if err := cmd.Process.Signal(s); err != nil {
			_ = cmd.Process.Kill() // it has ended, or does not support signals
		}
	}()
	var mu sync.Mutex // guards standard output
	down := func(line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := os.Stdout.Write(line)
		return err
	}
	go func() {
		defer in.Close()
		defer r.note(false, nil)
		eachLine(os.Stdin, func(line []byte) error {
			r.note(false, line)
			if refused := refusal(line); legacy && refused != nil {
				r.note(true, refused)
				return down(append(refused, '\n'))
			}
			_, err := in.Write(line)
			return err
		})
	}()
	eachLine(out, func(line []byte) error {
		r.note(true, line)
		return down(line)
	})
	r.note(true, nil)
	return cmd.Wait()
}

// eachLine passes on line after line until there are no more, or until to fails.
func eachLine(from io.Reader, to func(line []byte) error) {
	for br := bufio.NewReaderSize(from, 1<<16); ; {
		line, err := br.ReadBytes('\n')
		if len(line) > 0 && to(line) != nil || err != nil {
			return
		}
	}
}

// recordingProxy passes requests to callgate over HTTP and records what crosses. With legacy it refuses discoveries.
func recordingProxy(r *recorder, target *url.URL, legacy bool) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(p *httputil.ProxyRequest) { p.SetURL(target) },
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: func(response *http.Response) error {
			response.Body = &noting{ReadCloser: response.Body, note: func(line []byte) { r.note(true, line) }}
			return nil
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return // the host has gone away
		}
		if len(body) > 0 {
			r.note(false, body)
		}
		if refused := refusal(body); legacy && refused != nil {
			r.note(true, refused)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(refused) // a host that has gone away needs no answer
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, q)
	})
}

// noting is a body, JSON or events, that records its messages as they are read.
type noting struct {
	io.ReadCloser
	note func(line []byte)
	rest []byte
}

func (n *noting) Read(p []byte) (int, error) {
	size, err := n.ReadCloser.Read(p)
	n.rest = append(n.rest, p[:size]...)
	for {
		line, rest, whole := bytes.Cut(n.rest, []byte("\n"))
		if !whole && err == nil {
			return size, nil
		}
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("data:")))
		if bytes.HasPrefix(line, []byte("{")) {
			n.note(line)
		}
		if n.rest = rest; !whole {
			return size, err
		}
	}
}
