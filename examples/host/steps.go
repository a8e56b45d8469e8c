package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// host is a connected host and the person in front of it.
type host struct {
	client *client.Client
	*printer
	options
	in io.Reader
}

// outcome is the outcome of a tools/call.
type outcome struct {
	text    string
	isError bool
	took    time.Duration
	err     error // there was no result
}

// The three calls. The rules that callgate writes into a new data directory allow the first, deny the second and leave
// the third to a person.
const (
	readTool  = "demo_read_file"
	shellTool = "demo_shell_exec"
	allowPath = "README.md"
	denyPath  = ".env"
	destroy   = "rm -r build"   // a person's yes counts once
	create    = "mkdir -p dist" // harmless enough for "always"
)

// askAbout returns the command of the third call.
func (h *host) askAbout() string {
	if h.answer == "always" {
		return create
	}
	return destroy
}

func (h *host) allowed(ctx context.Context) error {
	args := map[string]any{"path": allowPath}
	h.step("a call that the rules allow", readTool, args)
	return h.expect("the allowed call", h.call(ctx, readTool, args), func(o outcome) bool { return !o.isError })
}

func (h *host) denied(ctx context.Context) error {
	args := map[string]any{"path": denyPath}
	h.step("a call that the rules deny", readTool, args)
	return h.expect("the denied call", h.call(ctx, readTool, args), func(o outcome) bool { return o.isError })
}

func (h *host) asked(ctx context.Context) error {
	args := map[string]any{"command": h.askAbout()}
	h.step("a call that the rules leave to a person", shellTool, args)
	result := make(chan outcome, 1)
	go func() { result <- h.callUntilDecided(ctx, shellTool, args) }()

	approvals, pending, early, err := h.awaitQuestion(ctx, result)
	if early != nil {
		return h.expect("the asked call was not asked about: it", *early, func(outcome) bool { return false })
	}
	if err != nil {
		return err
	}
	h.question(approvals, pending)
	decision, end, err := h.decide(ctx, approvals, pending, result)
	if err != nil {
		return err
	}
	if decision == "" && end.err == nil && timedOut(end) {
		h.unanswered(end)
		return nil
	}
	err = h.expect("the asked call", end, func(o outcome) bool {
		switch decision {
		case "approve", "always":
			return !o.isError
		case "reject":
			return o.isError && strings.Contains(o.text, feedback)
		default: // somebody else answered, either way
			return true
		}
	})
	if err != nil || decision != "always" {
		return err
	}
	return h.granted(ctx, args)
}

// timedOut reports whether nobody answered in time, which counts as a no.
func timedOut(o outcome) bool { return o.isError && strings.Contains(o.text, "APPROVAL_TIMEOUT") }

// granted repeats a call that was answered with "always". Nobody is asked this time.
func (h *host) granted(ctx context.Context, args map[string]any) error {
	h.step("the same call again: nobody is asked", shellTool, args)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // withdraws the call if it is asked about after all
	result := make(chan outcome, 1)
	go func() { result <- h.call(ctx, shellTool, args) }()
	approvals, pending, early, err := h.awaitQuestion(ctx, result)
	if early != nil {
		return h.expect("the granted call", *early, func(o outcome) bool { return !o.isError })
	}
	if err != nil {
		return err
	}
	h.question(approvals, pending)
	return errors.New("the granted call was asked about again")
}

// awaitQuestion waits until the companion has the call's approval. early is the call's outcome if it ended first.
func (h *host) awaitQuestion(ctx context.Context, result <-chan outcome) (c *companion, a approval, early *outcome, err error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if c, err = findCompanion(h.dataDir); err == nil {
			if a, err = c.pending(ctx, shellTool, h.askAbout()); err == nil {
				return c, a, nil, nil
			}
		}
		select {
		case end := <-result:
			return nil, a, &end, nil
		case <-ctx.Done():
			return nil, a, nil, fmt.Errorf("no question showed up: %w", errors.Join(ctx.Err(), err))
		case <-tick.C:
		}
	}
}

// call makes one tools/call. It asks for progress, which tells callgate that this host waits.
func (h *host) call(ctx context.Context, tool string, args map[string]any) outcome {
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = tool, args
	request.Params.Meta = &mcp.Meta{ProgressToken: tool}
	begun := time.Now()
	result, err := h.client.CallTool(ctx, request)
	o := outcome{took: time.Since(begun), err: err}
	if err != nil {
		return o
	}
	o.isError = result.IsError
	for _, content := range result.Content {
		o.text += mcp.GetTextFromContent(content)
	}
	return o
}

// callUntilDecided makes a call and repeats it as long as callgate returns it undecided. callgate does so if a person
// takes longer than a host may wait.
func (h *host) callUntilDecided(ctx context.Context, tool string, args map[string]any) outcome {
	begun := time.Now()
	for {
		o := h.call(ctx, tool, args)
		if o.err != nil || !o.isError || !strings.Contains(o.text, "repeat the same call") {
			o.took = time.Since(begun)
			return o
		}
		select {
		case <-ctx.Done():
			return outcome{took: time.Since(begun), err: ctx.Err()}
		case <-time.After(time.Second):
		}
	}
}

// expect shows an outcome and returns an error unless it is as it should be.
func (h *host) expect(what string, o outcome, ok func(outcome) bool) error {
	if o.err != nil {
		h.failed(o)
		return fmt.Errorf("%s failed: %w", what, o.err)
	}
	good := ok(o)
	h.result(o, good)
	switch {
	case good:
		return nil
	case o.isError:
		return fmt.Errorf("%s was refused: %s", what, o.text)
	default:
		return fmt.Errorf("%s ran", what)
	}
}
