package audit

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"time"

	"callgate/internal/durable"
	"callgate/internal/periodic"
)

// followEvery is how often Follow looks for new records. Polling works the same on every system and on network folders,
// and reading a folder takes microseconds.
const followEvery = 200 * time.Millisecond

// Follow yields the newest f.Limit records that f selects, oldest first, or none of them if f.Limit is 0. Then it
// yields every new record without a gap, until ctx ends or the consumer stops. New records of several logs are in order
// of time if they are found together. Errors are as with Read.
func Follow(ctx context.Context, dir string, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := f.checked()
		if err != nil {
			yield(Record{}, err)
			return
		}
		ends, err := logEnds(dir)
		if err != nil {
			yield(Record{}, fmt.Errorf("audit: %w", err))
			return
		}
		t := tail{dir: dir, read: make(map[string]int64, len(ends))}
		for _, end := range ends {
			lines := newBackward(pathReader(filepath.Join(dir, end.name)), end.size)
			if err := lines.settle(); err != nil && !yield(Record{}, fmt.Errorf("audit: %s: %w", end.name, err)) {
				return
			}
			t.read[end.name] = lines.end()
		}
		if f.Limit > 0 && !yieldPast(dir, ends, f, yield) {
			return
		}
		for ctx.Err() == nil {
			if !t.yieldNew(f, yield) {
				return
			}
			periodic.Sleep(ctx, followEvery)
		}
	}
}

// found is a record or an error for the consumer.
type found struct {
	record Record
	err    error
}

func yieldPast(dir string, ends []logEnd, f Filter, yield func(Record, error) bool) bool {
	var past []found
	readUpTo(dir, ends, f, func(r Record, err error) bool {
		past = append(past, found{r, err})
		return true
	})
	for _, p := range slices.Backward(past) {
		if !yield(p.record, p.err) {
			return false
		}
	}
	return true
}

// tail knows how far each log has been read.
type tail struct {
	dir  string
	read map[string]int64
}

func (t *tail) yieldNew(f Filter, yield func(Record, error) bool) bool {
	ends, err := logEnds(t.dir)
	if err != nil {
		return yield(Record{}, fmt.Errorf("audit: %w", err))
	}
	var fresh []found
	for _, end := range ends {
		if end.size > t.read[end.name] {
			fresh = t.readOn(end, fresh)
		}
	}
	slices.SortStableFunc(fresh, func(a, b found) int { return a.record.Time.Compare(b.record.Time) })
	for _, n := range fresh {
		if n.err == nil && !f.match(&n.record) {
			continue
		}
		if !yield(n.record, n.err) {
			return false
		}
	}
	return true
}

// readOn appends to fresh the whole lines in the unread part of a log.
func (t *tail) readOn(end logEnd, fresh []found) []found {
	fail := func(err error) []found {
		t.read[end.name] = end.size // report it once
		return append(fresh, found{err: fmt.Errorf("audit: %s: %w", end.name, err)})
	}
	file, err := durable.Open(filepath.Join(t.dir, end.name))
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	from := t.read[end.name]
	lines := bufio.NewReaderSize(io.NewSectionReader(file, from, end.size-from), lastBlock)
	for {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return fresh
		}
		if err != nil {
			return fail(err)
		}
		if !bytes.HasSuffix(line, []byte("\n")) {
			return fresh
		}
		r, err := decode(line)
		if err != nil {
			err = fmt.Errorf("audit: %s: byte %d: %w", end.name, t.read[end.name], err)
		}
		fresh = append(fresh, found{r, err})
		t.read[end.name] += int64(len(line))
	}
}

var errLong = fmt.Errorf("line over %d bytes", maxLine)

// readLine returns the next line with its newline, the rest of the input without one, or io.EOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(long)+len(part) > maxLine {
			return nil, errLong
		}
		switch {
		case err == nil || errors.Is(err, io.EOF):
			if len(long) > 0 {
				part = append(long, part...)
			}
			if len(part) == 0 {
				return nil, io.EOF
			}
			return part, nil
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
		default:
			return nil, err
		}
	}
}
