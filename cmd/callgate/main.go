// Command callgate gates every tool call between an LLM host and its MCP servers.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop() // a second signal ends the process at once
		time.Sleep(hint)
		fmt.Fprintln(os.Stderr, "callgate is ending. Press Ctrl-C again to end at once.")
	})
	code := execute(ctx, os.Args[1:])
	os.Exit(code)
}

// hint is how long callgate may take to end before it says how to hurry it.
const hint = time.Second
