package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/inventory"
	"callgate/internal/output"
)

func newToolsCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the tools of each server, and what the rules say about each",
		Long: `Tools starts every configured server, lists its tools as hosts see them, and shows what the rules say about a call of
each. A kind marked with ? is a guess, which can make a call stricter but never allow it.

EFFECT comes from the catalogue of known servers: none, own (changes your own data), outside (others see it), money,
deletes or access. The brackets say what the results contain.

VERDICT is the answer for a value that no pattern matches, and RULE is the line that gives it. "ask (54 by value)" means
that 54 rules also look at the path, command or argument: "callgate check TOOL ARGUMENTS" judges one call.

callgate caches the lists, so the next host need not wait for the servers.`,
		Example: `  callgate tools --mcp-config servers.mcp.json
  callgate tools --json | jq -r '.tools[] | select(.verdict == "ask") | .tool'`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), wait, fmt.Errorf("it did not answer within %s (--wait)", wait))
			defer cancel()
			found, err := inventory.List(ctx, c, tellSlow(cmd.ErrOrStderr()))
			if err != nil {
				return err
			}
			if asJSON {
				err = output.JSON(cmd.OutOrStdout(), found)
			} else {
				err = output.Tools(cmd.OutOrStdout(), found)
			}
			if err == nil && len(found.Down) > 0 {
				return exit.Code(1)
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.PersistentFlags().DurationVar(&wait, "wait", time.Minute, "how long a server may take to start")
	cmd.AddCommand(newAcceptCommand(s, &wait), newLabelCommand(s, &wait))
	return cmd
}

// tellSlow returns a function that prints which servers a command waits for.
func tellSlow(w io.Writer) inventory.Slow {
	return func(servers []string) {
		if len(servers) > 0 {
			fmt.Fprintf(w, "waiting for %s to answer\n", strings.Join(servers, ", "))
		}
	}
}

func newAcceptCommand(s *config.Settings, wait *time.Duration) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "accept TOOL... | --all",
		Short: "Accept the current definitions of tools",
		Long: `Accept ends the quarantine of a tool whose definition changed or looks like an attack. It starts the configured
servers, shows what is new about each tool, and pins the definitions. A running host uses them from its next call on.`,
		Example: `  callgate tools accept github_create_issue
  callgate tools accept --all`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("name the tools to accept, as callgate tools lists them, or give --all")
			}
			return nil
		},
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), *wait)
			defer cancel()
			return inventory.Accept(ctx, cmd.OutOrStdout(), c, args)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "accept every tool of every server")
	return cmd
}
