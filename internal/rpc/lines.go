package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"callgate/internal/budget"
)

// lines reads lines. It reads a long line with a large buffer, which it borrows only while that holds something. So an
// idle connection, as most are, holds only a small buffer.
type lines struct {
	from  io.Reader
	limit int // bytes of a line
	room  *budget.Budget
	done  <-chan struct{} // ends waits for room
	small *bufio.Reader
	large *bufio.Reader // nil while it is not needed
}

const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
)

var largeBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, largeBuffer) }}

func newLines(from io.Reader, o Options) *lines {
	return &lines{from: from, limit: o.MaxMessage, room: o.Budget, done: o.Done, small: bufio.NewReaderSize(from, smallBuffer)}
}

// next returns the next line in its own memory. With an error, it returns as much of the line as there is. A line much
// longer than the limit is an error. After a *budget.Error, for which there was no room, the next line can be read.
func (l *lines) next() ([]byte, error) {
	r := l.small
	if l.large != nil {
		if r = l.large; l.large.Buffered() == 0 {
			l.end()
			r = l.small
		}
	}
	part, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return append(make([]byte, 0, len(part)), part...), err
	}
	line := budget.Buffer{Budget: l.room, Done: l.done, Max: l.limit + largeBuffer}
	for {
		if line.Len() > l.limit {
			return nil, fmt.Errorf("a message is longer than %d bytes", l.limit)
		}
		if _, full := line.Write(part); full != nil {
			return l.skip(line.Bytes(), part, err, full)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line.Bytes(), err
		}
		if l.large == nil { // the small buffer is empty now
			l.large, _ = largeBuffers.Get().(*bufio.Reader)
			l.large.Reset(l.from)
		}
		part, err = l.large.ReadSlice('\n')
	}
}

// kept is how many bytes of the beginning and of the end of a line are kept if there is no room for it. They hold its
// id.
const kept = 4 << 10

// skip reads to the end of a line for which there is no room. part is what was read last, with err. skip returns the
// line's beginning and end, in two lines, with full.
func (l *lines) skip(head, part []byte, err, full error) ([]byte, error) {
	if len(head) == 0 {
		head = part
	}
	head = bytes.Clone(head[:min(len(head), kept)])
	var tail []byte
	for {
		tail = append(tail, part[max(0, len(part)-kept):]...)
		tail = append([]byte(nil), tail[max(0, len(tail)-kept):]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		r := l.small
		if l.large != nil {
			r = l.large
		}
		part, err = r.ReadSlice('\n')
	}
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), tail...), full
}

// buffered returns how many bytes have been read and not returned.
func (l *lines) buffered() int {
	if l.large != nil {
		return l.large.Buffered()
	}
	return l.small.Buffered()
}

// end gives the large buffer back. Its content is lost.
func (l *lines) end() {
	if l.large != nil {
		l.large.Reset(nil)
		largeBuffers.Put(l.large)
		l.large = nil
	}
}
