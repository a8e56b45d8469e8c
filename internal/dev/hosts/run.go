package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"callgate/internal/spawn"
)

// run is one host that works through one script, in a folder that is its home.
type run struct {
	dir      string
	program  string        // callgate's program
	self     string        // this program, which is also the server and the recorder between
	http     bool          // over Streamable HTTP to callgate serve; else over stdio to callgate run
	legacy   bool          // the recorder refuses discovery
	server   string        // the revision that the server speaks
	limit    time.Duration // of a call, set in the host; 0 leaves the host's own
	wait     time.Duration // how long a person takes to approve
	watch    string        // interrupt the host during the call with this argument; "" for none
	modelURL string
	command  []string // the command of the MCP server, as the host starts it
	url      string   // where the host finds callgate; "" if it starts callgate
	token    string
	secret   string // the token as the host's configuration refers to it
	tools    bool   // its built-in tools are tried: home and working folder differ, and callgate is connected
}

// evidence holds what a run left behind.
type evidence struct {
	turns     []turn
	host      []message // between the host and callgate
	server    []message // between callgate and the server
	approvals []answered
	alive     bool   // the server still ran when all was over
	output    string // what the host printed
}

// alias is the name of the server behind callgate, which is internal/testserver/features.
const alias = "features"

// rules leave one argument to a person and deny another.
const rules = `{ "*": "allow", "` + alias + `_echo": { "*": "allow", "text=denied*": "deny", "text=asked*": "ask" } }`

// aftermath is how long an interrupted host, and what it started, may take to report the end of the call.
const aftermath = 10 * time.Second

// do runs the host. An error means that it could not be run; how the host fared is in the evidence.
func (r *run) do(ctx context.Context, h host, script []step) (*evidence, error) {
	e := &evidence{}
	m := &model{script: script, hidden: h.hidden}
	scripted := httptest.NewServer(m)
	defer scripted.Close()
	r.modelURL = scripted.URL
	if err := r.rules(); err != nil {
		return nil, err
	}
	defer sweep(r.dir)
	front := filepath.Join(r.dir, "host.jsonl")
	if r.http {
		stop, err := r.serve(front)
		if err != nil {
			return nil, err
		}
		defer stop()
	} else {
		r.command = []string{r.self, "tee", front}
		if r.legacy {
			r.command = []string{r.self, "tee", "-legacy", front}
		}
		r.command = append(r.command, r.callgate("run")...)
	}
	if r.secret = h.secret; r.secret == "" {
		r.secret = r.token
	}
	command, env, err := h.configure(r)
	if err != nil {
		return nil, err
	}
	answering, stop := context.WithCancel(ctx)
	answers := make(chan []answered, 1)
	go func() { answers <- answer(answering, r.data(), r.wait) }()
	interrupted, err := r.host(ctx, command, env)
	if !interrupted.IsZero() {
		time.Sleep(aftermath)
	}
	e.alive = alive(r.behind())
	stop()
	e.approvals = <-answers
	if err != nil {
		return nil, err
	}
	e.turns = m.shown()
	if err := r.write("model.json", e.turns); err != nil {
		return nil, err
	}
	if e.host, err = recorded(front); err != nil {
		return nil, err
	}
	if e.server, err = recorded(r.behind()); err != nil {
		return nil, err
	}
	output, err := os.ReadFile(filepath.Join(r.dir, "output.txt"))
	e.output = string(output)
	return e, err
}

func (r *run) data() string {
	if r.tools {
		return filepath.Join(r.dir, ".local", "share", "callgate")
	}
	return filepath.Join(r.dir, "data")
}

// work returns the host's working folder.
func (r *run) work() string {
	if r.tools {
		return filepath.Join(r.dir, "work")
	}
	return r.dir
}

func (r *run) behind() string { return filepath.Join(r.dir, "server.jsonl") }

// callgate returns callgate's command line for a subcommand.
func (r *run) callgate(form string, more ...string) []string {
	return append([]string{r.program, form, "--config", filepath.Join(r.dir, "callgate.yaml"), "--data-dir", r.data(), "--listen", "127.0.0.1:0"}, more...)
}

// rules writes callgate's files.
func (r *run) rules() error {
	if err := r.write("data/workers/default/permissions.jsonc", rules); err != nil {
		return err
	}
	return r.write("callgate.yaml", object{"servers": []any{object{ // JSON is YAML
		"name": alias, "command": r.self, "args": []string{"tee", r.behind(), r.self, "features", r.server},
	}}})
}

