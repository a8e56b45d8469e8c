// Package keyboard reads what a person types at a terminal. It stops when the command is to end.
package keyboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// Line reads one line from a terminal, without its end. What is typed appears on echo. At Ctrl-C, and at Ctrl-D before
// anything is typed, the error is context.Canceled, whatever is typed after it. When ctx ends first, it is that of ctx.
func Line(ctx context.Context, in *os.File, echo io.Writer) (line string, err error) {
	// Without the raw mode, the terminal sends a signal for Ctrl-C, which may arrive after the line that is typed next.
	state, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, term.Restore(int(in.Fd()), state)) }()
	keys, err := cancelreader.NewReader(in)
	if err != nil {
		return "", err
	}
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		keys.Cancel()
		close(cancelled)
	})
	defer func() {
		if !stop() {
			<-cancelled
		}
		err = errors.Join(err, keys.Close())
	}()
	line, err = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, echo}, "").ReadLine()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, io.EOF):
		err = context.Canceled
	}
	if err != nil {
		fmt.Fprint(echo, "\r\n")
		return "", err
	}
	return line, nil
}

// Echo returns where a person sees what they type: out, if that is a terminal, or standard error.
func Echo(out io.Writer) io.Writer {
	for _, w := range []io.Writer{out, os.Stderr} {
		if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return f
		}
	}
	return io.Discard
}
