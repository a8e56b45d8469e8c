// Package keyboard reads what a person types at a terminal. It stops reading when the command has to end.
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

// Line reads one line from a terminal and returns it without its end. It shows what is typed on echo. Ctrl-C, or Ctrl-D
// on an empty line, makes it return context.Canceled at once. If ctx ends first, it returns the error of ctx.
func Line(ctx context.Context, in *os.File, echo io.Writer) (line string, err error) {
	// Without raw mode, the terminal would send a signal for Ctrl-C, which may arrive only after the next line.
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

// Echo returns where a person sees what they type: out if it is a terminal, or else standard error if that is one.
func Echo(out io.Writer) io.Writer {
	for _, w := range []io.Writer{out, os.Stderr} {
		if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return f
		}
	}
	return io.Discard
}
