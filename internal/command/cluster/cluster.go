// Package cluster implements `callgate cluster`: flags and printing around internal/cluster.
package cluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	shared "callgate/internal/cluster"
	"callgate/internal/command/exit"
	"callgate/internal/config"
	"callgate/internal/output"
)

// NewCommand returns the command with its subcommands.
func NewCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Show and back up the replicas of a cluster",
		Long: `Cluster shows, backs up and restores what the replicas of callgate serve --cluster share. Give it the same configuration
as a replica. If NATS is embedded, run it on the machine of a replica.`,
		Example: `  callgate cluster status
  callgate cluster backup gate.backup`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().AddFlagSet(s.Shared)
	cmd.AddCommand(newStatusCommand(s), newBackupCommand(s), newRestoreCommand(s), newResealCommand(s), newRenewCommand(s))
	return cmd
}

// look connects to the configured cluster without becoming a replica. The caller MUST close the cluster.
func look(ctx context.Context, s *config.Settings, restores bool) (*config.Config, *shared.Cluster, error) {
	c, err := s.Load()
	if err != nil {
		return nil, nil, err
	}
	one, err := app.LookAtCluster(ctx, c, restores)
	return c, one, err
}

func newStatusCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show replicas, rules and pending approvals",
		Long: `Status lists the replicas and what they share. It says which revision of the rules each one uses, how many approvals
wait, and how many copies of the shared data are current. It exits with 1 when a replica is silent or a copy is not
current.`,
		Example: `  callgate cluster status
  callgate cluster status --json | jq .pending`,
		Args: config.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, c, err := look(cmd.Context(), s, false)
			if err != nil {
				return err
			}
			defer c.Close()
			status, err := c.Status(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				err = output.JSON(cmd.OutOrStdout(), status)
			} else {
				err = printStatus(cmd.OutOrStdout(), status)
			}
			if err == nil && !status.Well() {
				return exit.Code(1)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printStatus(w io.Writer, s shared.Status) error {
	if _, err := fmt.Fprintf(w, "worker %s: %d pending, %d decided and not claimed, rules revision %d, %d of %d copies current\n", s.Worker, s.Pending, s.Unclaimed, s.Revision, s.Current, s.Copies); err != nil {
		return err
	}
	var shared []string
	for _, sort := range slices.Sorted(maps.Keys(s.Documents)) {
		shared = append(shared, fmt.Sprintf("%s %d", sort, s.Documents[sort]))
	}
	if _, err := fmt.Fprintf(w, "  shared: %s; %d limits counted together\n", strings.Join(shared, ", "), s.Budgets); err != nil {
		return err
	}
	if s.Old > 0 {
		if _, err := fmt.Fprintf(w, "  %d values are sealed with an older secret: run callgate cluster reseal before you drop it\n", s.Old); err != nil {
			return err
		}
	}
	for _, r := range s.Replicas {
		state := "up"
		switch {
		case !r.Lives:
			state = "silent"
		case r.Rules != s.Revision:
			state = fmt.Sprintf("behind: rules revision %d", r.Rules)
		}
		if _, err := fmt.Fprintf(w, "  %-24s %-8s %s\n", r.Name, r.Version, state); err != nil {
			return err
		}
	}
	return nil
}