// serve starts callgate serve behind a recording proxy. The caller MUST call stop.
func (r *run) serve(front string) (stop func(), err error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := free.Addr().String()
	free.Close()
	tree, err := spawn.Plant(slog.Default(), nil)
	if err != nil {
		return nil, err
	}
	command := r.callgate("serve", "--mcp-listen", address)
	cmd := exec.Command(command[0], command[1:]...)
	log, err := os.Create(filepath.Join(r.dir, "serve.log"))
	if err != nil {
		return nil, err
	}
	cmd.Stderr, cmd.Dir = log, r.dir
	if err := tree.Start(cmd); err != nil {
		return nil, err
	}
	end := func() {
		tree.Release()
		log.Close()
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			break
		} else if time.Now().After(deadline) {
			end()
			return nil, fmt.Errorf("callgate serve does not listen, see %s", log.Name())
		}
	}
	token, err := os.ReadFile(filepath.Join(r.data(), "credentials", "mcp"))
	if err != nil {
		end()
		return nil, err
	}
	notes, err := record(front)
	if err != nil {
		end()
		return nil, err
	}
	proxy := httptest.NewServer(recordingProxy(notes, &url.URL{Scheme: "http", Host: address}, r.legacy))
	r.url, r.token = proxy.URL+"/mcp", strings.TrimSpace(string(token))
	return func() {
		proxy.CloseClientConnections()
		end()
		proxy.Close()
	}, nil
}

// environment returns a host's environment. It takes only PATH and USER from the caller's.
func (r *run) environment(more []string) []string {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "LANG=C.UTF-8", "TERM=dumb", "USER=" + os.Getenv("USER"),
		"XDG_DATA_HOME=" + filepath.Join(r.dir, ".local", "share"), "XDG_CONFIG_HOME=" + filepath.Join(r.dir, ".config"),
		"XDG_CACHE_HOME=" + filepath.Join(r.dir, ".cache"), "XDG_STATE_HOME=" + filepath.Join(r.dir, ".local", "state"),
	}
	if r.token != "" {
		env = append(env, tokenVariable+"="+r.token)
	}
	return append(append(env, silent...), more...)
}

// first runs a command that has to come before the host.
func (r *run) first(command ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = r.work(), r.environment(nil)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	return nil
}

// host runs the host until it ends, at most until ctx ends. It interrupts the host, as a person would, a moment after
// the watched call has reached the server.
func (r *run) host(ctx context.Context, command, env []string) (interrupted time.Time, err error) {
	tree, err := spawn.Plant(slog.Default(), nil)
	if err != nil {
		return interrupted, err
	}
	defer tree.Release()
	out, err := os.Create(filepath.Join(r.dir, "output.txt"))
	if err != nil {
		return interrupted, err
	}
	defer out.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.work(), r.environment(env), out, out
	if err := tree.Start(cmd); err != nil {
		return interrupted, err
	}
	ended := tree.Ended() // how the host fared is in the output
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return interrupted, nil
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-tick.C:
			if interrupted.IsZero() {
				interrupted, err = r.interrupt(tree.PID())
			} else if time.Since(interrupted) > aftermath {
				tree.Kill() // it ignores the interruption
			}
		}
		if err != nil {
			tree.Kill()
			<-ended
			return interrupted, err
		}
	}
}

// interrupt interrupts the host once the watched call is a second old, and returns when. Before that, it returns the
// zero time.
func (r *run) interrupt(host int) (at time.Time, err error) {
	if r.watch == "" {
		return at, nil
	}
	all, err := recorded(r.behind())
	if err != nil {
		return at, err
	}
	id, i := callOf(all, r.watch)
	if id == "" || time.Since(all[i].At) < time.Second {
		return at, nil
	}
	process, err := os.FindProcess(host)
	if err == nil {
		err = process.Signal(os.Interrupt)
	}
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return at, err
	}
	return time.Now(), nil
}

// sweep ends what a host has left running: every process that has the run's folder as home. It finds processes only on
// Linux.
func sweep(home string) {
	processes, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return // there are none
	}
	for _, path := range processes {
		f, err := os.Open(path)
		if err != nil {
			continue // it has ended, or belongs to somebody else
		}
		environ, err := io.ReadAll(f)
		f.Close()
		var pid int
		if _, scanned := fmt.Sscanf(path, "/proc/%d/", &pid); err != nil || scanned != nil {
			continue
		}
		if strings.Contains("\x00"+string(environ), "\x00HOME="+home+"\x00") {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it may have ended meanwhile
			}
		}
	}
}
