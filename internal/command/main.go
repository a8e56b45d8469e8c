// Package command is callgate's command line, with one file for each subcommand. Each program in cmd is this package,
// with the policy engines that the program adds.
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
		stop() // so that a second signal ends the process at once
		time.Sleep(hint)
		fmt.Fprintln(os.Stderr, "callgate is ending. Press Ctrl-C again to end at once.")
	})
	return execute(ctx, os.Args[1:])
}

// hint is how long callgate may take to end before it tells people how to end it at once.
const hint = time.Second
