// Package keyboard reads what a person types at a terminal. It stops when the command is to end.
package keyboard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// Line reads one line, or what is there at the end of the input. When ctx ends first, nothing more is read, and the
// error is that of ctx.
func Line(ctx context.Context, in *os.File) (string, error) {
	keys, err := cancelreader.NewReader(in)
	if err != nil {
		return "", err
	}
	defer keys.Close()
	defer context.AfterFunc(ctx, func() { keys.Cancel() })()
	line, err := bufio.NewReader(keys).ReadString('\n')
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, io.EOF):
		return line, nil
	}
	return line, err
}

// Hidden reads one line that the terminal does not show. When ctx ends first, the terminal shows again what is typed,
// and the error is that of ctx; the process has to end then.
func Hidden(ctx context.Context, in *os.File) (string, error) {
	state, err := term.GetState(int(in.Fd()))
	if err != nil {
		return "", err
	}
	type answer struct {
		line []byte
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(int(in.Fd()))
		typed <- answer{line, err}
	}()
	select {
	case a := <-typed:
		return string(a.line), a.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(in.Fd()), state))
	}
}
