package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/command/exit"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/config"
	"callgate/internal/hosthooks"
	"callgate/internal/hosthooks/door"
)

func newHookCommand(s *config.Settings) *cobra.Command {
	var post bool
	cmd := &cobra.Command{
		Use:   "hook HOST [EVENT]",
		Short: "Gate the built-in tools of a host (the host runs this)",
		Long: `A host runs "callgate hook" before and after it uses its own tools (shell, files, web). "callgate connect" installs
it. Hook reads the host's JSON on standard input, asks the gate, waits for a person as long as the host waits, and
answers in the host's format. A call that it cannot judge does not run.

The first hook starts a process in the background that judges the calls; it ends when no host has used it for a
while. It uses callgate.yaml and the worker's rules, and ignores CALLGATE_ variables of a host.

A host that cannot start programs can post its hooks to the page's address instead. --http prints the settings for it.

Hosts: ` + strings.Join(hosthooks.IDs(), ", ") + `.`,
		Example: `  callgate connect claude     # installs it
  echo '{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/tmp","tool_name":"Bash","tool_input":{"command":"ls"}}' | callgate hook claude`,
		Args:              config.ArgsBetween(1, 2),
		ValidArgsFunction: cobra.FixedCompletions(hosthooks.IDs(), cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			if post {
				return printPosting(s, cmd, args[0])
			}
			o := door.Order{Host: args[0], Env: door.Environment()}
			if len(args) == 2 {
				o.Event = args[1]
			}
			return answerHook(s, cmd, o)
		},
	}
	serve := &cobra.Command{
		Use: "serve", Hidden: true, Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serveHooks(s, cmd) },
	}
	cmd.Flags().BoolVar(&post, "http", false, "print the host's settings for posting its hooks to callgate's address")
	cmd.AddCommand(serve)
	return cmd
}

// answerHook answers the host. If the event waits for an answer, any failure is a denial in the host's format.
func answerHook(s *config.Settings, cmd *cobra.Command, o door.Order) error {
	dialect, err := hosthooks.Find(o.Host)
	if err != nil {
		return err
	}
	body := door.Read
	if !door.HasRead {
		if body, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), door.MaxBody+1)); err != nil {
			return err
		}
	}
	reply, err := askGate(cmd.Context(), s, o, body)
	if err != nil {
		reply = door.Reply(dialect.Fail(o.Event, body, fmt.Sprintf("callgate could not judge this call, so it does not run: %v", err)))
	}
	reply.Print(cmd.OutOrStdout(), cmd.ErrOrStderr())
	if reply.Exit != 0 {
		return exit.Code(reply.Exit)
	}
	return nil
}

// askGate asks the process that judges, unless the fast path has already failed.
func askGate(ctx context.Context, s *config.Settings, o door.Order, body []byte) (door.Reply, error) {
	if door.Broken != nil {
		return door.Reply{}, door.Broken
	}
	var err error
	if o.DataDir, err = s.DataDir(); err != nil {
		return door.Reply{}, err
	}
	if o.Config == "" {
		o.Config, _ = s.Common.GetString("config") // the flags are declared
	}
	if o.Worker == "" {
		o.Worker, _ = s.Common.GetString("worker")
	}
	return hosthooks.Ask(ctx, o, body)
}

// printPosting prints the settings with which a host posts its hooks.
func printPosting(s *config.Settings, cmd *cobra.Command, host string) error {
	d, err := hosthooks.Find(host)
	if err != nil {
		return err
	}
	c, err := s.Load()
	if err != nil {
		return err
	}
	address := cmp.Or(c.Listen, companionclient.DefaultAddress)
	if _, port, err := net.SplitHostPort(address); err != nil || port == "0" {
		return fmt.Errorf("hosts that post their hooks need a fixed address: set listen to %s instead of %s", companionclient.DefaultAddress, address)
	}
	held, err := credentials.Open(c.DataDir)
	if err != nil {
		return err
	}
	token, err := held.Token(credentials.Hook)
	if err != nil {
		return err
	}
	text, err := d.PostSettings(address, token)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
	return err
}
