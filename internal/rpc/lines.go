package rpc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
)

// lines reads lines. A long one is read with a large buffer, which is borrowed for as long as there is something in it:
// a connection that is idle, as most are, holds a small one.
type lines struct {
	from  io.Reader
	small *bufio.Reader
	large *bufio.Reader // nil while it is not needed
}

const (
	smallBuffer = 8 << 10
	largeBuffer = 64 << 10
)

var largeBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, largeBuffer) }}

func newLines(from io.Reader) *lines {
	return &lines{from: from, small: bufio.NewReaderSize(from, smallBuffer)}
}

// next returns the next line in memory of its own, and with an error what there is of it. A line much longer than limit
// bytes is an error.
func (l *lines) next(limit int) ([]byte, error) {
	r := l.small
	if l.large != nil {
		if r = l.large; l.large.Buffered() == 0 {
			l.end()
			r = l.small
		}
	}
	part, err := r.ReadSlice('\n')
	line := append(make([]byte, 0, len(part)), part...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(line) > limit {
			return nil, fmt.Errorf("a message is longer than %d bytes", limit)
		}
		if l.large == nil { // the small one has been emptied
			l.large, _ = largeBuffers.Get().(*bufio.Reader)
			l.large.Reset(l.from)
		}
		part, err = l.large.ReadSlice('\n')
		line = append(line, part...)
	}
	return line, err
}

// buffered is how many bytes have been read and not returned.
func (l *lines) buffered() int {
	if l.large != nil {
		return l.large.Buffered()
	}
	return l.small.Buffered()
}

// end gives the large buffer back. What is in it is lost.
func (l *lines) end() {
	if l.large != nil {
		l.large.Reset(nil)
		largeBuffers.Put(l.large)
		l.large = nil
	}
}
