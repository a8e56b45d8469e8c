package command

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/inventory"
	"callgate/internal/output"
	"callgate/internal/supply"
)

func newServersCommand(s *config.Settings) *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "servers",
		Short: "Lock the versions of servers, and show what changed",
		Long: `callgate.lock, beside the configuration, says what each server may be: its command, the versions and integrity of its
packages, the digest of its program, the names of its variables, and its tools. Once it exists, a server that
differs does not start until you accept the change.`,
		Example: `  callgate servers lock
  callgate servers verify
  callgate servers update github`,
	}
	cmd.PersistentFlags().DurationVar(&wait, "wait", 5*time.Minute, "time limit for everything")
	within := func(cmd *cobra.Command, do func(ctx context.Context, c *config.Config) error) error {
		c, err := s.Load()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), wait)
		defer cancel()
		return do(ctx, c)
	}
	relock := func(use, short, long, example string, update bool) *cobra.Command {
		o := inventory.LockOptions{Update: update}
		sub := &cobra.Command{
			Use: use, Short: short, Long: long, Example: example, Args: cobra.ArbitraryArgs,
			RunE: func(cmd *cobra.Command, args []string) error {
				return within(cmd, func(ctx context.Context, c *config.Config) error {
					return inventory.Relock(ctx, cmd.OutOrStdout(), c, args, o)
				})
			},
		}
		sub.Flags().DurationVar(&o.Cooldown, "cooldown", supply.DefaultCooldown, "refuse package versions that were published more recently; 0s: none")
		return sub
	}
	var asJSON bool
	verify := &cobra.Command{
		Use:   "verify [SERVER...]",
		Short: "Show how servers differ from callgate.lock",
		Long: `Verify shows how each server differs from callgate.lock: versions, contents, new install scripts and maintainers,
variables, tools. It starts the servers that may start. The exit code is 1 if anything differs.`,
		Example: "  callgate servers verify --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return within(cmd, func(ctx context.Context, c *config.Config) error {
				found, err := inventory.Verify(ctx, c, args)
				if err != nil {
					return err
				}
				if asJSON {
					err = output.JSON(cmd.OutOrStdout(), found)
				} else {
					err = output.Drifts(cmd.OutOrStdout(), found)
				}
				for _, d := range found {
					if err == nil && len(d.Changes) > 0 {
						return exit.Code(1)
					}
				}
				return err
			})
		},
	}
	verify.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(
		relock("lock [SERVER...]", "Add servers to callgate.lock", `Lock starts the servers that are not in callgate.lock yet and adds them. It does not change existing entries, and removes
those of servers that you no longer configure.`, "  callgate servers lock --mcp-config servers.mcp.json", false),
		verify,
		relock("update [SERVER...]", "Accept what changed", `Update shows how servers differ from callgate.lock and accepts it. It does not accept versions that were published
within --cooldown.`, "  callgate servers update github --cooldown 72h", true),
	)
	return cmd
}
