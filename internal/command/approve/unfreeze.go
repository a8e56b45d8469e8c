package approve

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/internal/app"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
)

func NewUnfreezeCommand(s *config.Settings) *cobra.Command {
	var session, as string
	var all bool
	cmd := &cobra.Command{
		Use:   "unfreeze",
		Short: "End a freeze",
		Example: `  callgate unfreeze
  callgate unfreeze --session s-ABCDEFGHIJKL`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			if all && session != "" {
				return errors.New("--all and --session: choose one")
			}
			if err := changeFreeze(cmd.Context(), c.DataDir, as, http.MethodDelete, wire.FreezeRequest{SessionID: session}, func(f app.DirFreezer, who audit.Author) error {
				return f.Unfreeze(session, who)
			}); err != nil {
				return err
			}
			what := "all sessions"
			if session != "" {
				what = "session " + session
			}
			fmt.Fprintf(cmd.OutOrStdout(), "Unfrozen: %s.\n", what)
			return printFrozen(cmd.Context(), cmd.OutOrStdout(), c, "")
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&session, "session", "", "end the freeze of the session with this `id` only")
	flags.BoolVar(&all, "all", false, "end the freeze of all sessions (the default); freezes of single sessions stay")
	flags.StringVar(&as, "as", "", "do it as this `person`, with their own credential")
	return cmd
}
