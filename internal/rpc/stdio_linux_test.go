package rpc

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The input of a terminal comes through, and closing ends a waiting read.
func TestTerminalCanBeClosed(t *testing.T) {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminal here:", err)
	}
	defer person.Close()
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Open(fmt.Sprintf("/dev/pts/%d", n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	terminal := os.NewFile(uintptr(fd), "terminal") // it blocks, as standard input does
	in := interruptible(terminal)
	fmt.Fprintln(person, "{}")
	line := make([]byte, 3)
	if n, err := in.Read(line); err != nil || string(line[:n]) != "{}\n" {
		t.Fatalf("%q, %v", line[:n], err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := in.Read(line)
		ended <- err
	}()
	time.Sleep(50 * time.Millisecond) // until the read waits
	in.Close()
	if err := <-ended; err == nil {
		t.Error("a read of a closed terminal says nothing is wrong")
	}
}
