package app

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// OutlivePipes turns a write to a closed pipe into an error. Without it Go ends the process when that pipe is standard
// output or standard error. Programs that callgate starts get the system's default again.
func OutlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// everyWriter writes to all of its writers, whichever of them fail.
type everyWriter []io.Writer

func (e everyWriter) Write(p []byte) (int, error) {
	for _, w := range e {
		_, _ = w.Write(p) // there is nowhere left to report it
	}
	return len(p), nil
}

const (
	spooledLines = 1024
	// flushWithin bounds how long an ending process waits for the reader of its log.
	flushWithin = time.Second
)

// spool writes lines in the background, so that a stopped reader holds nobody up. If too many lines wait, it drops
// further ones, and says how many once there is room.
type spool struct {
	lines   chan []byte
	dropped atomic.Int64
	ending  chan struct{}
	ended   chan struct{}
}

func newSpool(out io.Writer) *spool {
	s := &spool{lines: make(chan []byte, spooledLines), ending: make(chan struct{}), ended: make(chan struct{})}
	go s.run(out)
	return s
}

func (s *spool) Write(line []byte) (int, error) {
	select {
	case s.lines <- bytes.Clone(line):
	default:
		s.dropped.Add(1)
	}
	return len(line), nil
}

func (s *spool) run(out io.Writer) {
	defer close(s.ended)
	for {
		select {
		case line := <-s.lines:
			s.put(out, line)
			continue
		default:
		}
		select {
		case line := <-s.lines:
			s.put(out, line)
		case <-s.ending:
			for len(s.lines) > 0 {
				s.put(out, <-s.lines)
			}
			return
		}
	}
}

func (s *spool) put(out io.Writer, line []byte) {
	_, _ = out.Write(line) // there is nowhere left to report it
	if dropped := s.dropped.Swap(0); dropped > 0 {
		fmt.Fprintf(out, "callgate: %d log lines were dropped here, because nobody read the log\n", dropped)
	}
}

// close writes what still waits, for a bounded time.
func (s *spool) close() error {
	close(s.ending)
	select {
	case <-s.ended:
	case <-time.After(flushWithin):
	}
	return nil
}
