package keyboard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"callgate/internal/testserver/waits"
)

// terminal returns both ends of a new one.
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

// Reading ends with the command; what is typed later is for somebody else.
func TestReadingEndsWithTheCommand(t *testing.T) {
	for name, read := range map[string]func(context.Context, *os.File) (string, error){"line": Line, "hidden": Hidden} {
		person, program := terminal(t)
		fmt.Fprintln(person, "yes")
		if got, err := read(t.Context(), program); err != nil || got != "yes" && got != "yes\n" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := read(ctx, program)
			ended <- err
		}()
		if name == "hidden" {
			waits.Until(t, "the terminal to hide what is typed", func() bool { return !shows(t, program) })
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if !shows(t, program) {
			t.Errorf("%s: the terminal does not show what is typed", name)
		}
		fmt.Fprintln(person, "y") // ends what still reads, too
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
