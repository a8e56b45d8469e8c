// Package command is the command line of callgate: one file for each subcommand, with its flags and its output. The
// programs in cmd are this package, and the engines that they add.
package command

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "callgate/internal/startup"
)

// Main runs the command line of the process and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		time.Sleep(hint)
		fmt.Fprintln(os.Stderr, "callgate is ending. Press Ctrl-C again to end at once.")
	})
	return execute(ctx, os.Args[1:])
}

// hint is how long callgate may take to end before it says how to hurry it.
const hint = time.Second
