package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/internal/companion"
)

// Exit codes of "approve --once", besides 0 for an approval.
const (
	exitRejected  exitCode = 3
	exitWithdrawn exitCode = 4
)

func newApproveCommand(dataDir func() (string, error)) *cobra.Command {
	var once, asJSON bool
	var address string
	cmd := &cobra.Command{
		Use:   "approve",
		Short: "Answer what waits at the gate, in this terminal",
		Long: `Approve connects to the running callgate of this user, shows each call that waits for a person, and takes
the answer:

  y                              approve this call, once
  n [text]                       reject it; the text goes to the model
  a [numbers] [session|worker]   approve, and always allow what is listed under these numbers
  v                              show all arguments
  s                              skip: leave it to others, or to its timeout
  q                              leave

An empty line does nothing. Keys count only after the keyboard has rested for a moment since the prompt
appeared, so that typing into a prompt that pops up answers nothing.

With --json every frame of protocol version 1 is printed as one line of JSON, and each line of standard
input is a tool_approve, set_autonomy or cancel frame.

Exit codes: 0 left, or approved with --once; 1 failed; with --once, 3 rejected and 4 timed out or withdrawn.`,
		Example: `  callgate approve
  callgate approve --once
  callgate approve --json | jq 'select(.type == "tool_approve_request")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := dataDir()
			if err != nil {
				return err
			}
			outcome, err := approve(cmd.Context(), dir, address, once, asJSON)
			switch {
			case err != nil:
				return explain(err)
			case outcome == companion.Rejected:
				return exitRejected
			case outcome == companion.Withdrawn:
				return exitWithdrawn
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&once, "once", false, "end when the first approval that was shown is over")
	flags.BoolVar(&asJSON, "json", false, "print frames and read answers as JSON lines")
	flags.StringVar(&address, "address", "", "`host:port` of the companion (default: the one that was started last)")
	return cmd
}

func approve(ctx context.Context, dataDir, address string, once, asJSON bool) (companion.Outcome, error) {
	in, out := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	if !asJSON && (!term.IsTerminal(in) || !term.IsTerminal(out)) {
		return companion.Ended, errors.New("standard input and output must be a terminal; programs use --json, and ssh needs -t")
	}
	kind := "tui"
	if asJSON {
		kind = "custom"
	}
	client, err := companion.Dial(ctx, companion.Target{
		DataDir: dataDir, Address: address,
		Client: companion.ClientInfo{Name: userName(), Version: version, Kind: kind},
	})
	if err != nil {
		return companion.Ended, err
	}
	defer client.Close()
	if asJSON {
		return companion.Relay(ctx, client, os.Stdin, os.Stdout, once)
	}
	state, err := term.MakeRaw(in)
	if err != nil {
		return companion.Ended, err
	}
	defer func() {
		_ = term.Restore(in, state)        // nothing is left to do with a terminal that refuses
		_, _ = os.Stdout.WriteString("\n") // the shell's prompt goes below ours
	}()
	console := companion.NewConsole(os.Stdin, os.Stdout, func() (int, int, error) { return term.GetSize(out) })
	defer console.Close()
	return companion.Watch(ctx, client, console, once)
}

// userName is what the audit trail calls the person at this terminal.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "terminal"
}

// explain adds what can be done about it.
func explain(err error) error {
	switch {
	case errors.Is(err, companion.ErrNotRunning):
		return fmt.Errorf("%w\nA host starts callgate when it starts its MCP servers: is one running, with the same --data-dir?", err)
	case errors.Is(err, companion.ErrUnreachable):
		return fmt.Errorf("%w\nIt may have ended without cleaning up; start the host again, or name the right --address.", err)
	case errors.Is(err, companion.ErrImpostor):
		return fmt.Errorf("%w\nThe credential was not sent.", err)
	case errors.Is(err, companion.ErrVersion):
		return fmt.Errorf("%w\nUse the same version of callgate on both sides.", err)
	}
	return err
}
