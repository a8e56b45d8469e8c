// Package spawn runs programs, and ends everything they started when they end or callgate dies.
package spawn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os/exec"
	"time"

	"callgate/internal/guard"
)

// Command is a program that runs to its end without further input.
type Command struct {
	Path   string   // absolute
	Args   []string // without the program itself
	Env    []string // the whole environment
	Dir    string   // "" means callgate's own
	Stdin  []byte
	Output int         // how many bytes of each stream to keep, from its start; 0 keeps none
	Wall   *guard.Wall // the wall that it runs behind; nil means none
	Logger *slog.Logger
}

// Result is the outcome of a command.
type Result struct {
	Stdout, Stderr []byte
	Cut            bool // there was more output than Output keeps
	Code           int  // exit code, -1 after a signal
	Took           time.Duration
}

// flood is how many bytes a program may write to a stream before it is ended: dropped output costs time too.
const flood = 64 << 20

var errFlood = fmt.Errorf("it wrote more than %d MiB", flood>>20)

// lingering is how long to read output that children of an ended program hold open.
const lingering = 250 * time.Millisecond

// Run starts the command and waits for its end. When ctx ends, or the command floods its output, Run kills it with
// everything that it started, and the error says why. A non-zero exit code is not an error. Whatever the command leaves
// behind is killed too.
func Run(ctx context.Context, c Command) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if ctx.Err() != nil { // it is too late to start the program
		return Result{}, context.Cause(ctx)
	}
	tree, err := Plant(c.Logger, c.Wall)
	if err != nil {
		return Result{}, err
	}
	defer tree.Release()
	stdout := &head{keep: c.Output, overflow: func() { cancel(errFlood) }}
	stderr := &head{keep: c.Output, overflow: stdout.overflow}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Env, c.Dir, bytes.NewReader(c.Stdin), stdout, stderr
	cmd.WaitDelay = lingering
	began := time.Now()
	if err := tree.Start(cmd); err != nil {
		return Result{}, fmt.Errorf("%s cannot be started: %w", c.Path, Fault(err))
	}
	select {
	case <-tree.Ended():
	case <-ctx.Done():
		tree.Kill()
		<-tree.Ended()
	}
	linger := time.AfterFunc(lingering, tree.Kill)
	<-tree.Gone()
	linger.Stop()
	status := tree.Status()
	r := Result{Stdout: stdout.kept.Bytes(), Stderr: stderr.kept.Bytes(), Cut: stdout.more || stderr.more, Code: status.Code, Took: time.Since(began)}
	switch {
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case status.Code < 0:
		return r, fmt.Errorf("it ended with %s", status.Text)
	}
	return r, nil
}

// Fault returns why a program cannot be found or started, without the name of the system call.
func Fault(err error) error {
	if file, ok := errors.AsType[*fs.PathError](err); ok {
		return file.Err
	}
	if program, ok := errors.AsType[*exec.Error](err); ok {
		return program.Err
	}
	return err
}

// head keeps the start of a stream and discards the rest.
type head struct {
	kept     bytes.Buffer
	keep     int
	total    int
	more     bool
	overflow func()
}

func (h *head) Write(b []byte) (int, error) {
	room := max(0, h.keep-h.kept.Len())
	h.kept.Write(b[:min(room, len(b))])
	h.more = h.more || len(b) > room
	if h.total += len(b); h.total > flood {
		h.overflow()
	}
	return len(b), nil
}
