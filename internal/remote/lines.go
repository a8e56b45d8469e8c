package remote

import (
	"bytes"
	"io"

	"callgate/internal/budget"
)

// lines reads the lines of an event stream, which end with \n, \r\n or \r. Between messages it holds little memory,
// however long the longest message was, because most streams are silent most of the time.
type lines struct {
	r     io.Reader
	limit int           // bytes of one line
	room  budget.Buffer // where memory for long lines comes from

	buf        []byte
	charge     *budget.Charge // for buf
	start, end int            // what has been read and not returned
	scanned    int            // how much of that has no line end
	after      bool           // the last line ended with \r: a following \n belongs to it
}

const (
	quietLines = 512      // size of the buffer at first, and again after a long line
	longLines  = 64 << 10 // size from which a buffer counts as long
)

// next returns a line without its end, which is valid until the next call. It returns no line that the end of the
// stream cuts off. The error is io.EOF at the end, and errTooLong for a line beyond the limit.
func (l *lines) next() ([]byte, error) {
	if l.start == l.end && len(l.buf) >= longLines {
		l.buf, l.charge, l.start, l.end, l.scanned = nil, nil, 0, 0, 0
	}
	for {
		if l.after && l.start < l.end {
			if l.after = false; l.buf[l.start] == '\n' {
				l.start++
			}
		}
		if i := bytes.IndexAny(l.buf[l.start+l.scanned:l.end], "\r\n"); i >= 0 {
			line := l.buf[l.start : l.start+l.scanned+i]
			l.after = l.buf[l.start+len(line)] == '\r'
			l.start, l.scanned = l.start+len(line)+1, 0
			budget.Grown(l.room.Budget, l.charge)
			return line, nil
		}
		if l.scanned = l.end - l.start; l.scanned > l.limit {
			return nil, errTooLong
		}
		if err := l.fill(); err != nil {
			return nil, err
		}
	}
}

// fill reads more. It grows a full buffer.
func (l *lines) fill() error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.start, l.end = 0, l.end-l.start
	}
	if l.end == len(l.buf) {
		size := max(quietLines, min(2*len(l.buf), l.limit+1))
		grown, charge, err := budget.Alloc(l.room.Budget, l.room.Done, size, l.limit, l.charge)
		if err != nil {
			return err
		}
		grown, l.charge = grown[:size], charge
		copy(grown, l.buf)
		l.buf = grown
	}
	for range maxEmptyReads {
		n, err := l.r.Read(l.buf[l.end:])
		if l.end += n; n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// maxEmptyReads bounds how often in a row a reader may return nothing.
const maxEmptyReads = 100
