package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/config"
)

func newHubCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "hub",
		Short: "Keep the page available while no host runs",
		Long: `Every host starts a callgate of its own. The processes that share a data directory elect one as the hub: you reach
all of them at its address. When the hub ends, another process takes over at the same address.

This needs no command. Hub keeps the page open while no host runs, with the audit trail, rules, hooks and checkpoints.
If another process is the hub already, this one joins it and takes over when it ends.`,
		Example: `  callgate hub
  callgate hub --listen 127.0.0.1:7800
  callgate open --print`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			return runHub(c, s, cmd)
		}),
	}
}

// runHub serves people until the context ends.
func runHub(c *config.Config, settings *config.Settings, cmd *cobra.Command) error {
	if c.Listen == "off" {
		return fmt.Errorf("a hub has to listen, and listen is off: use --listen %s, or leave it out", companionclient.DefaultAddress)
	}
	s, err := app.StartHub(c)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Watch(cmd.Context(), settings.Reload)
	<-cmd.Context().Done()
	return nil
}
