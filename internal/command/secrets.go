package command

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"callgate/internal/config"
	"callgate/internal/keyboard"
	"callgate/internal/vault"
)

func newSecretsCommand(s *config.Settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secrets",
		Short: "Keep the secrets of servers out of configurations",
		Long: `Secrets keeps tokens of servers out of configuration files. With env: ["TOKEN=secret:NAME"] a server gets the secret. With
secret:NAME@HOST and a sandbox it gets only a placeholder, and callgate's proxy puts the secret into requests to HOST.`,
		Example: `  callgate secrets set github
  pass show github | callgate secrets set github --keyring`,
	}
	with := func(do func(cmd *cobra.Command, v *vault.Vault, args []string) error) func(*cobra.Command, []string) error {
		return config.Loaded(s, func(cmd *cobra.Command, c *config.Config, args []string) error {
			return do(cmd, vault.At(c.DataDir), args)
		})
	}
	var inKeyring bool
	set := &cobra.Command{
		Use:   "set NAME",
		Short: "Store a secret read from standard input",
		Long:  "Set keeps a secret in {dataDir}/secrets, which only you can read and servers cannot, or in the system's keyring.",
		Args:  config.ArgsExactly(1),
		RunE: with(func(cmd *cobra.Command, v *vault.Vault, args []string) error {
			value, err := readSecret(cmd)
			if err != nil {
				return err
			}
			if err := v.Set(args[0], value, inKeyring); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "Servers get it with env: [\"VARIABLE=secret:%s\"].\n", args[0])
			return err
		}),
	}
	set.Flags().BoolVar(&inKeyring, "keyring", false, "keep it in the system's keyring")
	cmd.AddCommand(set,
		&cobra.Command{
			Use: "list", Short: "List the names of secrets in files, not in the keyring", Args: config.NoArgs,
			RunE: with(func(cmd *cobra.Command, v *vault.Vault, _ []string) error {
				names, err := v.List()
				if err == nil && len(names) == 0 {
					fmt.Fprintln(cmd.ErrOrStderr(), "No secrets are in files: callgate secrets set NAME puts one there.")
				}
				for _, name := range names {
					fmt.Fprintln(cmd.OutOrStdout(), name)
				}
				return err
			}),
		},
		&cobra.Command{
			Use: "remove NAME", Short: "Forget a secret", Args: config.ArgsExactly(1),
			RunE: with(func(_ *cobra.Command, v *vault.Vault, args []string) error { return v.Remove(args[0]) }),
		},
	)
	return cmd
}

// maxSecret is the most bytes that a secret may have.
const maxSecret = 4096

// readSecret reads standard input, without the line end. A terminal does not show what is typed.
func readSecret(cmd *cobra.Command) (value string, err error) {
	most := maxSecret
	if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(cmd.ErrOrStderr(), "Secret: ")
		value, err = keyboard.Line(cmd.Context(), f, io.Discard)
		fmt.Fprintln(cmd.ErrOrStderr())
		most-- // a terminal's line ends at 4096 characters, whatever follows
	} else {
		var data []byte
		data, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), 1<<20))
		value = strings.TrimRight(string(data), "\r\n")
	}
	if err == nil && len(value) > most {
		err = fmt.Errorf("a secret can have at most %d bytes", most)
	}
	return value, err
}
