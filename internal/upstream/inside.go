package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"callgate/internal/rpc"
	"callgate/internal/upstream/pipe"
)

// inside is a server inside this program: a function that reads and writes what a process would.
type inside struct {
	noProcess

	cancel context.CancelFunc
	in     *pipe.Memory
	out    *io.PipeReader
	conn   *rpc.Conn
	ended  chan struct{} // closed when serve has returned
	err    error         // the error it returned; set before ended closes
}

var _ link = (*inside)(nil)

// startInside runs serve until ctx ends, the link is stopped, or serve returns.
func startInside(ctx context.Context, serve func(ctx context.Context, in io.Reader, out io.Writer) error) *inside {
	ctx, cancel := context.WithCancel(ctx)
	out, toUs := io.Pipe()
	s := &inside{cancel: cancel, in: pipe.NewMemory(), out: out, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = guarded(ctx, serve, s.in, toUs)
		s.in.Close()
		toUs.Close() // never fails
	}()
	return s
}

// guarded runs serve and returns a panic as its error. A panic must not end the rest of this program.
func guarded(ctx context.Context, serve func(context.Context, io.Reader, io.Writer) error, in io.Reader, out io.Writer) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return serve(ctx, in, out)
}

func (s *inside) connect(o rpc.Options) *rpc.Conn {
	s.conn = rpc.NewConn(s.out, s.in, o)
	return s.conn
}

func (s *inside) speak(string) {}

func (s *inside) run(handle func(m rpc.Message, of []byte)) error {
	defer s.out.Close() // a writer after the end of reading must not wait for a reader
	return s.conn.Run(func(m rpc.Message) { handle(m, nil) })
}

func (s *inside) epitaph(cause error) error {
	return explained(s.ended, &s.err, cause)
}

// stop closes the input, and after grace ends the context.
func (s *inside) stop(grace time.Duration) error {
	defer s.cancel()
	s.in.Close()
	for _, step := range []func(){func() {}, func() { s.cancel(); s.out.Close() }} {
		step()
		select {
		case <-s.ended:
			return nil
		case <-time.After(grace):
		}
	}
	return errors.New("the server inside this program does not end")
}
