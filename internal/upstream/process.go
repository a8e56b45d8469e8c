package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"callgate/internal/guard"
	"callgate/internal/rpc"
	"callgate/internal/sandbox"
	"callgate/internal/spawn"
	"callgate/internal/upstream/environment"
	"callgate/internal/upstream/pipe"
)

// drain is how long callgate still reads the output of a process that has ended. Its last output is in the pipe, but a
// child that it left behind may hold the pipe open for ever.
const drain = 250 * time.Millisecond

// process is a server's process and everything that it starts.
type process struct {
	tree   *spawn.Tree
	conn   *rpc.Conn
	stdin  *pipe.Writer
	stdout *output
	stderr *stderr
	proxy  *sandbox.Proxy // nil unless the server is in a sandbox and has a network

	widened <-chan struct{} // closed when a new sandbox would allow more; nil if that never happens

	trust      string // a folder made for this process, with the certificates that it trusts; may be ""
	stderrFile *os.File
	stopping   chan struct{} // closed when stop is called
	once       sync.Once
	wg         sync.WaitGroup
}

// startProcess starts the server of cfg. own is callgate's environment.
func startProcess(cfg Config, own []string, refusals *sandbox.Refusals, connect func(context.Context, sandbox.Peer) error, log *slog.Logger) (_ *process, err error) {
	env, err := environment.Of(own, cfg.Env, cfg.InheritEnv)
	if err != nil {
		return nil, err
	}
	path, err := environment.LookPath(cfg.Command, cfg.Dir, env)
	if err != nil {
		if strings.ContainsAny(cfg.Command, " \t") {
			err = fmt.Errorf("there is no program %q: callgate runs the command without a shell, so put its words into args", cfg.Command)
		}
		return nil, err
	}

	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	ends := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
			files = append(files, r, w)
		}
		return r, w
	}
	inR, inW := ends()
	outR, outW := ends()
	errR, errW := ends()
	if err != nil {
		return nil, err
	}

	p := &process{
		stdout:     &output{file: outR, end: make(chan struct{})},
		stderr:     newStderr(log),
		stderrFile: errR,
		stopping:   make(chan struct{}),
	}
	if p.stdin, err = pipe.NewWriter(inW); err != nil {
		return nil, err
	}
	wall := cfg.terms.Wall
	if cfg.terms.Sandbox != nil {
		if wall, err = cfg.terms.Sandbox(path); err != nil {
			return nil, err
		}
		if refusals != nil {
			p.widened = refusals.Widen(wall.Box)
		}
	}
	defer func() {
		if err != nil {
			p.removeTrust()
		}
	}()
	env, swaps, authority, err := p.keepSecrets(&cfg, env, wall)
	if err != nil {
		return nil, err
	}
	if p.tree, err = spawn.Plant(log, wall); err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{cfg.Command}, cfg.Args...), Env: env, Dir: cfg.Dir,
		Stdin: inR, Stdout: outW, Stderr: errW,
	}
	if err = p.tree.Start(cmd); err != nil {
		p.tree.Release()
		return nil, err
	}
	if s := p.tree.Wall(); s.Kind == guard.None && wall != nil && wall.Mode == guard.On {
		log.Warn("the kernel does not keep this server from callgate's files", "guard", s)
	}
	if l := p.tree.Proxy(); l != nil {
		p.proxy = &sandbox.Proxy{Judge: connect, Swaps: swaps, Authority: authority, Logger: log}
		p.proxy.Start(l)
	}
	closeAll([]*os.File{inR, outW, errW})
	p.wg.Go(func() { p.stderr.read(errR) })
	go p.reap() // not in wg: a process that the kernel does not let die must not keep stop from returning
	return p, nil
}

