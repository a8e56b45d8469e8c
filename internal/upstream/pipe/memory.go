package pipe

import (
	"io"
	"sync"
)

// Memory is a pipe inside this program whose writer never waits. Unread data stays in memory, up to MaxBacklog bytes.
type Memory struct {
	mu      sync.Mutex
	more    sync.Cond
	waiting []byte
	closed  bool
}

// NewMemory returns an empty pipe.
func NewMemory() *Memory {
	b := &Memory{}
	b.more.L = &b.mu
	return b
}

// Write queues all of p or nothing.
func (b *Memory) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed:
		return 0, io.ErrClosedPipe
	case len(b.waiting)+len(p) > MaxBacklog:
		return 0, ErrBacklog
	}
	b.waiting = append(b.waiting, p...)
	b.more.Signal()
	return len(p), nil
}

func (b *Memory) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.waiting) == 0 {
		if b.closed {
			return 0, io.EOF
		}
		b.more.Wait()
	}
	n := copy(p, b.waiting)
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	return n, nil
}

// Close ends the pipe for both sides; the reader still gets the remaining data.
func (b *Memory) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.more.Broadcast()
}
