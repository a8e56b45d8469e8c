package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

const (
	defaultTimeout = 30 * time.Second
	maxTimeout     = 300 * time.Second
	maxOutput      = 64 << 10 // bytes
)

type shellArgs struct {
	Command        string  `json:"command"`
	TimeoutSeconds float64 `json:"timeout_seconds"`
}

// shellExec runs a command line in the sandbox folder. If the command fails or takes too long, the error contains the
// output so far.
func (b *sandbox) shellExec(ctx context.Context, args shellArgs) (string, error) {
	shell, err := findShell()
	if err != nil {
		return "", err
	}
	timeout := defaultTimeout
	if args.TimeoutSeconds > 0 {
		timeout = min(time.Duration(args.TimeoutSeconds*float64(time.Second)), maxTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	var output capped
	cmd := exec.CommandContext(ctx, shell, "-c", args.Command)
	cmd.Dir = b.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "LANG=C.UTF-8"}
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.WaitDelay = time.Second // a background process may hold the pipe open
	ownGroup(cmd)
	err = cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("%sended after %s", output.text(), timeout)
	case err != nil:
		return "", fmt.Errorf("%s%w", output.text(), err)
	}
	return output.text(), nil
}

func findShell() (string, error) {
	for _, name := range []string{"bash", "sh"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("neither bash nor sh is installed")
}

// capped keeps the first maxOutput bytes written to it and drops the rest, so that a command never blocks.
type capped struct {
	kept    []byte
	dropped int
}

func (c *capped) Write(p []byte) (int, error) {
	keep := min(len(p), maxOutput-len(c.kept))
	c.kept = append(c.kept, p[:keep]...)
	c.dropped += len(p) - keep
	return len(p), nil
}

func (c *capped) text() string {
	if c.dropped > 0 {
		return fmt.Sprintf("%s\n[%d bytes more]\n", c.kept, c.dropped)
	}
	return string(c.kept)
}
