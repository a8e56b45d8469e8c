// Package pipe has pipes to servers whose writers never wait for a reader.
package pipe

import (
	"fmt"
	"os"
	"sync"
)

// MaxBacklog bounds what waits in memory for a server that does not read its input, in bytes.
const MaxBacklog = 64 << 20

// ErrBacklog is for what does not fit into memory any more.
var ErrBacklog = fmt.Errorf("more than %d bytes wait to be read", MaxBacklog)

// Writer is the writing end of a server's standard input. Write never blocks: what the pipe does not take
// at once waits in memory, in order, and a goroutine that lives as long as something waits sends it. So
// a server that does not read never blocks a caller or the goroutine that reads from the server.
type Writer struct {
	file *os.File
	try  func(p []byte) (int, error) // writes without blocking, see tryWriter

	mu      sync.Mutex
	waiting []byte
	sending int // bytes that the pump writes now
	pumping bool
	err     error // what ended the pipe
	wg      sync.WaitGroup
}

// NewWriter returns a Writer for the end of a pipe that file is.
func NewWriter(file *os.File) (*Writer, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &Writer{file: file, try: tryWriter(raw)}, nil
}

// Write sends p or queues it, all of it or nothing. An error means that the server is of no use any more:
// the pipe has ended, or nobody reads it.
func (s *Writer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	n := 0
	if s.pumping {
		if s.sending+len(s.waiting)+len(p) > MaxBacklog {
			return 0, ErrBacklog
		}
	} else if n, s.err = s.try(p); s.err != nil || n == len(p) {
		return n, s.err
	}
	s.waiting = append(s.waiting, p[n:]...)
	if !s.pumping {
		s.pumping = true
		s.wg.Go(s.pump)
	}
	return len(p), nil
}

// pump writes what waits until nothing does.
func (s *Writer) pump() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) > 0 && s.err == nil {
		next := s.waiting
		s.waiting, s.sending = nil, len(next)
		s.mu.Unlock()
		_, err := s.file.Write(next)
		s.mu.Lock()
		s.sending = 0
		if s.err == nil {
			s.err = err
		}
	}
	s.pumping = false
}

// Close ends the pipe; what waits is lost.
func (s *Writer) Close() error {
	s.mu.Lock()
	if s.err == nil {
		s.err = os.ErrClosed
	}
	s.mu.Unlock()
	err := s.file.Close()
	s.wg.Wait()
	return err
}
