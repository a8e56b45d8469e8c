// Package verify runs the user's checks on a workspace after calls changed files in it, and reports to the model.
//
// The commands come from the user's own configuration, never from a workspace, and are lists of words that no shell
// reads. Calls that change the same workspace in quick succession share one run.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/guard"
	"callgate/internal/periodic"
	"callgate/internal/spawn"
)

// Options configures a Runner.
type Options struct {
	Commands [][]string    // run one after another, until one fails
	Timeout  time.Duration // of each command; 0 means 120 s
	Debounce time.Duration // how long a run waits for further calls; 0 means 300 ms
	Output   int           // bytes of a failed command's output in the report; 0 means 8 KiB
	// Around, if not nil, is called before the first command of a run. The function that it returns is called after the
	// last command, with whether all succeeded. Its notes go into the report.
	Around func(ctx context.Context, run Run) (after func(passed bool) (notes []string))
	Wall   *guard.Wall // the wall around commands; nil means none
	Logger *slog.Logger
}

// Run is one run of the commands.
type Run struct {
	Workspace   string   // absolute
	Checkpoints []string // ids of the checkpoints before the calls, "" for a call without one
}

// Runner runs verifications. Make it with New; the caller MUST Close it.
type Runner struct {
	o        Options
	programs []string

	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup
	mu     sync.Mutex
	queues map[string]*workspaceQueue // by workspace
}

// workspaceQueue makes the runs on one workspace take turns.
type workspaceQueue struct {
	turn sync.Mutex // held while the commands run
	next *batch     // the run that has not started; guarded by Runner.mu
}

// batch is one run and the calls that wait for it.
type batch struct {
	run     Run
	waiting int // guarded by Runner.mu
	cancel  context.CancelFunc
	done    chan struct{}
	report  Report // valid once done is closed
}

// New looks up the programs. It looks up a name without a slash on PATH, once. A name with a slash MUST be absolute:
// files in a workspace are not under the user's control.
func New(o Options) (*Runner, error) {
	r := &Runner{o: o, queues: map[string]*workspaceQueue{}}
	if r.o.Timeout <= 0 {
		r.o.Timeout = 120 * time.Second
	}
	if r.o.Debounce <= 0 {
		r.o.Debounce = 300 * time.Millisecond
	}
	if r.o.Output <= 0 {
		r.o.Output = 8 << 10
	}
	r.o.Logger = cmp.Or(r.o.Logger, slog.New(slog.DiscardHandler))
	for i, argv := range o.Commands {
		program, err := find(argv)
		if err != nil {
			return nil, fmt.Errorf("commands[%d]: %w", i, err)
		}
		r.programs = append(r.programs, program)
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r, nil
}

func find(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", errors.New(`it names no program: write a list of words such as ["npm", "test"]`)
	}
	name := argv[0]
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			return "", fmt.Errorf("%q depends on the workspace, whose files a model may write: name an absolute path, or a program on PATH", name)
		}
		return exec.LookPath(name)
	}
	path, err := exec.LookPath(name) // refuses what PATH finds relative to the current directory
	if err != nil {
		if strings.Contains(name, " ") {
			err = fmt.Errorf("%w: no shell reads it, so write a list of words such as [\"npm\", \"test\"]", err)
		}
		return "", err
	}
	return filepath.Abs(path)
}

// Close ends every run and waits for it.
func (r *Runner) Close() error {
	r.stop()
	r.work.Wait()
	return nil
}

// Verify waits for a run on the workspace that starts after the call. full tells the caller to show the whole report:
// only the first of the calls that share a run does. When ctx ends, the error is its cause, and a run that nobody waits
// for any more is ended.
func (r *Runner) Verify(ctx context.Context, workspace, checkpoint string) (report *Report, full bool, err error) {
	b, full, err := r.join(workspace, checkpoint)
	if err != nil {
		return nil, false, err
	}
	select {
	case <-b.done:
		return &b.report, full, nil
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		if b.waiting--; b.waiting == 0 {
			b.cancel()
		}
		return nil, full, context.Cause(ctx)
	}
}

// join returns the run that has not started, or a new one. first reports whether it is new.
func (r *Runner) join(workspace, checkpoint string) (b *batch, first bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ctx.Err(); err != nil {
		return nil, false, err
	}
	l := r.queues[workspace]
	if l == nil {
		l = &workspaceQueue{}
		r.queues[workspace] = l
	}
	if l.next == nil || l.next.waiting == 0 { // a run that nobody waits for was cancelled
		ctx, cancel := context.WithCancel(r.ctx)
		made := &batch{run: Run{Workspace: workspace}, cancel: cancel, done: make(chan struct{})}
		l.next, first = made, true
		r.work.Go(func() { r.drive(ctx, l, made) })
	}
	b = l.next
	b.waiting++
	b.run.Checkpoints = append(b.run.Checkpoints, checkpoint)
	return b, first, nil
}

// drive waits for further calls and for the previous run, and then runs the commands.
func (r *Runner) drive(ctx context.Context, l *workspaceQueue, b *batch) {
	defer close(b.done)
	defer b.cancel()
	periodic.Sleep(ctx, r.o.Debounce)
	l.turn.Lock()
	defer l.turn.Unlock()
	r.mu.Lock()
	if l.next == b {
		l.next = nil
	}
	r.mu.Unlock()
	b.report = r.run(ctx, b.run)
}

// run runs the commands in the workspace.
func (r *Runner) run(ctx context.Context, run Run) (report Report) {
	report = Report{Workspace: run.Workspace, Passed: true}
	if ctx.Err() != nil {
		report.Passed, report.Failure = false, "it was cancelled"
		return report
	}
	var after func(bool) []string
	if r.o.Around != nil {
		after = r.o.Around(ctx, run)
	}
	for i, argv := range r.o.Commands {
		result := r.command(ctx, run.Workspace, r.programs[i], argv)
		report.Results = append(report.Results, result)
		if result.Code != 0 || result.Failure != "" {
			report.Passed = false
			break
		}
	}
	if after != nil {
		report.Notes = after(report.Passed)
	}
	return report
}

// output bounds how many bytes of each stream are read; the report shows the end of them.
const output = 4 << 20

func (r *Runner) command(ctx context.Context, dir, program string, argv []string) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.Timeout, fmt.Errorf("it ran longer than %s and was killed", r.o.Timeout))
	defer cancel()
	done, err := spawn.Run(ctx, spawn.Command{Path: program, Args: argv[1:], Env: environment(), Dir: dir, Output: output, Wall: r.o.Wall, Logger: r.o.Logger})
	result := Result{Command: argv, Code: done.Code, Took: done.Took}
	if err != nil {
		result.Failure = err.Error()
	}
	if result.Code != 0 || err != nil {
		result.Output = excerpt(done.Stdout, done.Stderr, r.o.Output, done.Cut)
	}
	return result
}

// environment returns callgate's environment without the CALLGATE_ variables, which may hold credentials.
func environment() (env []string) {
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(strings.ToUpper(entry), "CALLGATE_") {
			env = append(env, entry)
		}
	}
	return env
}
