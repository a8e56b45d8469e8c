package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"callgate/internal/rpc"
)

// stdio is a line over a pair of byte streams. They have one order for everything, so it does not matter what
// a message is about.
type stdio struct {
	conn *rpc.Conn
	out  io.Writer // what conn writes to
	log  *slog.Logger
}

var _ Line = stdio{}

// Run serves one host until in ends or ctx does. It returns when nothing of the connection runs any more.
func (p *Proxy) Run(ctx context.Context, v View, in io.ReadCloser, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var h *host
	noise := func(_ []byte, err error) { h.noise(err) }
	line := stdio{conn: rpc.NewConn(in, out, rpc.Options{Noise: noise}), out: out, log: p.o.Logger}
	h, err := p.connect(ctx, v, line)
	if err != nil {
		return err
	}
	defer h.Close()
	stop := context.AfterFunc(ctx, func() { in.Close() })
	defer stop()
	if err := line.conn.Run(h.Handle); err != nil && ctx.Err() == nil {
		return fmt.Errorf("read from the host: %w", err)
	}
	return nil
}

func (s stdio) Respond(_, response []byte) error {
	if response == nil {
		return nil
	}
	return s.conn.Write(response)
}

func (s stdio) Notify(_, message []byte) error { return s.conn.Write(message) }

func (s stdio) Ask(_ []byte, compose func(id []byte) []byte) (*rpc.Pending, error) {
	return s.conn.Send(compose)
}

// lastWords is how long a host that has ended may take to read what is written to it.
const lastWords = time.Second

// Hurry bounds the writes that are left: a host that closed its side and reads nothing would hold them,
// and with them everything that the end of a session ends, for ever.
func (s stdio) Hurry() {
	out, ok := s.out.(interface{ SetWriteDeadline(time.Time) error })
	if !ok {
		return
	}
	if err := out.SetWriteDeadline(time.Now().Add(lastWords)); err != nil && !errors.Is(err, os.ErrNoDeadline) { // files never block
		s.log.Debug("writes to the host are not bounded", "error", err)
	}
}
