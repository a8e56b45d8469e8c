package hosthooks

import (
	"bufio"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"callgate/internal/durable"
	"callgate/internal/hosthooks/door"
	"callgate/internal/periodic"
)

// Server passes requests from hooks to a desk.
type Server struct {
	desk     *Desk
	token    func() (string, error) // the current hook credential
	log      *slog.Logger
	stale    func() bool // reports whether another process should replace this one
	listener *net.UnixListener
	unlock   func() error
	serving  sync.WaitGroup
}

// ErrTaken is returned if another process already judges at the socket.
var ErrTaken = errors.New("another process judges here")

// Listen opens the socket at path. A lock beside it keeps other processes away. Hooks wait until Run answers them. The
// caller MUST Close the server.
func Listen(path string, token func() (string, error), log *slog.Logger) (*Server, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("hooks: %w", err)
	}
	unlock, err := durable.TryLock(strings.TrimSuffix(path, ".sock") + ".lock")
	if err != nil {
		return nil, errors.Join(ErrTaken, err)
	}
	s := &Server{token: token, log: log, unlock: unlock}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("hooks: %w", err), unlock())
	}
	if s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"}); err != nil {
		return nil, errors.Join(fmt.Errorf("hooks: cannot make the socket: %w", err), unlock())
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close ends the server. The caller MUST NOT call it while Run runs.
func (s *Server) Close() error {
	return errors.Join(s.listener.Close(), s.unlock())
}

const (
	visitIdle  = 2 * time.Hour    // a host that is silent for this long counts as ended
	serverIdle = 15 * time.Minute // without any visit, the server ends
)

// Run answers hooks at a desk until ctx ends, nobody has asked for a long time, or another process should replace this
// one. stale reports whether the program or its configuration has changed. Run then returns as soon as nothing is in
// progress.
func (s *Server) Run(ctx context.Context, desk *Desk, stale func() bool) {
	s.desk, s.stale = desk, stale
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = s.listener.SetDeadline(time.Now()) })() // ends Accept
	s.serving.Go(func() {
		for range periodic.Every(ctx, 10*time.Second) {
			if s.desk.Rest(visitIdle) > serverIdle || s.stale() && !s.desk.Busy() {
				stop()
			}
		}
	})
	for {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			s.log.Warn("a hook was refused", "error", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if s.stale() && !s.desk.Busy() {
			conn.Close() // the hook starts the process that replaces this one
			break
		}
		s.serving.Go(func() {
			defer conn.Close()
			if err := s.serve(ctx, conn); err != nil {
				s.log.Warn("a hook could not be answered", "error", err)
			}
		})
	}
	stop()
	s.serving.Wait()
}

// serve answers one hook, and stops when the hook ends.
func (s *Server) serve(ctx context.Context, conn *net.UnixConn) error {
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(conn, 2*door.MaxBody))
	line := func() (string, error) {
		text, err := in.ReadString('\n')
		return strings.TrimSuffix(text, "\n"), err
	}
	theirs, err := line()
	if err != nil {
		return err
	}
	token, err := s.token()
	if err != nil {
		return err
	}
	own := door.Nonce()
	hello, err := json.Marshal(door.Hello{Nonce: own, Proof: door.Vouch([]byte(token), "gate", own, theirs)})
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(hello, '\n')); err != nil {
		return err
	}
	proof, err := line()
	if err != nil {
		return err
	}
	if !hmac.Equal([]byte(proof), []byte(door.Vouch([]byte(token), "hook", theirs, own))) {
		return errors.New("it does not have the hook credential")
	}
	text, err := line()
	if err != nil {
		return err
	}
	var r door.Request
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the connection
		_, _ = in.ReadByte()
		cancel()
	}()
	answer, err := json.Marshal(door.Reply(s.desk.Handle(ctx, r.Host, r.Event, r.Body, r.Env)))
	if err != nil {
		return err
	}
	_, err = conn.Write(answer)
	return err
}
