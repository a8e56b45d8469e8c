package command

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"callgate/audit"
	"callgate/gate/tools"
	"callgate/internal/app"
	"callgate/internal/command/approve"
	companionclient "callgate/internal/companion/client"
	"callgate/internal/companion/credentials"
	"callgate/internal/companion/wire"
	"callgate/internal/config"
	"callgate/internal/output"
	"callgate/internal/presence"
)

func newPasskeysCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "passkeys",
		Short: "Manage passkeys, which prove that a person is present",
		Long: `With approvers.presence, a yes to a risky call (high), or every yes (always), needs a passkey: a
security key, a phone, or this machine's fingerprint reader. Then a stolen credential is not enough to approve.

Register two or more. If you lose one, remove it. If you lose all, run "callgate passkeys add" again.`,
		Example: `  callgate passkeys add
  callgate passkeys list
  callgate passkeys remove "blue key"`,
	}
	cmd.AddCommand(newPasskeysAddCommand(s), newPasskeysListCommand(s), newPasskeysRemoveCommand(s))
	return cmd
}

func newPasskeysAddCommand(s *config.Settings) *cobra.Command {
	var show bool
	var address, as string
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Register a passkey on the page",
		Long: `Add prints a code and opens the page. In its view Passkeys, type the code and touch your passkey. The code works once,
within ten minutes.`,
		Example: `  callgate passkeys add
  callgate passkeys add --as alice  # signs for alice alone`,
		Args: config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) (err error) {
			target := companionclient.Target{DataDir: c.DataDir, Address: address}
			if target.Credential, target.Client.Name, err = approve.As(credentials.Approve, as); err != nil {
				return err
			}
			var view wire.PresenceView
			if err := target.Ask(cmd.Context(), http.MethodGet, "/api/presence", nil, &view); err != nil {
				return companionclient.Cure(err, config.Program(c.DataDir))
			}
			if view.Needs == string(presence.None) {
				return errors.New("no answer needs a passkey: set approvers.presence to high or always in the configuration, and start callgate again")
			}
			page, err := companionclient.PageURL(cmd.Context(), target)
			if err != nil {
				return companionclient.Cure(err, config.Program(c.DataDir))
			}
			code, life, err := presence.OpenKeys(c.DataDir).NewCode()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if _, err := fmt.Fprintf(out, "Code: %s\nIt registers one passkey, within %d minutes, in the view Passkeys of the page.\n", code, int(life/time.Minute)); err != nil {
				return err
			}
			if !show {
				if err = app.OpenBrowser(page); err == nil {
					return nil
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "callgate: %v: open the address yourself, within a minute\n", err)
			}
			_, err = fmt.Fprintln(out, page)
			return err
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&show, "print", false, "print the page's address instead of starting a browser")
	flags.StringVar(&as, "as", "", "register a passkey of this `person`, who has their own credential (callgate credentials add)")
	flags.StringVar(&address, "address", "", "`host:port` of the companion (default: the hub of the data directory)")
	return cmd
}

func newPasskeysListCommand(s *config.Settings) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the registered passkeys",
		Args:  config.NoArgs,
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, _ []string) error {
			keys, err := presence.OpenKeys(c.DataDir).List()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return output.JSON(out, append([]presence.Key{}, keys...))
			}
			return output.Passkeys(out, keys)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func newPasskeysRemoveCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME|ID",
		Short:   "Remove a passkey; it can no longer approve",
		Example: `  callgate passkeys remove "blue key"`,
		Args:    config.ArgsExactly(1),
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			id, err := presence.OpenKeys(c.DataDir).Named(args[0])
			if err != nil {
				return err
			}
			removed, err := app.RemovePasskey(c.DataDir, id, audit.Author{By: "cli:" + app.UserName()})
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "The passkey %s can no longer approve.\n", tools.Visible(removed.Name))
			return err
		}),
	}
}
