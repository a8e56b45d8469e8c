package pipe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
)

func pipe(t *testing.T) (*os.File, *Writer) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	s, err := NewWriter(w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return r, s
}

func TestWriterKeepsOrderAndBytes(t *testing.T) {
	t.Parallel()
	r, s := pipe(t)
	var want bytes.Buffer
	for i := range 300 { // a megabyte, far more than a pipe holds
		message := fmt.Appendf(nil, "%d%s\n", i, bytes.Repeat([]byte("x"), 12*i))
		want.Write(message)
		if n, err := s.Write(message); n != len(message) || err != nil {
			t.Fatalf("message %d: %d, %v", i, n, err)
		}
	}
	got := make([]byte, want.Len())
	if _, err := io.ReadFull(r, got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("what arrives is not what was sent")
	}
	for i := range 10 { // nothing is waiting any more
		message := fmt.Appendf(nil, "again %d\n", i)
		if _, err := s.Write(message); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(r, got[:len(message)]); err != nil || !bytes.Equal(got[:len(message)], message) {
			t.Fatalf("got %q, %v", got[:len(message)], err)
		}
	}
}

func TestWriterIsBounded(t *testing.T) {
	t.Parallel()
	_, s := pipe(t)
	message := make([]byte, 1<<20)
	written := 0
	for {
		n, err := s.Write(message)
		if err != nil {
			if n != 0 || !errors.Is(err, ErrBacklog) {
				t.Errorf("%d, %v", n, err)
			}
			break
		}
		written += n
		if written > MaxBacklog+2*len(message) {
			t.Fatalf("%d bytes wait", written)
		}
	}
	if written < MaxBacklog/2 {
		t.Errorf("only %d bytes may wait", written)
	}
	if err := s.Close(); err != nil { // the pump is in the middle of a write
		t.Error(err)
	}
	if _, err := s.Write(message); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestWriterOfAServerThatIsGone(t *testing.T) {
	t.Parallel()
	r, s := pipe(t)
	r.Close()
	if n, err := s.Write([]byte("x\n")); n != 0 || err == nil {
		t.Errorf("%d, %v", n, err)
	}
}
