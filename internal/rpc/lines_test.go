package rpc

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines of all lengths around the buffers' sizes come whole and in order, however they arrive, and the large buffer is
// returned as soon as it is empty.
func TestLinesOfAllLengths(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var want []string
	for range 200 {
		n := random.IntN(100)
		switch random.IntN(5) {
		case 0:
			n = smallBuffer - 3 + random.IntN(6)
		case 1:
			n = largeBuffer - 3 + random.IntN(6)
		case 2:
			n = random.IntN(4 * largeBuffer)
		}
		want = append(want, strings.Repeat(string(rune('a'+random.IntN(26))), n))
	}
	text := strings.Join(want, "\n") + "\n"
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "with the end": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLines(wrap(strings.NewReader(text)), Options{MaxMessage: 1 << 20})
			for i, line := range want {
				got, err := l.next()
				if string(got) != line+"\n" || err != nil {
					t.Fatalf("line %d: %d bytes of %.20q, %v; want %d of %.20q", i, len(got), got, err, len(line)+1, line)
				}
			}
			if got, err := l.next(); len(got) != 0 || !errors.Is(err, io.EOF) || l.large != nil {
				t.Errorf("%q, %v at the end; the large buffer is kept: %v", got, err, l.large != nil)
			}
		})
	}
}

// A line beyond the limit is an error before it has arrived, and a line that the end cuts off is returned as it is.
func TestLinesAtTheirEnd(t *testing.T) {
	l := newLines(strings.NewReader(strings.Repeat("x", 3*largeBuffer)), Options{MaxMessage: largeBuffer})
	if got, err := l.next(); err == nil || got != nil {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	l = newLines(strings.NewReader("whole\n"+strings.Repeat("y", 2*smallBuffer)), Options{MaxMessage: 1 << 20})
	if got, err := l.next(); string(got) != "whole\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := l.next(); len(got) != 2*smallBuffer || !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	l.end()
	if l.large != nil {
		t.Error("the large buffer is kept")
	}
}
