package main

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"time"
)

// between plays the client of a scenario: the reference client, with callgate between it and the suite's server at url.
func between(ctx context.Context, callgate, client, url string) error {
	address, end, err := serveCallgate(ctx, callgate, map[string]any{"name": "conformance", "url": url})
	if err != nil {
		return err
	}
	defer end()
	// The client accepts only servers with this name as local.
	cmd := exec.CommandContext(ctx, client, strings.Replace("http://"+address, "127.0.0.1", "localhost", 1)+"/mcp/conformance")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	time.Sleep(rest) // like a host, stay a while, so that callgate finishes with the server
	return err
}
