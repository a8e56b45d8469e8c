package remote

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines end with each of the three line ends, and a stream that had a long line becomes cheap again.
func TestLines(t *testing.T) {
	long := strings.Repeat("x", 5*longLines)
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with the end": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			l := lines{r: wrap(strings.NewReader("a\n\nb\r\n\r\nc\rd\r\r\n" + long + "\ne\n\ncut off")), limit: 1 << 20}
			for _, want := range []string{"a", "", "b", "", "c", "d", "", long, "e", ""} {
				line, err := l.next()
				if err != nil || string(line) != want {
					t.Fatalf("%.40q, %v; want %.40q", line, err, want)
				}
			}
			if name == "byte by byte" && len(l.buf) >= longLines { // at once, the rest is in the same buffer
				t.Errorf("%d bytes are held for short lines", len(l.buf))
			}
			if line, err := l.next(); !errors.Is(err, io.EOF) {
				t.Errorf("%q, %v after the end", line, err)
			}
		})
	}
}

// Lines are bounded, whoever writes them, and a reader that returns nothing keeps nobody busy.
func TestLinesAreBounded(t *testing.T) {
	l := lines{r: io.MultiReader(strings.NewReader("short\n"), endless{}), limit: 100_000}
	if line, err := l.next(); err != nil || string(line) != "short" {
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := l.next(); !errors.Is(err, errTooLong) {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	if len(l.buf) > 200_000 {
		t.Errorf("%d bytes for a line of 100,000", len(l.buf))
	}
	silent := lines{r: iotest.ErrReader(nil), limit: 1}
	if _, err := silent.next(); !errors.Is(err, io.ErrNoProgress) {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
