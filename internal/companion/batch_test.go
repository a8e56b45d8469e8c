package companion

import (
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
)

// written is a connection that keeps each write.
type written struct {
	net.Conn
	writes []string
	err    error
}

func (w *written) Write(p []byte) (int, error) {
	w.writes = append(w.writes, string(p))
	return len(p), w.err
}

func TestGathering(t *testing.T) {
	w := &written{}
	g := &batching{Conn: w}
	write := func(text string) {
		t.Helper()
		if _, err := io.WriteString(g, text); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	g.gather()
	write("b")
	write("c")
	if !slices.Equal(w.writes, []string{"a"}) {
		t.Errorf("%q is written before it is released", w.writes)
	}
	if err := g.release(); err != nil {
		t.Fatal(err)
	}
	write("d")
	g.gather()
	long := strings.Repeat("x", maxHeld)
	write("e")
	write(long)
	write("f")
	if err := g.release(); err != nil || !slices.Equal(w.writes, []string{"a", "bc", "d", "e", long, "f"}) {
		t.Errorf("%v, %d writes", err, len(w.writes))
	}
	w.err = errors.New("broken")
	g.gather()
	write("g")
	if err := g.release(); !errors.Is(err, w.err) {
		t.Errorf("what could not be written: %v", err)
	}
}
