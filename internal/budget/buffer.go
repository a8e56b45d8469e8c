package budget

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// Buffer holds one message while it is read. The zero value has no limit.
type Buffer struct {
	Budget *Budget
	Done   <-chan struct{} // ends the wait for room; may be nil
	Expect int             // announced length in bytes; a large one is trusted only as data arrives
	Max    int             // maximum length in bytes; 0: no limit

	data    []byte
	charge  *Charge    // for data
	scratch *[]byte    // pooled memory of data until it is complete or too long; nil: its own memory
	pool    *sync.Pool // the pool of scratch
}

// Bytes returns what was written. The buffer MUST NOT be used afterwards.
func (x *Buffer) Bytes() []byte {
	Grown(x.Budget, x.charge)
	if x.scratch != nil {
		x.data = bytes.Clone(x.data)
		x.release()
	}
	return x.data
}

// Len returns how many bytes were written.
func (x *Buffer) Len() int { return len(x.data) }

// Write appends p. If there is no room for it, it returns an *Error.
func (x *Buffer) Write(p []byte) (int, error) {
	if err := x.room(len(p)); err != nil {
		return 0, err
	}
	x.data = append(x.data, p...)
	return len(p), nil
}

// room makes room for n more bytes.
func (x *Buffer) room(n int) error {
	need := len(x.data) + n
	if need <= cap(x.data) {
		return nil
	}
	if need <= Free && (x.Expect < need || x.Expect > Free) { // the final length is unknown, or large
		x.borrow(need)
		return nil
	}
	size := max(need, 2*cap(x.data))
	if x.Expect >= need { // it will not become longer
		size = max(need, min(x.Expect, max(Free, 4*cap(x.data))))
	}
	if x.Max >= need {
		size = min(size, x.Max)
	}
	size = max(need, min(size, x.Budget.largestFor(x.charge)))
	data, charge, err := Alloc(x.Budget, x.Done, size, x.Max, x.charge)
	if err != nil {
		return err
	}
	data = append(data, x.data...)
	x.release()
	x.data, x.charge = data, charge
	return nil
}

// borrow takes pooled memory for a message until it is complete or too long. So memory that growing messages discard is
// reused.
func (x *Buffer) borrow(need int) {
	pool := &little
	if need > littleScratch {
		pool = &large
	}
	scratch := pool.Get().(*[]byte)
	size := len(*scratch)
	if x.Max > 0 {
		size = min(size, max(need, x.Max))
	}
	data := append((*scratch)[:0:size], x.data...)
	x.release()
	x.data, x.scratch, x.pool = data, scratch, pool
}

func (x *Buffer) release() {
	if x.scratch != nil {
		x.pool.Put(x.scratch)
		x.scratch = nil
	}
}

// littleScratch is the memory that a message gets first, in bytes, so that a slow sender holds no more.
const littleScratch = 4 << 10

var little, large = sync.Pool{New: func() any { b := make([]byte, littleScratch); return &b }}, sync.Pool{New: func() any { b := make([]byte, Free); return &b }}

// least is the least room for one read, in bytes.
const least = 512

// ReadFrom reads to the end of r, or until the buffer holds at least Max bytes.
func (x *Buffer) ReadFrom(r io.Reader) (int64, error) {
	for before := len(x.data); ; {
		if x.Max > 0 && len(x.data) >= x.Max {
			return int64(len(x.data) - before), nil
		}
		if cap(x.data)-len(x.data) == 0 {
			if err := x.room(least); err != nil {
				return int64(len(x.data) - before), err
			}
		}
		n, err := r.Read(x.data[len(x.data):cap(x.data)])
		x.data = x.data[:len(x.data)+n]
		if errors.Is(err, io.EOF) {
			return int64(len(x.data) - before), nil
		}
		if err != nil {
			return int64(len(x.data) - before), err
		}
	}
}
