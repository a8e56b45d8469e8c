package approve

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
)

func NewOpenCommand(s *config.Settings) *cobra.Command {
	var show, view bool
	var address, as string
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open the page where you answer calls",
		Long: `Open shows the page of your callgate in the browser. If no callgate runs and your hosts are connected, it starts one.
The address has a code that works once, within a minute, and gives the page its credential. Before it sends anything,
open checks that your callgate listens there.

With --print, or if it cannot start a browser, it prints the address. Keep it secret as long as the code works.`,
		Example: `  callgate open
  callgate open --view      # a page that can watch but not answer
  callgate open --as alice  # a page whose answers are alice's
  callgate open --print`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) (err error) {
			role := credentials.Approve
			if view {
				role = credentials.View
			}
			target := companionclient.Target{DataDir: c.DataDir, Address: address}
			if target.Credential, target.Client.Name, err = As(role, as); err != nil {
				return err
			}
			page, err := companionclient.PageURL(cmd.Context(), target)
			connect := app.Connect{DataDir: c.DataDir}
			if errors.Is(err, wire.ErrNotRunning) && address == "" && connect.Connected() {
				config, _ := cmd.Flags().GetString("config") // the flag is declared
				if err = app.LaunchHub(cmd.Context(), c.DataDir, config); err == nil {
					page, err = companionclient.PageURL(cmd.Context(), target)
				}
			}
			if err != nil {
				return companionclient.Cure(err, config.Program(c.DataDir))
			}
			if !show {
				if err = app.OpenBrowser(page); err == nil {
					return nil
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "callgate: %v: open the address yourself, within a minute\n", err)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), page)
			return err
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&show, "print", false, "print the address instead of starting a browser")
	flags.BoolVar(&view, "view", false, "open a page that can watch but not answer")
	flags.StringVar(&as, "as", "", "open the page as this `person`, with their own credential (callgate credentials add)")
	flags.StringVar(&address, "address", "", "`host:port` of the companion, or https://host:port on another machine (default: the hub of the data directory)")
	return cmd
}
