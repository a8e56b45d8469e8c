// Package pipe provides pipes to servers whose writers never wait for a reader.
package pipe

import (
	"fmt"
	"os"
	"sync"
)

// MaxBacklog bounds the bytes that wait in memory for a server that does not read its input.
const MaxBacklog = 64 << 20

// ErrBacklog is returned by writes that would exceed MaxBacklog.
var ErrBacklog = fmt.Errorf("more than %d bytes wait to be read", MaxBacklog)

// Writer is the writing end of a server's standard input. Write never blocks. What the pipe does not take at once waits
// in memory, in order, and a goroutine sends it and then ends. So a server that does not read never blocks a caller or
// the goroutine that reads from the server.
type Writer struct {
	file *os.File
	try  func(p []byte) (int, error) // writes without blocking, see tryWriter

	mu      sync.Mutex
	waiting []byte
	sending int // bytes that the pump is writing
	pumping bool
	err     error // why the pipe ended
	wg      sync.WaitGroup
}

// NewWriter returns a Writer for the writing end of a pipe.
func NewWriter(file *os.File) (*Writer, error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return nil, err
	}
	return &Writer{file: file, try: tryWriter(raw)}, nil
}

// Write sends or queues all of p, or nothing. An error means that the server is of no more use: the pipe has ended, or
// nobody reads it.
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

// pump writes what waits until nothing is left.
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

// Close ends the pipe and drops what waits.
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
