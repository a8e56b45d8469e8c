package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"callgate/internal/app"
	"callgate/internal/config"
	"callgate/internal/signin"
	"callgate/proxy"
)

func newLoginCommand(s *config.Settings) *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "login SERVER",
		Short: "Sign in to a server that requires OAuth",
		Long: `Login opens the browser at the page where you sign in. callgate keeps the login in the data directory, for this
server's address alone, and refreshes it. Running callgates notice it within a second. If a call needs more than the
login allows, the call says so: sign in again to add it.

The browser returns to an address on this machine: use a browser that runs here, or forward oauth.redirectPort. With
an oauth.grant that needs no person, no browser opens: login tests whether callgate can sign in by itself.`,
		Example: `  callgate login github
  callgate login github --print      # print the address instead of starting a browser`,
		Args: config.ArgsExactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			server, account, err := accountOf(s, args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			err = account.SignIn(cmd.Context(), server.OAuth.RedirectPort, func(address string) error {
				return showSignIn(out, address, !show)
			})
			switch {
			case errors.Is(err, signin.ErrNotNeeded):
				_, err = fmt.Fprintf(out, "%s asks for no login\n", server.Name)
				return err
			case err != nil:
				return fmt.Errorf("login %s: %w", server.Name, err)
			}
			until, _ := account.SignedIn()
			if until.IsZero() {
				_, err = fmt.Fprintf(out, "signed in to %s\n", server.Name)
			} else {
				_, err = fmt.Fprintf(out, "signed in to %s until %s; callgate renews it\n", server.Name, until.Local().Format(time.DateTime))
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the address instead of starting a browser")
	return cmd
}

// showSignIn opens the address in a browser, or prints it if no browser can be started.
func showSignIn(out io.Writer, address string, browser bool) error {
	if browser {
		err := app.OpenBrowser(address)
		if err == nil {
			_, err = fmt.Fprintln(out, "sign in on the page in your browser")
			return err
		}
	}
	_, err := fmt.Fprintf(out, "open this address within %v:\n%s\n", signin.Patience, address)
	return err
}

func newLogoutCommand(s *config.Settings) *cobra.Command {
	return &cobra.Command{
		Use:   "logout SERVER",
		Short: "Forget the login for a server",
		Long: `Logout removes the login from this machine, even if the server is no longer configured. It does not tell the server. To
end the session at once, end it there too.`,
		Example: `  callgate logout github`,
		Args:    config.ArgsExactly(1),
		RunE: config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			had, err := signin.Forget(cmd.Context(), c.DataDir, proxy.Sanitize(args[0]))
			switch {
			case err != nil:
				return err
			case had:
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the login at %s is forgotten\n", args[0])
				return err
			}
			if _, _, err := accountOf(s, args[0]); err != nil { // the name may be misspelled
				return fmt.Errorf("there is no login at %s: %w", args[0], err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "there was no login at %s\n", args[0])
			return err
		}),
	}
}

// accountOf returns the configured server of that name and callgate's account there. The server must be behind a URL.
func accountOf(s *config.Settings, name string) (*config.ServerConfig, *signin.Account, error) {
	c, err := s.Load()
	if err != nil {
		return nil, nil, err
	}
	all, err := c.ServerConfigs()
	if err != nil {
		return nil, nil, err
	}
	var remote []string
	for i := range all {
		one := &all[i]
		if one.URL == "" {
			continue
		}
		remote = append(remote, one.Name)
		if one.Name != name {
			continue
		}
		server, err := one.Assemble(c.ShellSetup)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", one.Source, err)
		}
		account, err := one.Account(c.DataDir, server.Upstream)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", one.Source, err)
		case account == nil:
			return nil, nil, fmt.Errorf("%s: server %q has an Authorization header in the configuration: remove it to sign in", one.Source, name)
		}
		return one, account, nil
	}
	if len(remote) == 0 {
		return nil, nil, errors.New("no server behind a URL is configured")
	}
	return nil, nil, fmt.Errorf("no server behind a URL is called %q: there is %s", name, strings.Join(remote, ", "))
}
