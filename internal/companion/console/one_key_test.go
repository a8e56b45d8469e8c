package console

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
)

// A cancelled ReadKey leaves the keys to the next reader.
func TestAKeyIsNotWaitedForLongerThanItIsWanted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("only the console itself can be left there")
	}
	in, keyboard, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer keyboard.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := readKey(ctx, in)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if _, err := keyboard.WriteString("y"); err != nil {
		t.Fatal(err)
	}
	left := make([]byte, 1)
	if n, err := in.Read(left); n != 1 || err != nil || left[0] != 'y' {
		t.Errorf("the key was taken: %q, %v", left[:n], err)
	}
}
