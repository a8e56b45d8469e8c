package command

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/app/backend"
	"callgate/internal/config"
	"callgate/internal/hooks"
	"callgate/internal/output"
)

// harmlessInHooks lists the subcommands that a hook may start.
var harmlessInHooks = []string{"audit", "check", "completion", "help", "index", "man", "search", "version"}

// refuseHooks returns an error if a hook starts a subcommand that serves a host, answers for a person or changes rules.
// A hook that starts callgate would be called for its own calls without end.
func refuseHooks(cmd *cobra.Command, _ []string) error {
	hook := os.Getenv(hooks.InHook)
	if hook == "" {
		return nil
	}
	top := cmd
	for top.HasParent() && top.Parent().HasParent() {
		top = top.Parent()
	}
	if slices.Contains(harmlessInHooks, top.Name()) {
		return nil
	}
	return fmt.Errorf("the hook %q started callgate %s: a hook may only use %s", hook, top.Name(), strings.Join(harmlessInHooks, ", "))
}

func newHooksCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List, switch and test your hooks",
		Long: `Hooks run programs, write log lines or call webhooks around a call. Configure them under "hooks" in callgate.yaml
(docs/hooks.md). Turning a hook on or off here affects every callgate of the worker, at once and after restarts.`,
		Example: `  callgate hooks list
  callgate hooks test notify
  callgate hooks disable notify`,
	}
	var asJSON bool
	list := &cobra.Command{
		Use: "list", Short: "List the hooks and whether they are on", Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			known, err := config.KnownNames(c)
			if err != nil {
				return err
			}
			if asJSON {
				err = output.JSON(cmd.OutOrStdout(), slices.Concat([]hooks.Status{}, c.HookRunner.List(known)))
			} else {
				err = output.Hooks(cmd.OutOrStdout(), c.HookRunner.List(known))
			}
			return errors.Join(err, printOrphans(cmd.ErrOrStderr(), c))
		}),
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON, as GET /api/hooks does")
	cmd.AddCommand(list, newSwitchCommand(s, "enable", true), newSwitchCommand(s, "disable", false), newTestHookCommand(s))
	return cmd
}

// printOrphans prints the webhooks that events still wait for, but that the configuration no longer has.
func printOrphans(w io.Writer, c *config.Config) error {
	orphans, err := hooks.Orphans(c.Files().WebhookQueues(), c.HookRunner)
	for _, o := range orphans {
		_, failed := fmt.Fprintf(w, "%s is not a configured webhook: %d events wait for it, the oldest since %s\n", tools.Visible(o.Name), o.Events, o.Oldest.Local().Format(time.DateTime))
		err = errors.Join(err, failed)
	}
	return err
}

func newSwitchCommand(s *config.Settings, verb string, on bool) *cobra.Command {
	return &cobra.Command{
		Use: verb + " NAME", Short: strings.ToUpper(verb[:1]) + verb[1:] + " a hook", Args: config.ArgsExactly(1),
		Example: "  callgate hooks " + verb + " notify",
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			err := app.Change(c, func() (string, error) {
				if err := c.HookRunner.SetEnabled(args[0], on); err != nil {
					return "", err
				}
				return backend.Switched(args[0], on), nil
			})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %sd\n", args[0], verb)
			return err
		}),
	}
}

func newTestHookCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Run a hook now with a test event and show its output",
		Long: `Test runs the hook with the event tool.test, even if it is off, and prints its output. It fails if the hook fails. A
program runs behind the usual guard.`,
		Example: "  callgate hooks test notify",
		Args:    config.ArgsExactly(1),
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			if err := c.HookRunner.Start(slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: c.Level}))); err != nil {
				return err
			}
			defer c.HookRunner.Close()
			began := time.Now()
			output, err := c.HookRunner.Test(cmd.Context(), args[0], hooks.TestEvent("cli:"+app.UserName()))
			for line := range strings.Lines(output) {
				fmt.Fprintln(cmd.OutOrStdout(), tools.Visible(strings.TrimRight(line, "\r\n")))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: done in %s\n", args[0], time.Since(began).Round(time.Millisecond))
			return err
		}),
	}
	cmd.Flags().AddFlag(s.Policy.Lookup("guard"))
	return cmd
}
