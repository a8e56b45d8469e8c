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

// OutlivePipes makes a write to a closed pipe return an error. Without it, Go ends the process if that pipe is standard
// output or standard error. Programs that callgate starts get the system's default again.
func OutlivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// everyWriter writes to all of its writers, even if some fail.
type everyWriter []io.Writer

func (e everyWriter) Write(p []byte) (int, error) {
	for _, w := range e {
		_, _ = w.Write(p) // there is nowhere left to report an error
	}
	return len(p), nil
}

const (
	spooledLines = 1024
	// flushWithin bounds how long an ending process waits for the reader of its log.
	flushWithin = time.Second
)

// spool writes lines in the background, so that a reader that stopped reading blocks nobody. If too many lines wait, it
// drops further ones, and says how many once there is room.
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
	_, _ = out.Write(line) // there is nowhere left to report an error
	if dropped := s.dropped.Swap(0); dropped > 0 {
		fmt.Fprintf(out, "callgate: %d log lines were dropped here, because nobody read the log\n", dropped)
	}
}

// close writes the lines that still wait, within flushWithin.
func (s *spool) close() error {
	close(s.ending)
	select {
	case <-s.ended:
	case <-time.After(flushWithin):
	}
	return nil
}
