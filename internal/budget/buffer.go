package budget

import (
	"errors"
	"io"
	"sync"
)

// Buffer holds one message while it is read. The zero value has no bound.
type Buffer struct {
	Budget *Budget
	Done   <-chan struct{} // ends waits for room; may be nil
	Expect int             // bytes that are announced; who announces much is believed by how much of it has come
	Max    int             // bytes that a message can have at most; 0 is no such limit

	data   []byte
	charge *Charge     // of data
	first  *[Free]byte // that data is; nil for other memory
}

// Bytes is what was written. The buffer MUST NOT be used afterwards.
func (x *Buffer) Bytes() []byte {
	x.Budget.Grown(x.charge)
	return x.data
}

// Len is how much was written.
func (x *Buffer) Len() int { return len(x.data) }

// Write appends p. An error means that there is no room for it; it is an *Error.
func (x *Buffer) Write(p []byte) (int, error) {
	if err := x.room(len(p)); err != nil {
		return 0, err
	}
	x.data = append(x.data, p...)
	return len(p), nil
}

// room makes room for n bytes more.
func (x *Buffer) room(n int) error {
	need := len(x.data) + n
	if need <= cap(x.data) {
		return nil
	}
	size := max(need, 2*cap(x.data))
	if x.Expect >= need { // it will not become longer
		size = max(need, min(x.Expect, max(Free, 4*cap(x.data))))
	}
	if x.Max >= need {
		size = min(size, x.Max)
	}
	size = max(need, min(size, x.Budget.fits(x.charge)))
	if len(x.data) == 0 && size == Free && x.Expect > Free {
		x.first = firsts.Get().(*[Free]byte)
		x.data = x.first[:0]
		return nil
	}
	data, charge, err := x.Budget.Alloc(x.Done, size, x.Max, x.charge)
	if err != nil {
		return err
	}
	x.data, x.charge = append(data, x.data...), charge
	if x.first != nil {
		firsts.Put(x.first)
		x.first = nil
	}
	return nil
}

// firsts are beginnings of long messages whose rest has come, and which were copied then.
var firsts = sync.Pool{New: func() any { return new([Free]byte) }}

// least is how much is read at once.
const least = 512

// ReadFrom reads to the end of r, or until there are Max bytes.
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
