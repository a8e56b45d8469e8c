package audit

import (
	"bytes"
	"fmt"
	"io"

	"callgate/internal/durable"
)

const (
	firstBlock = 4 << 10
	lastBlock  = 256 << 10
	// maxLine is the longest line in bytes that is read. Append writes none nearly as long.
	maxLine = 16 << 20
)

// backward reads the lines of a file from the last to the first, in growing blocks, so that the newest few records of a
// large log cost one small read.
type backward struct {
	r     io.ReaderAt
	off   int64  // of buf in the file
	buf   []byte // read but not yet returned; ends with a newline once settled
	block int64
	// settled means that the bytes after the last newline have been skipped.
	settled bool
}

// newBackward reads r down from size. Bytes after the last newline before size are not a line.
func newBackward(r io.ReaderAt, size int64) *backward {
	return &backward{r: r, off: size, block: firstBlock}
}

// line returns the line before the one that it returned last, without its newline, and io.EOF after the first line of
// the file. The bytes are valid until the next call.
func (b *backward) line() ([]byte, error) {
	if err := b.settle(); err != nil {
		return nil, err
	}
	for {
		if len(b.buf) > 0 {
			inner := b.buf[:len(b.buf)-1]
			if i := bytes.LastIndexByte(inner, '\n'); i >= 0 {
				b.buf = b.buf[:i+1]
				return inner[i+1:], nil
			}
			if b.off == 0 {
				b.buf = nil
				return inner, nil
			}
		} else if b.off == 0 {
			return nil, io.EOF
		}
		if len(b.buf) > maxLine {
			return nil, fmt.Errorf("%w before byte %d", errLong, b.end())
		}
		if err := b.fill(); err != nil {
			return nil, err
		}
	}
}

// end returns the offset after the line that line returns next. Call it after settle.
func (b *backward) end() int64 { return b.off + int64(len(b.buf)) }

// jump continues with the line that ends at end, which an earlier call returned.
func (b *backward) jump(end int64) { b.buf, b.off = nil, end }

func (b *backward) settle() error {
	for !b.settled {
		if i := bytes.LastIndexByte(b.buf, '\n'); i >= 0 {
			b.buf, b.settled = b.buf[:i+1], true
			break
		}
		b.buf = b.buf[:0]
		if b.off == 0 {
			b.settled = true
			break
		}
		if err := b.fill(); err != nil {
			return err
		}
	}
	return nil
}

func (b *backward) fill() error {
	n := min(b.block, b.off)
	b.block = min(2*b.block, lastBlock)
	buf := make([]byte, n, n+int64(len(b.buf)))
	if _, err := b.r.ReadAt(buf, b.off-n); err != nil {
		return fmt.Errorf("read backwards: %w", err)
	}
	b.buf, b.off = append(buf, b.buf...), b.off-n
	return nil
}

// pathReader opens the file for every read, so that the reader of a thousand logs keeps no file open.
type pathReader string

func (p pathReader) ReadAt(b []byte, off int64) (int, error) {
	f, err := durable.Open(string(p))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(b, off)
}
