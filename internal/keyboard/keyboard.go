// Package keyboard reads what a person types at a terminal. It stops when the command is to end.
package keyboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// Keys that do more than add to the line.
const (
	interrupt = 0x03 // Ctrl-C
	end       = 0x04 // Ctrl-D
	backspace = 0x08
	clearLine = 0x15 // Ctrl-U
	erase     = 0x7f
)

// Line reads one line, without its end, or what is there at the end of the input. What is typed appears on echo. At
// Ctrl-C the error is context.Canceled, whatever is typed after it; when ctx ends first, it is that of ctx.
func Line(ctx context.Context, in *os.File, echo io.Writer) (line string, err error) {
	if term.IsTerminal(int(in.Fd())) {
		// The terminal itself would send a signal for Ctrl-C, which may arrive after the line that is typed next.
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(int(in.Fd()), state) }() // nothing is left to do with a terminal that refuses
	}
	keys, err := cancelreader.NewReader(in)
	if err != nil {
		return "", err
	}
	defer keys.Close()
	defer context.AfterFunc(ctx, func() { keys.Cancel() })()
	line, err = read(keys, echo)
	if ctx.Err() != nil {
		fmt.Fprint(echo, "\r\n")
		return "", ctx.Err()
	}
	return line, err
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

// read takes one key after the other, and none after the line.
func read(keys io.Reader, echo io.Writer) (string, error) {
	var line []byte
	for key := make([]byte, 1); ; {
		if _, err := keys.Read(key); errors.Is(err, io.EOF) {
			return string(line), nil
		} else if err != nil {
			return "", err
		}
		switch k := key[0]; {
		case k == interrupt:
			fmt.Fprint(echo, "^C\r\n")
			return "", context.Canceled
		case k == '\r', k == '\n', k == end && len(line) == 0:
			fmt.Fprint(echo, "\r\n")
			return string(line), nil
		case (k == backspace || k == erase) && len(line) > 0:
			_, size := utf8.DecodeLastRune(line)
			line = line[:len(line)-size]
			fmt.Fprint(echo, "\b \b")
		case k == clearLine:
			for range utf8.RuneCount(line) {
				fmt.Fprint(echo, "\b \b")
			}
			line = nil
		case k >= ' ' && k != erase, k == '\t':
			line = append(line, k)
			_, _ = echo.Write(key) // the answer counts, seen or not
		}
	}
}
