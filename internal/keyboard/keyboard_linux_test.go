package keyboard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"callgate/internal/testserver/waits"
)

// terminal returns both ends of a new terminal.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal here:", err)
	}
	t.Cleanup(func() { person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return person, program
}

// Reading ends with the command and at Ctrl-C, whatever is typed, and leaves the terminal's mode as it was.
func TestReadingEnds(t *testing.T) {
	for _, typed := range []string{"yes\r", "yex\x7fs\r", "\x03yes\r", "y\x03es\r", "\x04", ""} {
		person, program := terminal(t)
		ctx, cancel := context.WithCancel(t.Context())
		type answer struct {
			line string
			err  error
		}
		answered := make(chan answer, 1)
		go func() {
			line, err := Line(ctx, program, io.Discard)
			answered <- answer{line, err}
		}()
		waits.Until(t, "the terminal to be read", func() bool { return !shows(t, program) })
		fmt.Fprint(person, typed)
		if typed == "" {
			cancel()
		}
		a := <-answered
		if want := strings.HasPrefix(typed, "ye"); want != (a.line == "yes" && a.err == nil) || !want && !errors.Is(a.err, context.Canceled) {
			t.Errorf("%q: %q, %v", typed, a.line, a.err)
		}
		if !shows(t, program) {
			t.Errorf("%q: the terminal does not show what is typed", typed)
		}
		cancel()
	}
}

func shows(t *testing.T, program *os.File) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}