// keepSecrets puts the secrets into the environment. Secrets for one host need a sandbox's network proxy, which swaps
// them in. authority is nil if no TLS is intercepted for that.
func (p *process) keepSecrets(cfg *Config, env []string, wall *guard.Wall) (filled []string, swaps []sandbox.Swap, authority *sandbox.Authority, err error) {
	filled, swaps, err = cfg.secrets(env)
	if err != nil || len(swaps) == 0 {
		return filled, swaps, nil, err
	}
	if wall == nil || wall.Box == nil || wall.Box.Net != guard.ProxyNet {
		return nil, nil, nil, errors.New("a secret for a host needs a sandbox with the network proxy")
	}
	if cfg.terms.Intercept {
		authority, p.trust, filled, err = cfg.trust(filled, wall.Box)
	}
	return filled, swaps, authority, err
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close() // nobody has written to these pipe ends, so nothing can be lost
	}
}

var _ link = (*process)(nil)

func (p *process) pid() int { return p.tree.PID() }

func (p *process) wall() string { return p.tree.Wall().String() }

func (p *process) lastWords() []string { return p.stderr.last() }

func (p *process) connect(o rpc.Options) *rpc.Conn {
	o.Done = p.stopping
	p.conn = rpc.NewConn(p.stdout, p.stdin, o)
	return p.conn
}

func (p *process) speak(string) {}

func (p *process) run(handle func(m rpc.Message, of []byte)) error {
	defer p.stdout.finish()
	return p.conn.Run(func(m rpc.Message) { handle(m, nil) })
}

// epitaph usually finds that the process ends together with its output. Its exit status then explains more.
func (p *process) epitaph(cause error) error {
	p.gone(drain)
	select {
	case <-p.tree.Ended():
		return errors.New(p.tree.Status().Text)
	default:
	}
	if cause == nil {
		cause = errors.New("it closed its standard output")
	}
	return cause
}

// reap waits for the end of the process. If the process ended by itself, reap ends the reading of its output.
func (p *process) reap() {
	<-p.tree.Ended()
	select {
	case <-p.stdout.end:
	case <-p.stopping:
	case <-time.After(drain):
		p.stdout.Close()
	}
}

// stop ends the process and everything it started. It closes the input, asks politely after grace, and kills after
// another grace. Processes that outlive the server's own get the same steps. stop returns an error if the process did
// not end even then.
func (p *process) stop(grace time.Duration) (err error) {
	p.once.Do(func() {
		close(p.stopping)
		p.stdin.Close() // an error means that it is closed already
		if !p.gone(grace) {
			p.tree.Terminate()
			p.gone(grace)
		}
		p.tree.Kill()
		select {
		case <-p.tree.Ended():
		case <-time.After(max(grace, time.Second)):
			err = fmt.Errorf("process %d did not end after it was killed", p.pid())
		}
		p.stdout.Close()
		p.stderrFile.Close()
		if p.proxy != nil {
			p.proxy.Close()
		}
		p.tree.Release()
		p.removeTrust()
		p.wg.Wait()
	})
	return err
}

// removeTrust removes the folder of certificates.
func (p *process) removeTrust() {
	if p.trust != "" {
		os.RemoveAll(p.trust) // a temporary folder: any rest goes with the others
	}
}

// gone waits until the process has ended and nobody holds its output open. It returns false after within.
func (p *process) gone(within time.Duration) bool {
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	for _, end := range []<-chan struct{}{p.tree.Ended(), p.stdout.end, p.stderr.end} {
		select {
		case <-end:
		case <-timeout.C:
			return false
		}
	}
	return true
}

// output is the reading end of a server's standard output. It records its end.
type output struct {
	file *os.File
	end  chan struct{} // closed at the end of the stream, or when reading has stopped
	once sync.Once
}

func (o *output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if err != nil {
		o.finish()
	}
	return n, err
}

// finish marks the end of reading.
func (o *output) finish() { o.once.Do(func() { close(o.end) }) }

func (o *output) Close() error { return o.file.Close() }

var _ io.ReadCloser = (*output)(nil)
