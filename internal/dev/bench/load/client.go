// Package load drives an MCP server over stdio and measures it: how long a start takes, how long a call takes, how many
// calls a second go through, and how much memory the process takes. It speaks JSON-RPC itself, so that no SDK stands
// between the clock and the wire.
package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// startLimit bounds the time from the start to the first complete tool list.
const startLimit = 30 * time.Second

// maxAnswer is the longest line that a client reads, in bytes.
const maxAnswer = 1 << 20

var errAnswerTooLong = fmt.Errorf("answer is longer than %d bytes", maxAnswer)

// Client is one running server and the pipes to it. It is for use by one goroutine, unless a method says otherwise.
type Client struct {
	InitAfter time.Duration // from the start of the process to the answer of initialize
	ListAfter time.Duration // from the start of the process to a tool list with the echo tool

	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr tail
	tool   string // the server's name for the echo tool
	id     int64  // the last request's
}

// response is the part of an answer that the measurements need.
type response struct {
	ID     int64           `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Start runs command, shakes hands and waits until the tool list has a tool whose name ends in "echo". The caller MUST
// Close the client.
func Start(command []string) (*Client, error) {
	c := &Client{cmd: exec.Command(command[0], command[1:]...)}
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.out = in, bufio.NewReaderSize(out, maxAnswer)
	begun := time.Now()
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	limit := time.AfterFunc(startLimit, c.kill)
	defer limit.Stop()
	if err := c.handshake(begun); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", command[0], err), c.Close())
	}
	return c, nil
}

func (c *Client) handshake(begun time.Time) error {
	_, err := c.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}`)
	if err != nil {
		return err
	}
	c.InitAfter = time.Since(begun)
	if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		return err
	}
	for {
		result, err := c.request("tools/list", `{}`)
		if err != nil {
			return err
		}
		var list struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		if err := json.Unmarshal(result, &list); err != nil {
			return err
		}
		for _, tool := range list.Tools {
			if strings.HasSuffix(tool.Name, "echo") {
				c.tool, c.ListAfter = tool.Name, time.Since(begun)
				return nil
			}
		}
		time.Sleep(time.Millisecond) // a proxy may list its upstreams' tools later
	}
}

// request sends one request and waits for its answer.
func (c *Client) request(method, params string) (json.RawMessage, error) {
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params); err != nil {
		return nil, c.explain(err)
	}
	for {
		line, err := c.out.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return nil, errAnswerTooLong
		}
		if err != nil {
			return nil, c.explain(err)
		}
		var answer response
		if err := json.Unmarshal(line, &answer); err != nil {
			return nil, fmt.Errorf("%w in %.200q", err, line)
		}
		switch {
		case answer.Method != "" || answer.ID != c.id:
		case answer.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, answer.Error)
		default:
			return bytes.Clone(answer.Result), nil
		}
	}
}

// PID returns the id of the server's process, without its children.
func (c *Client) PID() int { return c.cmd.Process.Pid }

// explain adds the end of the server's stderr to err.
func (c *Client) explain(err error) error {
	if text := c.stderr.text(); text != "" {
		return fmt.Errorf("%w; stderr ends with %q", err, text)
	}
	return err
}

// Close ends the server by closing its stdin, and kills it if it has not ended five seconds later. An exit status is
// not an error: the server had no say in when to end.
func (c *Client) Close() error {
	err := c.in.Close()
	limit := time.AfterFunc(5*time.Second, c.kill)
	defer limit.Stop()
	if _, copyErr := io.Copy(io.Discard, c.out); copyErr != nil {
		err = errors.Join(err, copyErr)
	}
	var exit *exec.ExitError
	if waitErr := c.cmd.Wait(); !errors.As(waitErr, &exit) {
		err = errors.Join(err, waitErr)
	}
	return err
}

// kill kills the process. It may be called from any goroutine. A process that has ended already is not an error.
func (c *Client) kill() { _ = c.cmd.Process.Kill() }

// tail keeps the last 1024 bytes written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - 1024; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
