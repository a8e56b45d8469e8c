package pipe

import (
	"errors"
	"io"
	"testing"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	b := NewMemory()
	if _, err := b.Write(make([]byte, MaxBacklog)); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Write([]byte{1}); !errors.Is(err, ErrBacklog) {
		t.Errorf("over the bound: %v", err)
	}
	b.Close()
	if n, err := io.Copy(io.Discard, b); n != MaxBacklog || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if _, err := b.Write([]byte{1}); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after the end: %v", err)
	}
}
