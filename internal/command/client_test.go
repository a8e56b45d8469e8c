package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"callgate/internal/testserver/built"
	"callgate/internal/testserver/waits"
)

// patience bounds every wait of a test. It is long because machines are slow, not because callgate is.
const patience = waits.Limit

// client exchanges lines of JSON with a process, as a host with callgate or with a server directly.
type client struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr logBuffer
	exited chan struct{}
	status error // how the process ended, valid once exited is closed

	mu        sync.Mutex
	responses map[string][]byte // by id, without quotes
	others    []string          // notifications and requests that nobody has waited for yet, in order
	arrived   []string          // everything, in order
	answers   map[string]string // members of the answer to each of the server's requests, by method
	changed   chan struct{}
}

// logBuffer holds what the process has written to standard error so far.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// startClient starts the program at path. The caller MUST end it with close or kill.
func startClient(path string, args []string, dir string, env []string) (*client, error) {
	c := &client{responses: map[string][]byte{}, changed: make(chan struct{}), exited: make(chan struct{})}
	c.cmd = exec.Command(path, args...)
	if filepath.Base(path) == "callgate" {
		env = append(slices.Clone(env), "GORACE="+noExitSleep)
	}
	c.cmd.Dir, c.cmd.Env, c.cmd.Stderr = dir, env, &c.stderr
	return c, c.start()
}

// start starts the client's command.
func (c *client) start() (err error) {
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return err
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	go func() {
		c.read(stdout)
		c.status = c.cmd.Wait()
		close(c.exited)
	}()
	return nil
}

func (c *client) read(r io.Reader) {
	br := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := br.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.take(line)
		}
		if err != nil {
			return
		}
	}
}

func (c *client) take(line []byte) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	err := json.Unmarshal(line, &m)
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, ok := c.answers[m.Method]; ok && m.ID != nil {
		io.WriteString(c.stdin, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)+"\n") // a server that is gone is noticed elsewhere
	}
	c.arrived = append(c.arrived, string(line))
	if err != nil || m.Method != "" || m.ID == nil {
		c.others = append(c.others, string(line))
	} else {
		id := string(m.ID)
		if unquoted, err := strconv.Unquote(id); err == nil {
			id = unquoted
		}
		c.responses[id] = line
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// everything returns what has arrived so far, in order.
func (c *client) everything() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.arrived)
}

func (c *client) send(line string) error {
	_, err := io.WriteString(c.stdin, strings.ReplaceAll(line, "\n", " ")+"\n")
	return err
}

// handshake initializes as a host with these capabilities.
func (c *client) handshake(capabilities string) error {
	err := c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":` + capabilities + `,"clientInfo":{"name":"story","version":"1"}}}`)
	if err != nil {
		return err
	}
	if _, err := c.response("init"); err != nil {
		return err
	}
	return c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// request sends a request and returns the raw response. params may be "".
func (c *client) request(id, method, params string) ([]byte, error) {
	if params != "" {
		params = `,"params":` + params
	}
	if err := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q%s}`, id, method, params)); err != nil {
		return nil, err
	}
	return c.response(id)
}

// until waits until found returns true. found is called under the lock.
func (c *client) until(what string, found func() bool) error {
	deadline := time.After(patience)
	for last := false; ; {
		c.mu.Lock()
		ok, changed := found(), c.changed
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case last:
			return fmt.Errorf("the process ended before %s: %v\nlog: %s", what, c.status, &c.stderr)
		}
		select {
		case <-changed:
		case <-c.exited:
			last = true
		case <-deadline:
			c.mu.Lock()
			defer c.mu.Unlock()
			return fmt.Errorf("no %s within %s; got %q\nlog: %s", what, patience, c.others, &c.stderr)
		}
	}
}

func (c *client) response(id string) (response []byte, err error) {
	err = c.until("response to "+id, func() bool { response = c.responses[id]; return response != nil })
	return response, err
}

// notified waits for a notification or request that matches, and takes it out.
func (c *client) notified(pattern string) (line string, err error) {
	re, err := regexp.Compile("(?s)" + pattern)
	if err != nil {
		return "", err
	}
	err = c.until("notification like "+pattern, func() bool {
		for i, other := range c.others {
			if re.MatchString(other) {
				line = other
				c.others = append(c.others[:i:i], c.others[i+1:]...)
				return true
			}
		}
		return false
	})
	return line, err
}

// close closes the standard input and waits until the process ends.
func (c *client) close() error {
	c.stdin.Close() // an error means that the process has already ended
	return c.wait()
}

func (c *client) wait() error {
	select {
	case <-c.exited:
		if c.status != nil {
			return fmt.Errorf("%w\nlog: %s", c.status, &c.stderr)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("the process did not end\nlog: %s", &c.stderr)
	}
}

func (c *client) kill() {
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		panic(err) // a child process can always be killed
	}
	<-c.exited
}

// buildServers builds the servers that tests put behind callgate, and returns their folder.
var buildServers = sync.OnceValues(func() (string, error) {
	if bin := os.Getenv(builtServers); bin != "" {
		return bin, nil
	}
	bin, err := os.MkdirTemp("", "callgate-test-")
	if err != nil {
		return "", err
	}
	gates := filepath.Join(bin, gateFolder)
	return bin, errors.Join(
		built.Programs(bin, "callgate/examples/demo", "callgate/internal/testserver/awkward", "callgate/internal/testserver/crowd"),
		os.Mkdir(gates, 0o700),
		built.Programs(gates, "callgate/cmd/callgate"))
})

// builtServers is the variable that passes the folder of buildServers to tests that another test runs.
const builtServers = "CALLGATE_TEST_SERVERS"

// gateFolder is the subfolder of that folder with callgate itself.
const gateFolder = "gates"

// callgateProgram returns the path of callgate as users have it. Only some stories run the test binary under its name,
// which is callgate with the race detector if the tests have it.
func callgateProgram(t *testing.T) string {
	t.Helper()
	return filepath.Join(servers(t), gateFolder, "callgate")
}

func servers(t *testing.T) string {
	t.Helper()
	bin, err := buildServers()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
